"""Window coverage: each window is computed from the answers of the cheapest other one (FACTOR alg. 1)."""

from optimizer.factor_windows.costs import WindowCosts
from optimizer.factor_windows.graph import CoverageGraph, min_cost_graph
from optimizer.factor_windows.groups import fed_groups
from optimizer.factor_windows.search import Semantics
from optimizer.windows import Window
from optimizer.workload import Group, Workload


def window_coverage(workload: Workload) -> list[Group]:
    """A tree for each window, fed by another one wherever that is cheaper than reading the events."""
    return fed_groups(workload, _graph)


def _graph(windows: frozenset[Window], semantics: Semantics, costs: WindowCosts) -> CoverageGraph:
    return min_cost_graph(windows, semantics.relation, costs)
