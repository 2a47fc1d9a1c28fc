"""What the plan page says: the plan's cost against no sharing, its trees, and where their slices end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User

from dashboard.accounts.rights import visible_sources
from dashboard.live.meters import measured, process_meters
from dashboard.planning.changes import kernel_label
from dashboard.planning.figures import Figures, PlanLoad, together
from dashboard.planning.models import PlanVersion
from dashboard.planning.service import newest
from dashboard.planning.work import TreeEstimate, TreeMeasure, estimated_work, measured_work
from dashboard.sources.models import Source
from optimizer import Statistics
from optimizer.cost import group_cost
from optimizer.durations import format_duration
from optimizer.group_costs import group_costs
from optimizer.group_trees import GroupTree
from optimizer.plan import Plan, Tree
from optimizer.plan_edit import as_groups
from optimizer.queries import AnyQuery, Query


@dataclass(frozen=True)
class TreeRow:
    """One tree with its share of the plan's core time: measured where that was, else estimated."""

    tree: Tree | GroupTree
    cost: float  # operations per second
    share: float
    kernel: str  # empty: windows of each group's own events, or a tree that only feeds others

    @property
    def subject(self) -> str:
        """What the tree's queries have in common."""
        key = self.tree.key
        grouped = f"grouped by {', '.join(key.group_by)}" if key.group_by else "not grouped"
        return f"{grouped}, where {key.where}" if key.where else grouped

    @property
    def edge_rate(self) -> float:
        return self.tree.edge_rate if isinstance(self.tree, Tree) else 0.0

    @property
    def omega(self) -> float:
        return self.tree.omega if isinstance(self.tree, Tree) else 0.0

    @property
    def has_slices(self) -> bool:
        return isinstance(self.tree, Tree)

    def timeline(self) -> dict[str, Any] | None:
        """What the browser needs to draw slices, and who closes where, on its own time axis."""
        if not isinstance(self.tree, Tree):
            return None
        return {
            "edges": [list(residue) for residue in self.tree.edge_classes],
            "queries": [_timeline_row(query) for query in self.tree.queries],
        }


def costed(plan: Plan, statistics: Statistics) -> Plan:
    """The same trees at what they cost now."""
    costs = group_costs(as_groups(plan.trees), statistics)
    trees = (replace(tree, cost=cost.total) for tree, cost in zip(plan.trees, costs, strict=True))
    apart = (replace(tree, cost=group_cost(tree.window, tree.key, statistics)) for tree in plan.group_trees)
    return replace(plan, trees=tuple(trees), group_trees=tuple(apart))


@dataclass(frozen=True)
class SourcePlan:
    """A source with the plan that runs for it, what was estimated of it and what was measured."""

    source: Source
    version: PlanVersion
    plan: Plan

    @classmethod
    def of(cls, source: Source) -> "SourcePlan | None":
        """None where no query runs."""
        version = newest(source)
        plan = version.value() if version is not None else None
        if version is None or plan is None or not plan.all_trees:
            return None
        return cls(source, version, plan)

    @cached_property
    def taken(self) -> PlanLoad:
        return PlanLoad.of(self.source, self.plan)

    @property
    def statistics(self) -> Statistics:
        return self.taken.statistics

    @cached_property
    def rows(self) -> list[TreeRow]:
        return tree_rows(self.plan, self.statistics, self.shares)

    @cached_property
    def shares(self) -> dict[str, float]:
        """Of each tree, its share of the plan's core time."""
        costs = {tree.id: self.cost_of(tree.id) for tree in self.plan.all_trees}
        whole = sum(costs.values())
        return {tree: cost / whole if whole else 0.0 for tree, cost in costs.items()}

    @cached_property
    def estimates(self) -> dict[str, TreeEstimate]:
        return estimated_work(self.plan, self.statistics)

    @cached_property
    def measures(self) -> dict[str, TreeMeasure]:
        return measured_work(self.plan, process_meters.recent(self.source.key)[1], self.estimates)

    @property
    def is_measured(self) -> bool:
        return measured(self.source.key)

    def cost_of(self, tree_id: str) -> float:
        """Core seconds a second: measured where it was, else estimated."""
        known = self.measures.get(tree_id)
        return known.cost if known else self.estimates[tree_id].total

    def tree(self, tree_id: str) -> Tree | GroupTree | None:
        return next((tree for tree in self.plan.all_trees if tree.id == tree_id), None)

    def row(self, tree_id: str | None) -> TreeRow:
        """The tree asked for, else the one with most queries."""
        richest = max(self.rows, key=lambda row: len(row.tree.queries))
        return next((row for row in self.rows if row.tree.id == tree_id), richest)


def running_plans(sources: Iterable[Source]) -> list[SourcePlan]:
    return [found for source in sources if (found := SourcePlan.of(source)) is not None]


def plans_seen(person: User) -> tuple[list[SourcePlan], list[SourcePlan]]:
    """The plans of sources that somebody may see, and those that run beside them."""
    seen = set(visible_sources(person))
    plans = running_plans(Source.objects.all())
    return [one for one in plans if one.source in seen], [one for one in plans if one.source not in seen]


@dataclass(frozen=True)
class Headline:
    """What somebody may see, all together; load and headroom are of all that shares the cores."""

    figures: Figures
    trees: int
    nodes: int
    topics: tuple[str, ...]
    beside_others: bool  # that its reader may not see

    @property
    def ticks(self) -> list[float]:
        """How much of each window's mark is filled, 0 to 1."""
        return [max(0.0, min(1.0, self.figures.cost - at)) for at in range(self.figures.windows)]

    @property
    def alone_factor(self) -> float:
        """How many times as much it would be without sharing."""
        return self.figures.load_alone / self.figures.load if self.figures.load else 1.0

    @property
    def filled(self) -> float:
        """All marks as one bar, 0 to 1."""
        return min(1.0, self.figures.cost / self.figures.windows) if self.figures.windows else 0.0


def headline(plans: Sequence[SourcePlan], others: Sequence[SourcePlan] = ()) -> Headline:
    """`others` are counted in the load alone: nothing else is told of them."""
    return Headline(
        figures=together([plan.taken for plan in plans], [plan.taken for plan in others]),
        trees=sum(len(plan.plan.all_trees) for plan in plans),
        nodes=max((len(plan.plan.nodes) for plan in plans), default=1),
        topics=tuple(plan.source.topic for plan in plans),
        beside_others=bool(others),
    )


def tree_rows(plan: Plan, statistics: Statistics, shares: Mapping[str, float]) -> list[TreeRow]:
    return [
        TreeRow(tree, tree.cost, shares[tree.id], kernel_label(tree))
        for tree in costed(plan, statistics).all_trees
    ]


def _timeline_row(query: Query) -> dict[str, Any]:
    window = query.window
    return {
        "name": query.name,
        "aggregate": computes(query),
        "range": window.range,
        "slide": window.slide,
        "end": (window.offset + window.range) % window.slide,
        "window": f"{format_duration(window.range)} every {format_duration(window.slide)}",
    }


def computes(query: AnyQuery) -> str:
    return f"{query.aggregate} of {query.field}" if query.field else query.aggregate
