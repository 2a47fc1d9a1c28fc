"""What the plan page says: the plan's price against no sharing, its trees, and where their slices end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User

from dashboard.accounts.rights import visible_sources
from dashboard.live.meters import measured, process_meters
from dashboard.planning.calibration import calibrated_statistics
from dashboard.planning.changes import kernel_label
from dashboard.planning.models import PlanVersion
from dashboard.planning.service import newest
from dashboard.planning.work import TreeEstimate, TreeMeasure, estimated_work, measured_work
from dashboard.sources.models import Source
from optimizer import Statistics, optimize
from optimizer.cost import group_cost
from optimizer.durations import format_duration
from optimizer.group_costs import group_costs
from optimizer.group_trees import GroupTree
from optimizer.plan import Plan, Tree
from optimizer.plan_edit import as_groups
from optimizer.queries import AnyQuery, Query
from optimizer.throughput import estimated_throughput, load


@dataclass(frozen=True)
class TreeRow:
    """One tree with its share of the plan's estimated cost."""

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


@dataclass(frozen=True)
class Overview:
    """A plan at what is known now of its stream."""

    rows: list[TreeRow]
    queries: int
    price: float  # total cost, in queries that run alone
    load: float
    load_alone: float  # without any sharing
    throughput: float  # estimated, events per second
    in_hand: float  # until saturation, events per second


def overview(plan: Plan, statistics: Statistics) -> Overview:
    """Cost everything anew with these statistics: the plan may be older than the measurements."""
    rows = tree_rows(plan, statistics)
    total = sum(row.cost for row in rows)
    alone = optimize(plan.all_queries, statistics, source=plan.source, strategy="no_share")
    throughput = estimated_throughput(plan, statistics)
    return Overview(
        rows=rows,
        queries=len(plan.all_queries),
        price=total / alone.total_cost * len(plan.all_queries) if alone.total_cost else 0.0,
        load=load(plan, statistics),
        load_alone=load(alone, statistics),
        throughput=throughput,
        in_hand=max(0.0, throughput - statistics.rate),
    )


def cost_shares(plan: Plan, statistics: Statistics) -> dict[str, float]:
    """Of every single-window query, its estimated share of the plan's cost: queries of a tree share alike."""
    answering = [tree for tree in costed(plan, statistics).all_trees if tree.queries]
    total = sum(tree.cost for tree in answering)
    return {
        query.id: tree.cost / total / len(tree.queries)
        for tree in answering
        for query in tree.queries
        if total
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
    statistics: Statistics

    @classmethod
    def of(cls, source: Source) -> "SourcePlan | None":
        """None where no query runs."""
        version = newest(source)
        plan = version.value() if version is not None else None
        if version is None or plan is None or not plan.all_trees:
            return None
        return cls(source, version, plan, calibrated_statistics(source))

    @cached_property
    def overview(self) -> Overview:
        return overview(self.plan, self.statistics)

    @cached_property
    def rows(self) -> list[TreeRow]:
        return tree_rows(self.plan, self.statistics)

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
    """What somebody may see, all together; load and what is in hand are of all that shares the cores."""

    queries: int
    price: float
    load: float
    load_alone: float
    in_hand: float
    trees: int
    nodes: int
    topics: tuple[str, ...]
    is_measured: bool  # most of the load: a source that is idle has nothing to measure
    beside_others: bool  # that its reader may not see

    @property
    def ticks(self) -> list[float]:
        """How much of each query's mark is filled, 0 to 1."""
        return [max(0.0, min(1.0, self.price - at)) for at in range(self.queries)]

    @property
    def filled(self) -> float:
        """All marks as one bar, 0 to 1."""
        return min(1.0, self.price / self.queries) if self.queries else 0.0


def headline(plans: Sequence[SourcePlan], others: Sequence[SourcePlan] = ()) -> Headline:
    """`others` are counted in the load alone: nothing else is told of them."""
    every = [*plans, *others]
    named, whole = [plan.overview for plan in plans], [plan.overview for plan in every]
    rate, used = sum(plan.statistics.rate for plan in every), sum(one.load for one in whole)
    evenly = rate / used - rate if used else 0.0  # if all sources grew alike
    measured_load = sum(plan.overview.load for plan in every if plan.is_measured)
    return Headline(
        queries=sum(one.queries for one in named),
        price=sum(one.price for one in named),
        load=used,
        load_alone=sum(one.load_alone for one in whole),
        in_hand=whole[0].in_hand if len(whole) == 1 else max(0.0, evenly),
        trees=sum(len(one.rows) for one in named),
        nodes=max((len(plan.plan.nodes) for plan in plans), default=1),
        topics=tuple(plan.source.topic for plan in plans),
        is_measured=measured_load > used / 2,
        beside_others=bool(others),
    )


def tree_rows(plan: Plan, statistics: Statistics) -> list[TreeRow]:
    now = costed(plan, statistics)
    total = now.total_cost
    return [
        TreeRow(tree, tree.cost, tree.cost / total if total else 0.0, kernel_label(tree))
        for tree in now.all_trees
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
