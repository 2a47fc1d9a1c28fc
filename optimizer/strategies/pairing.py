"""Pairing: trees of at most two windows, paired in the best of all ways, by matching (SAVINGS, appendix)."""

from itertools import combinations

import networkx as nx

from optimizer.strategies.window_trees import Members, Windows, WindowTrees, partitioned
from optimizer.workload import Group, Workload

MOST_UNITS = 100  # a second or two; matching takes the cube of the number of windows


def pairing(workload: Workload) -> list[Group]:
    """Groups of one or two windows that no other pairs undercut; refused for more than can be matched."""
    return partitioned(workload, _matched)


def _matched(trees: WindowTrees) -> list[Windows]:
    count = len(trees.units)
    if count > MOST_UNITS:
        raise ValueError(
            f"Optimal pairing takes at most {MOST_UNITS} different windows that could share a tree, "
            f"not {count}: use best or weave_share."
        )
    graph = nx.Graph()
    for one, other in combinations(range(count), 2):
        saving = _saving(trees, one, other)
        if saving > 0:
            graph.add_edge(one, other, weight=saving)
    pairs = sorted(tuple(sorted(pair)) for pair in nx.max_weight_matching(graph))
    paired = {unit for pair in pairs for unit in pair}
    alone = [(unit,) for unit in range(count) if unit not in paired]
    return [trees.windows(tree) for tree in (*pairs, *alone)]


def _saving(trees: WindowTrees, one: int, other: int) -> float:
    units = Members({one}), Members({other})
    edges = sum(map(trees.edge_rate, units)) - float(trees.common_edges[one, other])
    return sum(map(trees.cost, units)) - trees.cost_at((one, other), edges)
