"""What every page has: the places at its side, their counts, and the pages for when something is wrong."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from dashboard.alerts.states import firing_count
from dashboard.models import Board, SavedQuery, Source

API = "/api/"  # programs get JSON where people get pages


@dataclass(frozen=True)
class Place:
    """One entry of the side bar; `prefix` tells which addresses lie within it."""

    name: str
    url: str  # name of the view
    icon: str
    prefix: str | tuple[str, ...]
    count: int | None = None
    alarm: str = ""  # what is wrong there, in the place of the count

    def holds(self, address: str) -> bool:
        return address == "/" if self.prefix == "/" else address.startswith(self.prefix)


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the places, and which of them this page belongs to."""
    if not request.user.is_authenticated:
        return {}
    firing = firing_count()
    places = (
        Place("Home", "home", "home", "/"),
        Place("Dashboards", "boards", "layout-dashboard", "/dashboards", Board.objects.count()),
        Place("Queries", "queries", "wave-square", "/queries", SavedQuery.objects.count()),
        Place("Sources", "sources", "database", ("/sources", "/connections"), Source.objects.count()),
        Place("Plan", "plan", "binary-tree-2", "/plan"),
        Place("Alerts", "alerts", "bell", "/alerts", alarm=f"{firing} firing" if firing else ""),
    )
    here = next((place for place in places if place.holds(request.path)), None)
    return {"places": places, "here": here}


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "errors/403.html", {"sentence": str(exception or "")}, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse({"problem": "There is nothing at this address: see /api/docs."}, status=404)
    return render(request, "errors/404.html", status=404)


def failed(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse({"problem": "Something went wrong here: it is in the server's log."}, status=500)
    # Without the request no context processor runs: whatever failed may be what they need.
    return HttpResponse(render_to_string("errors/500.html"), status=500)
