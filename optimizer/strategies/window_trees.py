"""Window trees: what a strategy that partitions windows works on, one family of queries at a time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from optimizer.cost import FamilyCosts, TreeCost
from optimizer.durations import UNITS_MS
from optimizer.edges.classes import EdgeClass
from optimizer.queries import Query
from optimizer.strategies.weave_share import starting_trees
from optimizer.weaving import families
from optimizer.windows import Window
from optimizer.workload import Group, Workload

Windows = frozenset[Window]
Members = frozenset[int]  # the units of one tree, by number

ROUNDING = 1e-12  # of a cost or a rate: what is nearer than this is no difference


class WindowTrees:
    """The trees that one family's windows could form, and what each costs; a tree's edges are counted once.

    `units` are what is placed as one. Queries with the same window are one unit, for the second of them adds
    nothing to a tree; on demand all windows with the same slide are. Counting edges takes most of the time,
    so there are bounds that do without: a merged tree has the edges of both, less at most what their units
    have in common pair by pair.
    """

    def __init__(self, family: Sequence[Query], workload: Workload) -> None:
        self._queries: defaultdict[Window, list[Query]] = defaultdict(list)
        for query in family:
            self._queries[query.window].append(query)
        starts = starting_trees(sorted(self._queries), workload.same_slides_together)
        self.units = [frozenset(windows) for windows in starts]
        self.costs = FamilyCosts(family, workload.statistics)
        self.may_share = any(kernel.many for kernel in self.costs.kernels)
        self._known: dict[Members, tuple[TreeCost, Windows]] = {}
        self._bounds: dict[tuple[Members, Members], float] = {}
        self._common_rows: dict[int, list[float]] = {}

    def cost(self, tree: Members) -> float:
        return self._counted(tree)[0].total if tree else 0.0

    def cost_at(self, tree: Iterable[int], edge_rate: float) -> float:
        """What a tree would cost with so many edges."""
        return self.costs.tree_at(self.windows(tree), edge_rate).total

    def cost_at_least(self, tree: Iterable[int], edge_rate: float) -> float:
        """What no tree undercuts that has these units or more, and so many edges or more."""
        return self.costs.at_least(self.windows(tree), edge_rate)

    def edge_rate(self, tree: Members) -> float:
        return self._counted(tree)[0].edge_rate

    def windows(self, tree: Iterable[int]) -> Windows:
        return Windows().union(*(self.units[unit] for unit in tree))

    def merged_cost_at_least(self, one: Members, other: Members) -> float:
        if (one, other) not in self._bounds:
            self._bounds[one, other] = self._bound(one, other)
        return self._bounds[one, other]

    def _bound(self, one: Members, other: Members) -> float:
        (cost, windows), (other_cost, other_windows) = self._counted(one), self._counted(other)
        common = sum(sum(map(self._common_of(unit).__getitem__, one)) for unit in other)
        # Rounded down: a sum that is too large by its last digit may lengthen a window by a whole partial.
        together = (cost.edge_rate + other_cost.edge_rate - common) * (1 - ROUNDING)
        edges = max(cost.edge_rate, other_cost.edge_rate, together)
        return self.costs.at_least(windows | other_windows, edges)

    def saves(self, one: Members, other: Members) -> bool:
        """Whether the two are cheaper as one tree."""
        apart = (self.cost(one) + self.cost(other)) * (1 - ROUNDING)
        return self.merged_cost_at_least(one, other) < apart and self.cost(one | other) < apart

    def freed_at_most(self, tree: Members, unit: int) -> float:
        """What a tree's cost can fall by when one of its units leaves."""
        rest = tree - {unit}
        if not rest:
            return self.cost(tree)
        own_edges = self.edge_rate(Members({unit})) - self.common_edges[unit, list(rest)].max()
        edges = (self.edge_rate(tree) - own_edges) * (1 - ROUNDING)
        return self.cost(tree) - self.cost_at_least(rest, edges)

    def cheapest_place(
        self, unit: int, trees: Iterable[Members], below: float = float("inf")
    ) -> tuple[float, Members]:
        """What the unit adds where it adds least, and the tree that it joins there; none: a tree of its own.

        Where every place adds `below` or more, that is the answer.
        """
        alone = Members({unit})
        least, place = min(self.cost(alone), below), Members()
        bounds = [(self.merged_cost_at_least(tree, alone) - self.cost(tree), tree) for tree in trees]
        for bound, tree in sorted(bounds, key=lambda bounded: bounded[0]):
            if bound >= least:
                break
            added = self.cost(tree | alone) - self.cost(tree)
            if added < least * (1 - ROUNDING):
                least, place = added, tree
        return least, place

    @cached_property
    def common_edges(self) -> NDArray[np.float64]:
        """Edges a second that each two units have in common; those of two classes are one in lcm(periods)."""
        classes = [
            (unit, *edge_class)
            for unit, windows in enumerate(self.units)
            for edge_class in frozenset[EdgeClass]().union(*(window.edge_classes for window in windows))
        ]
        owners, periods, residues = np.array(classes).T
        shared = np.gcd.outer(periods, periods)
        meet = np.subtract.outer(residues, residues) % shared == 0
        rates = UNITS_MS["s"] / periods[:, None] * (shared / periods) * meet
        common = np.zeros((len(self.units), len(self.units)))
        np.add.at(common, np.ix_(owners, owners), rates)
        return common

    def group(self, windows: Windows) -> Group:
        return Group.of(query for window in sorted(windows) for query in self._queries[window])

    def _common_of(self, unit: int) -> list[float]:
        if unit not in self._common_rows:  # lists are read faster than rows of an array
            self._common_rows[unit] = self.common_edges[unit].tolist()
        return self._common_rows[unit]

    def _counted(self, tree: Members) -> tuple[TreeCost, Windows]:
        if tree not in self._known:
            windows = self.windows(tree)
            self._known[tree] = self.costs.tree(windows), windows
        return self._known[tree]


def partitioned(workload: Workload, partition: Callable[[WindowTrees], Iterable[Windows]]) -> list[Group]:
    """The groups of every family, each partitioned for itself."""
    groups: list[Group] = []
    for family in families(workload.queries):
        trees = WindowTrees(family, workload)
        chosen = partition(trees) if trees.may_share else trees.units
        groups += [trees.group(windows) for windows in chosen]
    return groups
