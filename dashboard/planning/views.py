"""The plan page: trees, slices, and what was estimated beside what is measured."""

from datetime import timedelta

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import visible_sources
from dashboard.live.meters import measured, statistics
from dashboard.models import PlanVersion, Source
from dashboard.planning.overview import overview
from dashboard.planning.service import newest
from optimizer.throughput import estimated_throughput

CHART_SPAN = timedelta(minutes=15)


@require_safe
def plan(request: HttpRequest) -> HttpResponse:
    """The newest plan of one source; the source and the tree are in the address."""
    sources = list(visible_sources(signed_in(request)))
    source = _chosen(sources, request.GET.get("source"))
    version = newest(source) if source else None
    if source is None or version is None or not version.value().trees:
        return render(request, "planning/empty.html", {"sources": sources, "source": source})
    shown = overview(version.value(), statistics(source.key))
    chosen = request.GET.get("tree")
    richest = max(shown.rows, key=lambda row: len(row.tree.queries))
    selected = next((row for row in shown.rows if row.tree.id == chosen), richest)
    context = {
        "sources": sources,
        "source": source,
        "version": version,
        "plan": shown,
        "selected": selected,
        "ticks": _ticks(shown.queries, shown.price),
        "timelines": {row.tree.id: row.timeline() for row in shown.rows},
        "measured": measured(source.key),
    }
    return render(request, "planning/plan.html", context)


@require_safe
def estimates(request: HttpRequest, key: str) -> JsonResponse:
    """Estimated throughput of the source's recent plans at what is measured now, for the live chart."""
    source = get_object_or_404(Source, key=key)
    known = statistics(source.key)
    recent = PlanVersion.objects.filter(source=source, created_at__gte=timezone.now() - CHART_SPAN)
    current = newest(source)
    versions = {version.version: version for version in [*recent, *([current] if current else [])]}
    return JsonResponse(
        {
            "estimates": {
                number: estimated_throughput(version.value(), known) for number, version in versions.items()
            },
            "measured": measured(source.key),
        }
    )


def _chosen(sources: list[Source], key: str | None) -> Source | None:
    """The source asked for, else the first that has a plan."""
    asked = next((source for source in sources if source.key == key), None)
    planned = (source for source in sources if source.plans.exists())
    return asked or next(planned, sources[0] if sources else None)


def _ticks(count: int, filled: float) -> list[float]:
    """How much of each of `count` marks is filled, 0 to 1."""
    return [max(0.0, min(1.0, filled - at)) for at in range(count)]
