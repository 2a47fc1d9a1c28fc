"""What every page has: the places at its side, their counts, and the pages for when something is wrong."""

from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from dashboard.accounts.people import is_administrator, may_edit, signed_in
from dashboard.accounts.rights import (
    MayNotSee,
    noun,
    unseen_words,
    visible_alerts,
    visible_boards,
    visible_queries,
    visible_sources,
)
from dashboard.alerts.states import firing_count
from dashboard.models import Notice

MOST_FAVOURITES = 12
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


PLACES = (
    Place("Home", "home", "home", "/"),
    Place("Dashboards", "boards", "layout-dashboard", "/dashboards"),
    Place("Queries", "queries", "wave-square", "/queries"),
    Place("Sources", "sources", "database", ("/sources", "/connections")),
    Place("Plan", "plan", "binary-tree-2", "/plan"),
    Place("Alerts", "alerts", "bell", "/alerts"),
)


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the places, and which of them this page belongs to."""
    if not request.user.is_authenticated:
        return {}
    person = signed_in(request)
    firing = firing_count(visible_alerts(person))
    counts = {"boards": visible_boards, "queries": visible_queries, "sources": visible_sources}
    places = [
        replace(
            place,
            count=counts[place.url](person).count() if place.url in counts else None,
            alarm=f"{firing} firing" if firing and place.url == "alerts" else "",
        )
        for place in PLACES
    ]
    here = next((place for place in places if place.holds(request.path)), None)
    return {
        "places": places,
        "here": here,
        "may_edit": may_edit(person),
        "favourites": visible_boards(person).filter(starred_by=person)[:MOST_FAVOURITES],
        "is_administrator": is_administrator(person),
        "notices_waiting": Notice.objects.filter(to=person, answered_at=None).count(),
    }


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    context: dict[str, Any] = {"sentence": str(exception or "")}
    if isinstance(exception, MayNotSee):
        thing = exception.thing
        key = getattr(thing, "slug", "") or getattr(thing, "key", "")
        bold, rest = unseen_words(thing)
        context |= {"may_not_see": True, "noun": noun(thing), "key": key, "bold": bold, "rest": rest}
    return render(request, "errors/403.html", context, status=403)


def out_of_date(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a token that is still good: who sent it has signed in anew since the page was loaded."""
    context = {
        "heading": "Not accepted",
        "sentence": "The page is older than your sign-in, or the browser keeps no cookies: load it again.",
    }
    return render(request, "errors/403.html", context, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse({"problem": "There is nothing at this address: see /api/docs."}, status=404)
    return render(request, "errors/404.html", status=404)


def failed(request: HttpRequest) -> HttpResponse:
    if request.path.startswith(API):
        return JsonResponse({"problem": "Something went wrong here: it is in the server's log."}, status=500)
    # Without the request no context processor runs: whatever failed may be what they need.
    return HttpResponse(render_to_string("errors/500.html"), status=500)
