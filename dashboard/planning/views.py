"""The plan page: what the optimizer decided, what it promised, and what the job does."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_sources
from dashboard.live.meters import measured, process_meters
from dashboard.models import CalibrationRecord, PlanVersion, Source
from dashboard.planning.calibration import (
    TooLittleMeasured,
    calibrate,
    calibrated_statistics,
    measured_now,
)
from dashboard.planning.details import details
from dashboard.planning.identity import tree_identity
from dashboard.planning.overview import SourcePlan, headline, plans_seen, running_plans
from dashboard.planning.picture import picture
from dashboard.planning.samples import deviation_before, past_points
from dashboard.planning.service import newest
from dashboard.planning.work import tree_throughput
from optimizer.strategies import STRATEGIES
from optimizer.throughput import catching_up_rate

CHART_SPAN = timedelta(minutes=15)
LONG_SPANS = {"24h": timedelta(days=1), "7d": timedelta(days=7)}


@require_safe
def plan(request: HttpRequest) -> HttpResponse:
    """The newest plan of one source among those of all; the source and the tree are in the address."""
    person = signed_in(request)
    sources = list(visible_sources(person))
    plans, others = plans_seen(person)
    chosen = _chosen(sources, plans, request.GET.get("source"))
    shown = next((one for one in plans if one.source == chosen), None)
    if shown is None:
        return render(request, "planning/empty.html", {"sources": sources, "source": chosen})
    selected = shown.row(request.GET.get("tree"))
    context = {
        **_of_source(shown, request),
        "sources": sources,
        "headline": headline(plans, others),
        "plans": plans,
        "rows": shown.rows,
        "selected": selected,
        "details": details(shown, selected),
        "timeline": selected.timeline(),
        "picture": picture(plans, (shown.source.key, selected.tree.id)),
        "measured": shown.is_measured,
        "calibrations": CalibrationRecord.objects.filter(source=shown.source).select_related("made_by")[:5],
        "measured_now": measured_now(shown.source),
    }
    return render(request, "planning/plan.html", context)


@require_safe
def tree(request: HttpRequest, key: str, tree_id: str) -> HttpResponse:
    """One tree of the page, when another is selected."""
    shown = running_plan(key)
    row = shown.row(tree_id)
    if row.tree.id != tree_id:
        raise Http404("The plan has no such tree any more.")
    context = {
        **_of_source(shown, request),
        "selected": row,
        "details": details(shown, row),
        "timeline": row.timeline(),
    }
    return render(request, "planning/_tree.html", context)


@require_safe
def plan_picture(request: HttpRequest) -> JsonResponse:
    """The picture at the costs measured now."""
    selected = request.GET.get("source", ""), request.GET.get("tree", "")
    return JsonResponse(picture(running_plans(visible_sources(signed_in(request))), selected))


@require_safe
def estimates(request: HttpRequest, key: str) -> JsonResponse:
    """Estimated capacity of the source's recent plans at the kept calibration, for the live chart.

    Like the actual one it is told by what an event takes at the rate of now, not at full load.
    """
    source = get_object_or_404(Source, key=key)
    known = calibrated_statistics(source)
    recent = PlanVersion.objects.filter(source=source, created_at__gte=timezone.now() - CHART_SPAN)
    current = newest(source)
    versions = {version.version: version for version in [*recent, *([current] if current else [])]}
    answer: dict[str, Any] = {
        "estimates": {
            number: catching_up_rate(version.value(), known) for number, version in versions.items()
        },
        "measured": measured(source.key),
        "before": deviation_before(source),
    }
    asked = request.GET.get("tree")
    if asked:
        answer["tree"] = _tree_throughput(source, asked)
    return JsonResponse(answer)


@require_safe
def throughput_history(request: HttpRequest, key: str) -> JsonResponse:
    """Samples of a longer past, of the plan or of one of its trees: when (ms), actual, estimated, plan."""
    source = get_object_or_404(Source, key=key)
    span = LONG_SPANS.get(request.GET.get("span", ""), LONG_SPANS["24h"])
    asked = request.GET.get("tree")
    if not asked:
        return JsonResponse({"points": past_points(source, span)})
    shown = SourcePlan.of(source)
    tree = shown.tree(asked) if shown else None
    return JsonResponse({"points": past_points(source, span, tree_identity(tree)) if tree else []})


@require_POST
def calibrate_anew(request: HttpRequest, key: str) -> HttpResponse:
    source = get_object_or_404(Source, key=key)
    person = signed_in(request)
    check_may_change(person, source)
    try:
        calibrate(source, person)
    except TooLittleMeasured as problem:
        messages.error(request, str(problem))
    else:
        messages.info(request, "Calibrated: estimates reckon with what the newest batches took.")
    return redirect(f"{reverse('plan')}?source={source.key}#calibration")


def running_plan(key: str) -> SourcePlan:
    """Of the source with this key; 404 where it has none."""
    shown = SourcePlan.of(get_object_or_404(Source, key=key))
    if shown is None:
        raise Http404("No query of this source runs: it has no plan.")
    return shown


def _of_source(shown: SourcePlan, request: HttpRequest) -> dict[str, Any]:
    strategy = STRATEGIES.get(shown.plan.strategy)
    return {
        "source": shown.source,
        "version": shown.version,
        "strategy": strategy.label if strategy else shown.plan.strategy,
        "node_count": len(shown.plan.nodes),
        "may_change": may_change(signed_in(request), shown.source),
    }


def _chosen(sources: list[Source], plans: list[SourcePlan], key: str | None) -> Source | None:
    """The source asked for, else the first that has a plan."""
    asked = next((source for source in sources if source.key == key), None)
    planned = next((plan.source for plan in plans), sources[0] if sources else None)
    return asked or planned


def _tree_throughput(source: Source, tree_id: str) -> dict[str, Any]:
    """What the cores could take of events for this tree alone: estimated, and by every 15 s measured."""
    shown = SourcePlan.of(source)
    tree = shown.tree(tree_id) if shown else None
    if shown is None or tree is None:
        return {"estimate": None, "points": []}
    known = shown.statistics
    batches = process_meters.recent(source.key)[1]
    points = tree_throughput(tree_id, shown.plan, batches, shown.estimates, known.calibration.cores)
    return {
        "estimate": known.rate / shown.estimates[tree_id].total * known.calibration.cores,
        "points": [list(point) for point in points],
        "plan": shown.version.version,
        "before": deviation_before(source, tree_identity(tree)),
    }
