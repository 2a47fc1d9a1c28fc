"""What trees were estimated to take and what they took, in core seconds a second.

The meters tell by tree how long its answers took; reading, folding and gathering are told for all trees
together. What is not told apart is split as it was estimated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.live.batches import Batch, TreeWork
from optimizer.cost import Statistics
from optimizer.plan import Plan
from optimizer.throughput import answer_seconds, busy, kernel_seconds

SPAN_MS = 5 * 60_000  # that costs are measured over
POINT_MS = 15_000


@dataclass(frozen=True)
class TreeEstimate:
    """By its own work and an even share of what is done once for all trees that read the events."""

    answers: float
    rest: float

    @property
    def total(self) -> float:
        return self.answers + self.rest


@dataclass(frozen=True)
class TreeMeasure:
    """What a tree did over some batches; rates are a second's."""

    cost: float  # core seconds a second
    share: float  # of all trees' cost
    partials: float
    results: float
    groups: int
    state_bytes: int


def estimated_work(plan: Plan, statistics: Statistics) -> dict[str, TreeEstimate]:
    """By tree of either kind."""
    taken = busy(plan, statistics)
    reading = [tree.id for tree in plan.trees if tree.fed_by is None] + [tree.id for tree in plan.group_trees]
    shared = taken.shared / max(1, len(reading))
    answers = {
        tree.id: min(
            taken.trees[tree.id],
            sum(answer_seconds(tree, statistics).values()) + kernel_seconds(tree, statistics),
        )
        for tree in plan.trees
    }
    return {
        tree_id: TreeEstimate(
            answers.get(tree_id, 0.0),
            own - answers.get(tree_id, 0.0) + (shared if tree_id in reading else 0.0),
        )
        for tree_id, own in taken.trees.items()
    }


def measured_work(
    plan: Plan, batches: Sequence[Batch], estimates: Mapping[str, TreeEstimate]
) -> dict[str, TreeMeasure]:
    """By tree, over the last five minutes of this plan's batches; empty until some have been heard of."""
    told = _recent(plan, batches)
    if len(told) < 2:
        return {}
    counted, span = (
        told[1:],
        (told[-1].clock - told[0].clock) / 1000,
    )  # the first is what the span begins with
    if span <= 0:
        return {}
    costs = tree_seconds(counted, estimates)
    whole = sum(costs.values())
    whole_ones = counted[:-1] or counted  # of the newest some shards may not have told yet
    newest = {tree_id: work for batch in whole_ones for tree_id, work in batch.trees.items()}
    nothing = TreeWork()
    return {
        tree_id: TreeMeasure(
            cost=cost / span,
            share=cost / whole if whole else 0.0,
            partials=sum(batch.trees.get(tree_id, nothing).partials for batch in counted) / span,
            results=sum(batch.trees.get(tree_id, nothing).results for batch in counted) / span,
            groups=newest.get(tree_id, nothing).groups,
            state_bytes=newest.get(tree_id, nothing).state_bytes,
        )
        for tree_id, cost in costs.items()
    }


def tree_seconds(batches: Sequence[Batch], estimates: Mapping[str, TreeEstimate]) -> dict[str, float]:
    """By tree, the core seconds of these batches: its answers, and its part of what is not told apart."""
    nothing = TreeWork()
    own = {tree: sum(batch.trees.get(tree, nothing).seconds for batch in batches) for tree in estimates}
    rest = max(0.0, sum(batch.busy_seconds for batch in batches) - sum(own.values()))
    whole = sum(estimate.rest for estimate in estimates.values())
    even = 1 / max(1, len(estimates))
    return {
        tree: own[tree] + rest * (estimate.rest / whole if whole else even)
        for tree, estimate in estimates.items()
    }


def tree_throughput(
    tree: str, plan: Plan, batches: Sequence[Batch], estimates: Mapping[str, TreeEstimate], cores: int
) -> list[tuple[int, float]]:
    """Every quarter of a minute (its end): events a second that the cores could take for this tree alone."""
    spans: dict[int, list[Batch]] = {}
    for batch in batches:
        if batch.plan == plan.version and batch.events:
            spans.setdefault(batch.clock // POINT_MS, []).append(batch)
    points = []
    for span, some in sorted(spans.items())[:-1]:  # the newest is not over
        seconds = tree_seconds(some, estimates).get(tree, 0.0)
        if seconds > 0:
            points.append(((span + 1) * POINT_MS, sum(batch.events for batch in some) / seconds * cores))
    return points


def _recent(plan: Plan, batches: Sequence[Batch]) -> list[Batch]:
    of_plan = [batch for batch in batches if batch.plan == plan.version]
    return [batch for batch in of_plan if batch.clock > of_plan[-1].clock - SPAN_MS]
