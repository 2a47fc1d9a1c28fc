"""Contiguous: in order of their slides, the cheapest cut of the windows into trees (SAVINGS, appendix).

The paper leaves the order open. Windows with like slides have like edge rates, so ours is by slide, then
by range.
"""

import numpy as np
from numpy.typing import NDArray

from optimizer.strategies.window_trees import Members, Windows, WindowTrees, partitioned
from optimizer.workload import Group, Workload

Floats = NDArray[np.float64]


def contiguous(workload: Workload) -> list[Group]:
    """Groups of neighbours that no other cut of the same order undercuts."""
    return partitioned(workload, _cheapest_cut)


def _cheapest_cut(trees: WindowTrees) -> list[Windows]:
    order = sorted(range(len(trees.units)), key=lambda unit: _place(trees.units[unit]))
    lasts = _Cuts(trees, order).lasts()
    cut = []
    first = 0
    while first < len(order):
        cut.append(trees.windows(order[first : lasts[first] + 1]))
        first = lasts[first] + 1
    return cut


def _place(unit: Windows) -> list[tuple[int, int, int]]:
    return sorted((window.slide, window.range, window.offset) for window in unit)


class _Cuts:
    """The cheapest cuts of all that follows a unit, from the last unit back to the first.

    A tree has no fewer edges, and costs no less, than without its first or its last unit. Of the trees that
    could begin with a unit, only those are counted that this leaves a chance.
    """

    def __init__(self, trees: WindowTrees, order: list[int]) -> None:
        self._trees = trees
        self._order = order
        self._common = trees.common_edges[np.ix_(order, order)]
        # Of trees that begin with the present unit, by their ends.
        self._least_edges = np.zeros(len(order))
        self._least_costs = np.zeros(len(order))

    def lasts(self) -> list[int]:
        """For each unit, where the tree that begins with it ends."""
        count = len(self._order)
        cheapest = np.zeros(count + 1)
        lasts = [0] * count
        for first in reversed(range(count)):
            own = self._trees.edge_rate(Members({self._order[first]}))
            new_edges = own - np.cumsum(self._common[first, first + 1 :])
            self._least_edges[first] = own
            self._least_edges[first + 1 :] += np.maximum(0, new_edges)
            cheapest[first], lasts[first] = self._cheapest_tree(first, cheapest[first + 1 :])
        return lasts

    def _cheapest_tree(self, first: int, after: Floats) -> tuple[float, int]:
        """The cost from the first unit on, and where its tree ends; `after` is what follows each end."""
        at_least = self._least_costs[first:] + after
        bounded = np.zeros(len(after), dtype=np.bool_)
        counted = np.zeros(len(after), dtype=np.bool_)
        while not counted[length := int(np.argmin(at_least))]:
            end = first + length
            tree = Members(self._order[first : end + 1])
            if bounded[length]:
                counted[length] = True
                _raise(self._least_edges[end:], self._trees.edge_rate(tree))
                at_least[length] = self._trees.cost(tree) + after[length]
            else:
                bounded[length] = True
            least = self._trees.cost_at_least(tree, float(self._least_edges[end]))
            _raise(self._least_costs[end:], least)
            np.maximum(at_least, self._least_costs[first:] + after, out=at_least, where=~counted)
        return float(at_least[length]), first + length


def _raise(bounds: Floats, bound: float) -> None:
    np.maximum(bounds, bound, out=bounds)
