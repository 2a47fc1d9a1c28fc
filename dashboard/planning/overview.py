"""What the plan page says: the plan's price against no sharing, its trees, and where their slices end."""

from dataclasses import dataclass
from typing import Any

from optimizer import Statistics, optimize
from optimizer.cost import group_cost, tree_cost
from optimizer.durations import format_duration
from optimizer.kernels import BY_NAME
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.throughput import estimated_throughput, load


@dataclass(frozen=True)
class TreeRow:
    """One tree with its share of the plan's estimated cost."""

    tree: Tree
    cost: float  # operations per second
    share: float
    kernel: str

    @property
    def subject(self) -> str:
        """What the tree's queries have in common."""
        first = self.tree.queries[0]
        grouped = f"grouped by {', '.join(first.group_by)}" if first.group_by else "not grouped"
        return f"{grouped}, where {first.where}" if first.where else grouped

    def timeline(self) -> dict[str, Any]:
        """What the browser needs to draw slices, and who closes where, on its own time axis."""
        return {
            "edges": [list(residue) for residue in self.tree.edge_classes],
            "queries": [_timeline_row(query) for query in self.tree.queries],
        }


@dataclass(frozen=True)
class Overview:
    """A plan at what is known now of its stream."""

    rows: list[TreeRow]  # of trees whose slices can be drawn on one time axis
    queries: int
    price: float  # total cost, in queries that run alone
    load: float
    load_alone: float  # without any sharing
    throughput: float  # estimated, events per second
    in_hand: float  # until saturation, events per second


def overview(plan: Plan, statistics: Statistics) -> Overview:
    """Cost everything anew with these statistics: the plan may be older than the measurements."""
    costs = {tree.id: tree_cost(tree.queries, statistics).total for tree in plan.trees if tree.queries}
    total = sum(costs.values())
    alone = optimize(plan.all_queries, statistics, source=plan.source, strategy="no_share")
    apart = sum(group_cost(tree.window, tree.key, statistics) for tree in plan.group_trees)
    throughput = estimated_throughput(plan, statistics)
    return Overview(
        rows=[_row(tree, costs[tree.id], total) for tree in plan.trees if tree.queries],
        queries=len(plan.all_queries),
        price=(total + apart) / alone.total_cost * len(plan.all_queries) if alone.total_cost else 0.0,
        load=load(plan, statistics),
        load_alone=load(alone, statistics),
        throughput=throughput,
        in_hand=max(0.0, throughput - statistics.rate),
    )


def cost_shares(plan: Plan, statistics: Statistics) -> dict[str, float]:
    """Of every single-window query, its estimated share of the plan's cost: queries of a tree share alike."""
    costs: dict[tuple[str, ...], float] = {}  # by the queries of a tree
    for tree in plan.trees:
        if tree.queries:
            costs[tuple(query.id for query in tree.queries)] = tree_cost(tree.queries, statistics).total
    for apart in plan.group_trees:
        ids = tuple(query.id for query in apart.queries)
        costs[ids] = group_cost(apart.window, apart.key, statistics)
    total = sum(costs.values())
    return {id_: cost / total / len(ids) for ids, cost in costs.items() for id_ in ids if total}


def _row(tree: Tree, cost: float, total: float) -> TreeRow:
    return TreeRow(tree, cost, cost / total if total else 0.0, BY_NAME[tree.kernel].label)


def _timeline_row(query: Query) -> dict[str, Any]:
    window = query.window
    return {
        "name": query.name,
        "aggregate": f"{query.aggregate} of {query.field}" if query.field else query.aggregate,
        "range": window.range,
        "slide": window.slide,
        "end": (window.offset + window.range) % window.slide,
        "window": f"{format_duration(window.range)} every {format_duration(window.slide)}",
    }
