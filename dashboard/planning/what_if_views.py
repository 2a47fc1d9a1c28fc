"""What if: all strategies beside each other, what one would do to each query, and adopting it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, may_change, visible_sources
from dashboard.models import Source
from dashboard.planning import service
from dashboard.planning.changes import change_picture, differences, effects
from dashboard.planning.figures import running_loads, together
from dashboard.planning.news import warn_if_unheard
from dashboard.planning.overview import SourcePlan
from dashboard.planning.views import running_plan
from dashboard.planning.what_if import Comparison, by_plan, first_ones
from dashboard.platform.folder_tasks import ASKED, CANCELLED, FAILED, RUNNING
from optimizer.plan import Plan
from optimizer.strategies import STRATEGIES

NODE_CHOICES = (1, 2, 3, 4, 6, 8)


@require_safe
def strategies(request: HttpRequest, key: str) -> HttpResponse:
    """The panel of the plan page: it asks again until all strategies have had their turn."""
    shown = running_plan(key)
    nodes = len(shown.plan.nodes)
    context = _compared(shown, nodes)
    context["outcomes"] = first_ones(context["outcomes"], shown.plan.strategy)
    return render(request, "planning/_strategies.html", context)


@require_safe
def what_if(request: HttpRequest, key: str) -> HttpResponse:
    """All of them, on as many nodes as are asked for."""
    shown = running_plan(key)
    nodes = _nodes(request.GET.get("nodes"), len(shown.plan.nodes))
    context = {
        **_compared(shown, nodes),
        "sources": list(visible_sources(signed_in(request))),
        "node_choices": sorted({*NODE_CHOICES, len(shown.plan.nodes), nodes}),
        "may_change": may_change(signed_in(request), shown.source),
    }
    return render(request, "planning/what_if.html", context)


@require_safe
def outcomes(request: HttpRequest, key: str) -> HttpResponse:
    """The table of the page, as far as it is."""
    shown = running_plan(key)
    nodes = _nodes(request.GET.get("nodes"), len(shown.plan.nodes))
    return render(request, "planning/_outcomes.html", _compared(shown, nodes))


@require_POST
def compare(request: HttpRequest, key: str) -> HttpResponse:
    """Cancel a comparison that runs, or run one again that was cancelled or failed."""
    shown = running_plan(key)
    nodes = _nodes(request.POST.get("nodes"), len(shown.plan.nodes))
    comparison = Comparison.of(shown.version, nodes)
    if request.POST.get("do") == "cancel":
        comparison.cancel()
    else:
        comparison.start(shown.version, nodes)
    return redirect(f"{reverse('plan-what-if', args=[key])}?nodes={nodes}")


@require_safe
def preview(request: HttpRequest, key: str, strategy: str) -> HttpResponse:
    """What adopting a strategy would do, said before."""
    shown = running_plan(key)
    nodes = _nodes(request.GET.get("nodes"), len(shown.plan.nodes))
    try:
        plan = service.planned_by(shown.source, strategy, nodes)
    except ValueError as refusal:
        messages.error(request, str(refusal))
        return redirect("plan-what-if", key)
    label = STRATEGIES[strategy].label
    context = {
        **preview_context(shown, plan, request),
        "title": f"What if: {label}",
        "label": label + (f" on {nodes} nodes" if nodes > 1 else ""),
        "action": reverse("plan-adopt", args=[key]),
        "fields": {"strategy": strategy, "nodes": nodes},
        "button": f"Adopt {label}",
        "back": f"{reverse('plan-what-if', args=[key])}?nodes={nodes}",
        "back_words": "What if",
    }
    return render(request, "planning/preview.html", context)


@require_POST
def adopt(request: HttpRequest, key: str) -> HttpResponse:
    source, person = get_object_or_404(Source, key=key), signed_in(request)
    check_may_change(person, source)
    try:
        nodes = int(request.POST.get("nodes", "1"))
        version = service.adopt(source, request.POST.get("strategy", ""), nodes, person)
    except ValueError as refusal:
        messages.error(request, f"Not adopted: {refusal}")
        return redirect("plan-what-if", key)
    messages.info(request, f"Plan {version.version} is adopted. Answers are the same; costs are not.")
    warn_if_unheard(request, version)
    return redirect(f"{reverse('plan')}?source={key}")


@require_POST
def release(request: HttpRequest, key: str) -> HttpResponse:
    source, person = get_object_or_404(Source, key=key), signed_in(request)
    check_may_change(person, source)
    version = service.release(source, person)
    messages.info(request, f"Millrace chooses again: plan {version.version}.")
    warn_if_unheard(request, version)
    return redirect(f"{reverse('plan')}?source={key}")


def preview_context(shown: SourcePlan, plan: Plan, request: HttpRequest) -> dict[str, Any]:
    """What a page says of a plan that could be made to run."""
    others = [one for key, one in running_loads().items() if key != shown.source.key]
    now, then = together([shown.taken], others), together([shown.taken.under(plan)], others)
    return {
        "source": shown.source,
        "version": shown.version,
        "now": now,
        "then": then,
        "trees_now": len(shown.plan.all_trees),
        "trees_then": len(plan.all_trees),
        "nodes_then": len(plan.nodes),
        "changes": differences(shown.plan, plan),
        "change_picture": change_picture(shown.plan, plan),
        "effects": effects(shown.taken, shown.taken.under(plan)),
        "may_change": may_change(signed_in(request), shown.source),
    }


def _compared(shown: SourcePlan, nodes: int) -> dict[str, Any]:
    comparison = Comparison.of(shown.version, nodes)
    if comparison.state == ASKED:
        comparison.start(shown.version, nodes)
    state = comparison.state
    found = comparison.outcomes(shown.taken)
    return {
        "source": shown.source,
        "version": shown.version,
        "adopted": shown.plan.strategy if nodes == len(shown.plan.nodes) else "",
        "running_cost": shown.taken.cost,
        "nodes": nodes,
        "outcomes": found,
        "same_plans": by_plan(found),
        "strategy_count": len(STRATEGIES),
        "is_running": state in (RUNNING, ASKED),  # asked: others are at work, its turn comes
        "is_cancelled": state == CANCELLED,
        "problem": comparison.problem if state == FAILED else "",
        "progress": comparison.progress(),
    }


def _nodes(typed: str | None, default: int) -> int:
    """As typed, where it is a number of nodes that there can be."""
    if typed and typed.isdecimal() and 1 <= int(typed[:6]) <= service.MOST_NODES:
        return int(typed)
    return default
