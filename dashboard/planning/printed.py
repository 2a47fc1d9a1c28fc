"""Plans as the command line prints them: JSON, text for people, and strategies side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimizer.cost import Statistics
from optimizer.durations import UNITS_MS, format_duration
from optimizer.edges import count_edges
from optimizer.explain import NARROW_SPACE, Explainer, cost_text, significant
from optimizer.group_trees import GroupTree
from optimizer.kernels import BY_NAME
from optimizer.plan import Plan, Tree
from optimizer.strategies import Strategy
from optimizer.throughput import load


@dataclass(frozen=True)
class Outcome:
    """What one strategy made of the queries: a plan, or the sentence with which it refused them."""

    strategy: Strategy
    plan: Plan | None
    seconds: float
    refusal: str = ""


def plan_json(plan: Plan, labels: Mapping[str, str]) -> dict[str, Any]:
    feeding = {tree.fed_by for tree in plan.trees}
    nodes = [
        {
            "cost": cost,
            "trees": [
                _tree_json(tree, labels, tree.id in feeding) for tree in plan.trees if tree.node == node
            ]
            + [_group_tree_json(tree, labels) for tree in plan.group_trees if tree.node == node],
        }
        for node, cost in enumerate(plan.node_costs)
    ]
    return {
        "strategy": plan.strategy,
        "total_cost": plan.total_cost,
        "max_node_cost": plan.max_node_cost,
        "nodes": nodes,
    }


def _tree_json(tree: Tree, labels: Mapping[str, str], feeds: bool) -> dict[str, Any]:
    edges, span = _edges(tree)
    value = {
        "queries": [labels[query.id] for query in tree.queries],
        "edges": edges,
        "composite_slide": _seconds(span),
        "edge_rate": tree.edge_rate,
        "omega": tree.omega,
        "kernel": tree.kernel or None,
        "cost": tree.cost,
    }
    if feeds or tree.fed_by is not None:
        value["id"] = tree.id
    if tree.fed_by is not None:
        value["fed_by"] = tree.fed_by
    return value


def _group_tree_json(tree: GroupTree, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "queries": [labels[query.id] for query in tree.queries],
        "window": tree.window.to_json(),
        "cost": tree.cost,
    }


def _edges(tree: Tree) -> tuple[int, int]:
    """Edges in the composite slide, and its ticks; answers made of other answers come once a slide."""
    return (1, tree.windows[0].slide) if tree.through else count_edges(tree.edge_classes)


def _seconds(ticks: int) -> int | float:
    whole, rest = divmod(ticks, UNITS_MS["s"])
    return ticks / UNITS_MS["s"] if rest else whole


def plan_text(plan: Plan, strategy: Strategy, labels: Mapping[str, str], statistics: Statistics) -> str:
    """The trees with their queries, then why each query runs where it does."""
    lines = [_headline(plan, strategy, statistics)]
    for node, cost in enumerate(plan.node_costs):
        if len(plan.nodes) > 1:
            lines += ["", f"Node {node + 1} of {len(plan.nodes)} · {cost_text(cost, statistics.model)}"]
        for tree in plan.trees:
            if tree.node == node:
                lines += ["", _tree_line(tree, statistics.model), *_window_lines(tree, labels)]
        for group_tree in plan.group_trees:
            if group_tree.node == node:
                lines += ["", _group_tree_line(group_tree, statistics.model)]
                lines += _aligned_pairs([(labels[each.id], each.window.words) for each in group_tree.queries])
    explainer = Explainer(plan, statistics)
    if plan.all_queries:
        lines += ["", "Why so"]
    for query in sorted(plan.all_queries, key=lambda query: labels[query.id]):
        lines += ["", *explainer.explanation(query.id).lines()]
    return "\n".join(lines)


def _headline(plan: Plan, strategy: Strategy, statistics: Statistics) -> str:
    cost = cost_text(plan.total_cost, statistics.model)
    windows, trees = _counted(len(plan.all_queries), "window"), _counted(len(plan.all_trees), "tree")
    line = f"{strategy.label}: {windows} in {trees}, {cost} at λ = {significant(statistics.rate)}/s"
    if statistics.model == "papers":
        return line
    taken = load(plan, statistics)
    if not taken:
        return line
    cores, capacity = _counted(statistics.calibration.cores, "core"), statistics.rate / taken
    share = f"{significant(100 * taken)}{NARROW_SPACE}% load on {cores} with reading the events"
    return f"{line}\n{share}, capacity {significant(capacity)} events/s"


def _tree_line(tree: Tree, model: str) -> str:
    parts = [f"Tree {tree.id}"]
    if tree.fed_by:
        through = f" through {_window(tree.through.range, tree.through.slide)}" if tree.through else ""
        parts.append(f"made of tree {tree.fed_by}{through}")
    parts.append(BY_NAME[tree.kernel].label if tree.kernel else "only feeds other trees")
    parts += [f"{significant(tree.edge_rate)} edges/s", f"Ω {significant(tree.omega)}"]
    return " · ".join([*parts, cost_text(tree.cost, model)])


def _group_tree_line(tree: GroupTree, model: str) -> str:
    return f"Tree {tree.id} · windows of each group’s own events · {cost_text(tree.cost, model)}"


def _window_lines(tree: Tree, labels: Mapping[str, str]) -> list[str]:
    rows = [(labels[query.id], _window(query.window.range, query.window.slide)) for query in tree.queries]
    rows += [("(added)", _window(window.range, window.slide)) for window in tree.added_windows]
    return _aligned_pairs(rows)


def _aligned_pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(label) for label, _ in rows), default=0)
    return [f"  {label.ljust(width)}  {window}" for label, window in rows]


def _window(length: int, slide: int) -> str:
    return f"{format_duration(length)} every {format_duration(slide)}"


def comparison(outcomes: Sequence[Outcome]) -> str:
    """An aligned table of strategies in the order given; those that refused have their reason in it."""
    costs = [outcome.plan.total_cost for outcome in outcomes if outcome.plan]
    rows = [["strategy", "kind", "trees", "total cost", "max node cost", "plan time", "to best"]]
    rows += [_compared(outcome, min(costs, default=0.0)) for outcome in outcomes]
    widths = [max(map(len, column)) for column in zip(*(row for row in rows if len(row) > 3), strict=True)]
    widths[:2] = (max(len(row[column]) for row in rows) for column in range(2))
    return "\n".join("  ".join(_aligned(row, widths)).rstrip() for row in rows)


def _compared(outcome: Outcome, least: float) -> list[str]:
    strategy, plan = outcome.strategy, outcome.plan
    if plan is None:
        return [strategy.label, strategy.kind, outcome.refusal]
    return [
        strategy.label,
        strategy.kind,
        str(len(plan.all_trees)),
        significant(plan.total_cost),
        significant(plan.max_node_cost),
        f"{significant(1000 * outcome.seconds)} ms",
        f"{plan.total_cost / least:.3f}" if least else "–",
    ]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Words at the left, numbers at the right; a sentence takes what room it needs."""
    if len(row) < len(widths):
        return [row[0].ljust(widths[0]), row[1].ljust(widths[1]), *row[2:]]
    return [
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
