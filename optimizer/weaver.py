"""Weaver: trees merged two at a time, always the pair that saves most; the core of WeaveShare and its kin.

The literal algorithm counts the edges of every pair of trees. Here every pair has an upper bound of what it
can save, worked out for a whole row of pairs at once, and only a pair whose bound is the highest left is
counted. The merges are those of the literal algorithm, and equal savings go to the older trees.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heapreplace

import numpy as np
from numpy.typing import NDArray

from optimizer.cost import FamilyCosts
from optimizer.durations import UNITS_MS
from optimizer.edges import pattern_rate
from optimizer.edges.classes import EdgeClass, without_contained
from optimizer.kernels import fitting_kernels
from optimizer.least_seconds import LeastSeconds
from optimizer.omegas import Omegas
from optimizer.windows import Window

Windows = frozenset[Window]
Floats = NDArray[np.float64]
Trees = NDArray[np.intp]

MOST_STARTS = 1500  # pairs are held in a square table: larger sets start with equal edges together
AT_ONCE = 64  # rows of pairs that are bounded in one go
SAME_SAVING = 1e-13  # of all starting costs: savings closer than this are equal but for rounding


def weave(
    starts: Iterable[Collection[Window]],
    costs: FamilyCosts,
    *,
    at_least: int = 1,
    at_most: int | None = None,
) -> list[Windows]:
    """The starting trees merged while that saves; no two of them may have a window in common.

    Merging ends early once only `at_least` trees are left, and goes on at a loss while there are more than
    `at_most`.
    """
    trees = [frozenset(start) for start in starts]
    if not costs.may_share:
        if at_most is not None and len(trees) > at_most:
            fitting_kernels(costs.kernels, frozenset[Window]().union(*trees))  # refuses them
        return trees
    # Where Ω adds up, trees with equal edges save the whole fold as one, and all other pairs save less.
    saved = 0 if costs.unit.row else costs.unit.fold * costs.input_rate
    adds_up = costs.measured is None and Omegas.add_up(costs.kernels)
    if (saved > 0 and adds_up) or len(trees) > MOST_STARTS:
        trees = _equal_edges_merged(trees, at_least)
    weaver = _Weaver(costs, trees)
    weaver.merge(at_least, at_most)
    return weaver.trees()


def _equal_edges_merged(trees: Sequence[Windows], at_least: int) -> list[Windows]:
    """Trees with the same edges merged, in the order in which the literal algorithm comes to them."""
    known = dict(enumerate(trees))
    same_edges: defaultdict[tuple[EdgeClass, ...], list[int]] = defaultdict(list)
    for number, windows in known.items():
        same_edges[_classes_of(windows)].append(number)
    pending = [members for members in same_edges.values() if len(members) > 1]
    heapify(pending)
    for merged in range(len(trees), 2 * len(trees) - at_least):
        if not pending:
            break
        one, other, *rest = pending[0]
        known[merged] = known.pop(one) | known.pop(other)
        if rest:
            heapreplace(pending, [*rest, merged])
        else:
            heappop(pending)
    return [known[number] for number in sorted(known)]


def _classes_of(windows: Iterable[Window]) -> tuple[EdgeClass, ...]:
    return without_contained(edge_class for window in windows for edge_class in _joined(window.edge_classes))


def _joined(classes: Collection[EdgeClass]) -> Collection[EdgeClass]:
    """The classes of one window: where its spans end half a slide after they start, one of half the slide."""
    if len(classes) == 2:
        (period, one), (_, other) = classes
        if 2 * abs(one - other) == period:
            return [(period // 2, min(one, other))]
    return classes


class _Weaver:
    """Trees in order of age, and for each pair of them what merging saves: counted, or bounded from above."""

    def __init__(self, costs: FamilyCosts, starts: Sequence[Windows]) -> None:
        room = len(starts) + len(starts) // 4 + 1  # for new trees until those that went are cleared away
        self._costs = costs
        self._windows: list[Windows] = []
        self._classes: list[tuple[EdgeClass, ...]] = []
        self._omegas, self._per_work = _least_works(costs, starts, room)
        self._alive = np.zeros(room, dtype=np.bool_)
        self._single = np.zeros(room, dtype=np.bool_)  # one edge class: overlaps of two such trees are exact
        self._edges = np.zeros(room)  # E
        self._work = np.zeros(room)  # E times what the kernel costs per edge and group
        self._overlaps = np.zeros((room, room))  # edges per second that are common, at most
        self._savings = np.full((room, room), -np.inf)  # row: the older tree
        self._counted = np.zeros((room, room), dtype=np.bool_)
        self._best = np.full(room, -np.inf)  # of each row
        self._add_starts(starts)

    def _add_starts(self, starts: Sequence[Windows]) -> None:
        total = 0.0
        for tree, windows in enumerate(starts):
            classes = _classes_of(windows)
            cost = self._costs.tree_at(windows, pattern_rate(classes))
            total += cost.total
            self._omegas.add_start(tree, windows, cost.edge_rate)
            self._note(windows, classes, cost.edge_rate, cost.edge_rate * cost.per_edge)
        self._grain = SAME_SAVING * total
        number = len(starts)
        overlaps = _class_overlaps(self._classes)
        self._overlaps[:number, :number] = np.minimum(overlaps, np.minimum.outer(*[self._edges[:number]] * 2))
        for first in range(0, number, AT_ONCE):
            new, old = np.nonzero(np.tri(min(AT_ONCE, number - first), number, first - 1, dtype=np.bool_))
            self._bound(old, new + first)
        self._best = self._savings.max(axis=1)

    def trees(self) -> list[Windows]:
        return [self._windows[tree] for tree in np.flatnonzero(self._alive)]

    def merge(self, at_least: int, at_most: int | None) -> None:
        left = int(self._alive.sum())
        while left > max(1, at_least):
            one = int(self._best.argmax())
            other = int(self._savings[one].argmax())
            if self._savings[one, other] <= 0 and (at_most is None or left <= at_most):
                return
            if self._counted[one, other]:
                self._merge(one, other)
                left -= 1
            else:
                self._count(one, other)

    def _count(self, one: int, other: int) -> None:
        _, edges, work = self._as_one(one, other)
        # Whatever these trees grow into keeps at least the edges counted here.
        overlap = self._edges[one] + self._edges[other] - edges
        self._overlaps[one, other] = self._overlaps[other, one] = overlap
        saved = self._saved(overlap, self._work[one] + self._work[other] - work)
        self._counted[one, other] = True
        self._savings[one, other] = self._rounded(saved)
        self._best[one] = self._savings[one].max()

    def _as_one(self, one: int, other: int) -> tuple[tuple[EdgeClass, ...], float, float]:
        """Edge classes, E and the kernel's work of two trees as one."""
        classes = without_contained(self._classes[one] + self._classes[other])
        known = {self._classes[one]: self._edges[one], self._classes[other]: self._edges[other]}
        edges = known[classes] if classes in known else pattern_rate(classes)
        if self._omegas.exact:
            work = self._least_work(np.array([one]), np.array([other]), np.array([edges]))[0]
        else:
            windows = self._windows[one] | self._windows[other]
            work = edges * self._costs.tree_at(windows, edges).per_edge
        return classes, edges, work

    def _merge(self, one: int, other: int) -> None:
        self._remove(np.array([one, other]))
        windows = self._windows[one] | self._windows[other]
        classes, edges, work = self._as_one(one, other)
        overlaps = self._overlaps_as_one(one, other, edges)
        if len(self._windows) == len(self._alive):
            one, other, overlaps = self._clear(one, other, overlaps)
        self._omegas.add_merged(len(self._windows), one, other, windows, edges)
        self._add(windows, classes, edges, work, overlaps[: len(self._windows)])

    def _remove(self, gone: Trees) -> None:
        self._alive[gone] = False
        self._best[gone] = -np.inf
        left = np.flatnonzero(self._alive)
        without_best = left[self._savings[np.ix_(left, gone)].max(axis=1) >= self._best[left]]
        self._savings[:, gone] = -np.inf
        self._best[without_best] = self._savings[without_best].max(axis=1)

    def _overlaps_as_one(self, one: int, other: int, edges: float) -> Floats:
        """What both have in common with other trees, at most: no pair has fewer edges than a part of it."""
        of_one, of_other = self._overlaps[one], self._overlaps[other]
        left_by_one = edges - self._edges[one] + of_one
        left_by_other = edges - self._edges[other] + of_other
        return np.minimum(of_one + of_other, np.minimum(left_by_one, left_by_other))

    def _clear(self, one: int, other: int, overlaps: Floats) -> tuple[int, int, Floats]:
        """Makes room: the trees that are left move up in order of age, then the two that are being merged."""
        left = np.flatnonzero(self._alive)
        kept = np.array([*left, one, other])
        self._windows = [self._windows[tree] for tree in left]
        self._classes = [self._classes[tree] for tree in left]
        for of_trees in (self._single, self._edges, self._work):
            of_trees[: len(left)] = of_trees[left]
        self._omegas.keep(kept)
        for of_pairs in (self._overlaps, self._savings, self._counted):
            of_pairs[: len(left), : len(left)] = of_pairs[np.ix_(left, left)]
        self._savings[:, len(left) :] = -np.inf
        self._best = self._savings.max(axis=1)
        self._alive[: len(left)], self._alive[len(left) :] = True, False
        return len(left), len(left) + 1, overlaps[left]

    def _add(
        self, windows: Windows, classes: tuple[EdgeClass, ...], edges: float, work: float, overlaps: Floats
    ) -> None:
        new = len(self._windows)
        self._note(windows, classes, edges, work)
        overlaps = np.minimum(overlaps, np.minimum(self._edges[:new], edges))
        self._overlaps[new, :new] = overlaps
        self._overlaps[:new, new] = overlaps
        old = np.flatnonzero(self._alive[:new])
        self._best[old] = np.maximum(self._best[old], self._bound(old, np.full(len(old), new)))

    def _note(self, windows: Windows, classes: tuple[EdgeClass, ...], edges: float, work: float) -> None:
        new = len(self._windows)
        self._windows.append(windows)
        self._classes.append(classes)
        self._alive[new] = True
        self._single[new] = len(classes) == 1
        self._edges[new] = edges
        self._work[new] = work

    def _bound(self, old: Trees, new: Trees) -> Floats:
        """What pairs of trees can save at most; exact where no edges remain to be counted."""
        overlaps = self._overlaps[old, new]
        least_edges = self._edges[old] + self._edges[new] - overlaps
        least_work = self._least_work(old, new, least_edges)
        savings = self._saved(overlaps, self._work[old] + self._work[new] - least_work)
        counted = self._single[old] & self._single[new] & self._omegas.exact
        savings = np.where(counted, self._rounded(savings), savings + self._grain)
        self._counted[old, new] = counted
        self._savings[old, new] = savings
        return savings

    def _least_work(self, trees: Trees, others: Trees, edges: Floats) -> Floats:
        return self._omegas.work(trees, others, edges) * self._per_work

    def _saved(self, edges: Floats, work: Floats) -> Floats:
        """What a merge saves that takes off so many edges, and so much of the kernel's work, per second."""
        costs = self._costs
        return costs.unit.fold * costs.input_rate + costs.groups * (costs.unit.row * edges + work)

    def _rounded(self, saving: Floats) -> Floats:
        """Savings that are equal but for the order in which floats were added come out equal."""
        return np.rint(saving / self._grain) * self._grain if self._grain else saving


def _least_works(
    costs: FamilyCosts, starts: Sequence[Windows], room: int
) -> tuple[Omegas | LeastSeconds, float]:
    """What tells the least work of pairs of trees, and what one of its units costs."""
    if costs.measured is not None:
        return LeastSeconds(costs.measured, room), costs.width
    sharing = [kernel for kernel in costs.kernels if kernel.many]
    return Omegas(sharing, starts, room), costs.width * costs.unit.step


def _class_overlaps(of_trees: Sequence[Sequence[EdgeClass]]) -> Floats:
    """How many edges per second the classes of each tree have in common with those of each other, summed."""
    classes = np.array([edge_class for of_tree in of_trees for edge_class in of_tree], dtype=np.int64)
    periods, residues = classes.reshape(-1, 2).T
    starts = np.cumsum([0, *map(len, of_trees)])[:-1]  # where the classes of each tree begin
    overlaps = np.zeros((len(of_trees), len(of_trees)))
    for tree, of_tree in enumerate(of_trees):
        for period, residue in of_tree:
            shared = np.gcd(periods, period)
            meet = (residues - residue) % shared == 0
            common = np.where(meet, shared / periods * (UNITS_MS["s"] / period), 0.0)
            overlaps[tree] += common if len(starts) == len(periods) else np.add.reduceat(common, starts)
    return overlaps
