"""WeaveShare: merge, again and again, the two trees whose merging saves most (SHEIN 2.4, SAVINGS 2.4)."""

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

from optimizer.cost import FamilyCosts, Statistics, TreeCost
from optimizer.queries import Query
from optimizer.weaving import families
from optimizer.windows import Window
from optimizer.workload import Group, Workload

Windows = frozenset[Window]


def weave_share(workload: Workload) -> list[Group]:
    """Groups of queries of which no two are cheaper as one."""
    return [
        Group.of(group)
        for family in families(workload.queries)
        for group in _woven(family, workload.statistics)
    ]


def _woven(family: Sequence[Query], statistics: Statistics) -> list[list[Query]]:
    # Queries with the same window start out together: the second of them adds nothing to a tree's cost, so no
    # other merge of either could save more, and the literal algorithm would begin with theirs.
    same_window: defaultdict[Window, list[Query]] = defaultdict(list)
    for query in family:
        same_window[query.window].append(query)
    weaver = _Weaver(FamilyCosts(family, statistics))
    for window in same_window:
        weaver.add(frozenset({window}))
    weaver.merge_while_it_saves()
    return [[query for window in sorted(tree) for query in same_window[window]] for tree in weaver.trees()]


class _Weaver:
    """The trees of one family and, in a heap, what merging any two of them would save.

    Exact savings need an edge count, so pairs enter the heap with an upper bound and are counted only when
    they reach the top: the merges are those of the literal algorithm, ties going to the older trees.
    """

    def __init__(self, costs: FamilyCosts) -> None:
        self._costs = costs
        self._trees: dict[int, tuple[Windows, TreeCost]] = {}
        self._added = 0
        self._candidates: list[tuple[float, int, int, TreeCost | None]] = []

    def trees(self) -> list[Windows]:
        return [windows for windows, _ in self._trees.values()]

    def add(self, windows: Windows, cost: TreeCost | None = None) -> None:
        new = self._added
        self._added += 1
        self._trees[new] = windows, cost or self._costs.tree(windows)
        for old in self._trees:
            if old != new:
                heappush(self._candidates, (-self._most_saved(old, new), old, new, None))

    def merge_while_it_saves(self) -> None:
        while self._candidates:
            negative_saving, one, other, cost = heappop(self._candidates)
            if one not in self._trees or other not in self._trees:
                continue
            if negative_saving >= 0:
                return
            windows = self._trees[one][0] | self._trees[other][0]
            if cost is None:
                cost = self._costs.tree(windows)
                heappush(self._candidates, (-self._saved(one, other, cost), one, other, cost))
            else:
                del self._trees[one], self._trees[other]
                self.add(windows, cost)

    def _saved(self, one: int, other: int, merged: TreeCost) -> float:
        return self._trees[one][1].total + self._trees[other][1].total - merged.total

    def _most_saved(self, one: int, other: int) -> float:
        """An upper bound: a merged tree keeps all edges of both, and Ω never falls as windows are added."""
        (windows, cost), (other_windows, other_cost) = self._trees[one], self._trees[other]
        least_edges = max(cost.edge_rate, other_cost.edge_rate)
        return self._saved(one, other, self._costs.tree_at(windows | other_windows, least_edges))
