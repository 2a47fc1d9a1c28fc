"""Why a tree runs on its kernel: what the others would take, and what those lack that cannot serve it."""

from dataclasses import dataclass, replace

from optimizer.cost import FamilyCosts, Statistics
from optimizer.explain import NARROW_SPACE, listed, plural, significant
from optimizer.kernels import BY_NAME, PAPERS_CHOICE, RUNNABLE, Kernel
from optimizer.plan import Tree

NAMED = 2  # other kernels of which a sentence speaks


@dataclass(frozen=True)
class Rival:
    """A kernel that could run a tree, and what it takes: operations an edge, or seconds for one group."""

    kernel: Kernel
    cost: float


def rivals(tree: Tree, statistics: Statistics) -> list[Rival]:
    """Cheapest first."""
    windows = {query.window for query in tree.queries}
    able = [
        kernel
        for kernel in FamilyCosts(tree.queries, statistics, key=tree.key).kernels
        if kernel.many or len(windows) == 1
    ]
    found = []
    for kernel in able:
        costs = FamilyCosts(tree.queries, replace(statistics, kernel=kernel.name), key=tree.key)
        found.append(Rival(kernel, costs.tree_at(windows, tree.edge_rate).per_edge))
    return sorted(found, key=lambda rival: rival.cost)


def why_this_kernel(tree: Tree, statistics: Statistics) -> str:
    """One to three sentences; empty where the tree answers nothing itself."""
    if not tree.kernel or tree.through is not None:
        return ""
    measured = statistics.kernel_costs is not None
    return " ".join([_compared(tree, statistics, measured), *_unable(tree, measured)])


def _compared(tree: Tree, statistics: Statistics, measured: bool) -> str:
    able = rivals(tree, statistics)
    label = BY_NAME[tree.kernel].label
    own = next((rival for rival in able if rival.kernel.name == tree.kernel), None)
    if own is None:
        return f"{label} is what the plan was made with; with what is known now another would be taken."
    takes = f"{label} takes {_cost(own.cost, measured)}"
    others = [rival for rival in able if rival is not own]
    if not others:
        return f"{takes}: no other can answer these queries."
    if others[0].cost < own.cost:
        return f"{takes}; {others[0].kernel.label} would take {_cost(others[0].cost, measured)} now."
    told = listed([f"{rival.kernel.label} {_cost(rival.cost, measured)}" for rival in others[:NAMED]])
    return f"{takes}, the least of {len(able)}; {told}."


def _unable(tree: Tree, measured: bool) -> list[str]:
    lacking: dict[str, list[str]] = {}
    for name in RUNNABLE if measured else PAPERS_CHOICE:
        kernel = BY_NAME[name]
        refused = next(
            (query.aggregate for query in tree.queries if not kernel.allows(query.aggregate)), None
        )
        if refused:
            lacking.setdefault(f"{refused} is not {kernel.needs}", []).append(kernel.label)
    return [f"Not {listed(labels)}: {why}." for why, labels in lacking.items()]


def _cost(cost: float, measured: bool) -> str:
    if measured:
        return f"{significant(cost * 1e9)}{NARROW_SPACE}ns an edge and group"
    return f"{significant(cost)} {plural('operation', 'operations', cost)} an edge"
