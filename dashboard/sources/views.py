"""The source pages."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import may_change, visible_sources
from dashboard.connections.models import Connection
from dashboard.sources.forms import UNIT_CHOICES, SettingsForm
from dashboard.sources.models import Source
from dashboard.sources.reading import added_field, reading_context, settings_fields

SEEK_CHOICES = (
    ("live", "Live"),
    ("newest", "Newest"),
    ("oldest", "Oldest"),
    ("offset", "From offset"),
    ("time", "Since time"),
)
SINCE_CHOICES = ("now-15m", "now-1h", "now-6h", "now-24h", "yesterday")
TABS = ("overview", "messages", "consumers", "dead-letters", "settings")


@require_GET
def source_list(request: HttpRequest) -> HttpResponse:
    seen = visible_sources(signed_in(request))
    sources = seen.select_related("created_by", "connection").prefetch_related("queries")
    return render(request, "sources/list.html", {"listed": sources})


@require_GET
def source_page(request: HttpRequest, key: str) -> HttpResponse:
    source = get_object_or_404(Source.objects.select_related("created_by", "connection"), key=key)
    tab = request.GET.get("tab")
    return render(request, "sources/page.html", page_context(request, source, tab or TABS[0]))


def page_context(
    request: HttpRequest, source: Source, tab: str, form: SettingsForm | None = None
) -> dict[str, Any]:
    """What every tab of a source's page needs; settings are shown to who may change them alone."""
    may = may_change(signed_in(request), source)
    form = form or SettingsForm(source)
    shown = TABS if may else TABS[:-1]
    return {
        "source": source,
        "tab": tab if tab in shown else TABS[0],
        "unit": dict(UNIT_CHOICES).get(source.time_unit, ""),
        **reading_context(settings_fields(form)),
        "added": added_field(form, request.GET),
        "queries": source.queries.select_related("owner"),
        "may_change": may,
        "form": form,
        "connections": Connection.objects.all(),
        "unit_choices": UNIT_CHOICES,
        "seek_choices": SEEK_CHOICES,
        "since_choices": SINCE_CHOICES,
        "seek": request.GET.get("seek") if request.GET.get("seek") in dict(SEEK_CHOICES) else "live",
    }
