"""Partition: the windows of one family gathered into trees, exactly where they are few, else by local search.

Windows with the same edges move together: a tree that holds one of them cuts all the slices the others need.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from optimizer.cost import FamilyCosts
from optimizer.edges import edge_rate
from optimizer.edges.classes import EdgeClass
from optimizer.windows import Window

Windows = frozenset[Window]
Tree = frozenset[int]  # the atoms of a tree, by their place in the list of atoms

FEW_WINDOWS = 12  # up to here all partitions are weighed, by dynamic programming over 3ⁿ pairs of sets
FEW_ATOMS = 6  # two trees of together so many atoms are taken apart and put together in the best way
EVALUATIONS = 10_000  # tree costs that a local search may ask for
FEW_CLASSES = 50  # edges of more classes take longer to count: fewer are
STARTS_TO_IMPROVE = 2
NOTHING = 1e-9  # relative gains below this are rounding


def best_partition(
    windows: Collection[Window], costs: FamilyCosts, starts: Iterable[Iterable[Windows]]
) -> list[Windows]:
    """The cheapest way found to gather windows into trees; the cheapest there is for few of them.

    `starts` are partitions to improve on where there are too many to weigh them all.
    """
    if len(windows) <= FEW_WINDOWS:
        return optimal_partition([frozenset({window}) for window in sorted(windows)], costs)
    atoms = Atoms(atoms_of(windows), costs)
    ranked = sorted((atoms.gathered(start) for start in starts), key=atoms.total)
    improved = [_Search(atoms, start).improved() for start in ranked[:STARTS_TO_IMPROVE]]
    return [atoms.windows(tree) for tree in min(improved, key=atoms.total)]


def optimal_partition(parts: Sequence[Windows], costs: FamilyCosts) -> list[Windows]:
    """The cheapest of all partitions of these parts, each of which stays whole."""
    atoms = Atoms(parts, costs)
    return [atoms.windows(tree) for tree in atoms.optimal(range(len(parts)))]


@lru_cache(maxsize=1 << 15)  # a search looks at the same trees again and again
def classes_of(windows: Windows) -> frozenset[EdgeClass]:
    """The classes of instants at which slices that serve these windows end."""
    return frozenset[EdgeClass]().union(*(window.edge_classes for window in windows))


def atoms_of(windows: Iterable[Window]) -> list[Windows]:
    """Windows with the same edges, together."""
    gathered: defaultdict[frozenset[EdgeClass], set[Window]] = defaultdict(set)
    for window in sorted(windows):
        gathered[window.edge_classes].add(window)
    return [frozenset(members) for members in gathered.values()]


class Atoms:
    """Sets of windows that stay together, and what trees of them cost; each tree is costed once."""

    def __init__(self, atoms: Sequence[Windows], costs: FamilyCosts) -> None:
        self._atoms = atoms
        self._costs = costs
        self._classes = [classes_of(atom) for atom in atoms]
        self.class_count = len(frozenset[EdgeClass]().union(*self._classes))
        self._known: dict[Tree, float] = {frozenset(): 0.0}
        self.asked = 0

    def windows(self, tree: Iterable[int]) -> Windows:
        return frozenset[Window]().union(*(self._atoms[atom] for atom in tree))

    def cost(self, tree: Tree) -> float:
        if tree not in self._known:
            self.asked += 1
            edges = edge_rate(frozenset[EdgeClass]().union(*(self._classes[atom] for atom in tree)))
            self._known[tree] = self._costs.tree_at(self.windows(tree), edges).total
        return self._known[tree]

    def total(self, trees: Iterable[Tree]) -> float:
        return sum(map(self.cost, trees))

    def gathered(self, start: Iterable[Windows]) -> list[Tree]:
        """A partition of windows as one of atoms: each goes where most of its windows are."""
        trees = list(start)
        homes: defaultdict[int, set[int]] = defaultdict(set)
        for number, atom in enumerate(self._atoms):
            homes[max(range(len(trees)), key=lambda place: len(trees[place] & atom))].add(number)
        return [frozenset(members) for members in homes.values()]

    def optimal(self, members: Sequence[int]) -> list[Tree]:
        """The partition of some atoms that costs least, of all there are."""
        unions: list[Tree] = [frozenset()]
        for atom in members:
            unions += [union | {atom} for union in unions]
        costs = [self.cost(union) for union in unions]
        cheapest, first_part = list(costs), list(range(len(costs)))
        for chosen in range(1, len(costs)):
            highest = 1 << (chosen.bit_length() - 1)  # its part comes first, so that no order counts twice
            rest = others = chosen ^ highest
            while others:
                others = (others - 1) & rest
                apart = costs[others | highest] + cheapest[rest ^ others]
                if apart < cheapest[chosen]:
                    cheapest[chosen], first_part[chosen] = apart, others | highest
        parts, left = [], len(costs) - 1
        while left:
            parts.append(unions[first_part[left]])
            left ^= first_part[left]
        return parts


class _Search:
    """A partition that improves by moving atoms, merging trees, and repartitioning small pairs of them."""

    def __init__(self, atoms: Atoms, start: Sequence[Tree]) -> None:
        self._trees = list(start)
        self._atoms = atoms
        self._cost = atoms.cost
        self._until = atoms.asked + EVALUATIONS * FEW_CLASSES**2 // max(FEW_CLASSES, atoms.class_count) ** 2
        self._settled: set[Tree] = set()  # pairs of trees that were put together in the best way

    def improved(self) -> list[Tree]:
        while self._moved_some() or self._merged_two() or self._repartitioned_two():
            pass
        return self._trees

    @property
    def _may_go_on(self) -> bool:
        return self._atoms.asked < self._until

    def _moved_some(self) -> bool:
        moved = False
        for atom in sorted(atom for tree in self._trees for atom in tree):
            if self._may_go_on:
                moved |= self._moved(atom)
        return moved

    def _moved(self, atom: int) -> bool:
        home = next(tree for tree in self._trees if atom in tree)
        left = home - {atom}
        gained = self._cost(home) - self._cost(left)
        others = [tree for tree in self._trees if tree is not home]
        added = {tree: self._cost(tree | {atom}) - self._cost(tree) for tree in [*others, frozenset[int]()]}
        target = min(added, key=lambda tree: added[tree])
        if gained - added[target] <= NOTHING * gained:
            return False
        kept = [tree for tree in others if tree is not target]
        self._trees = [*kept, *([left] if left else []), target | {atom}]
        return True

    def _merged_two(self) -> bool:
        best, pair = 0.0, None
        for one, other in combinations(self._trees, 2):
            if not self._may_go_on:
                break
            apart = self._cost(one) + self._cost(other)
            saved = apart - self._cost(one | other)
            if saved > max(best, NOTHING * apart):
                best, pair = saved, (one, other)
        if pair is None:
            return False
        self._trees = [tree for tree in self._trees if tree not in pair] + [pair[0] | pair[1]]
        return True

    def _repartitioned_two(self) -> bool:
        for one, other in combinations([*self._trees, frozenset[int]()], 2):
            if len(one | other) > FEW_ATOMS or one | other in self._settled or not self._may_go_on:
                continue
            self._settled.add(one | other)
            before = self._cost(one) + self._cost(other)
            parts = self._atoms.optimal(sorted(one | other))
            if before - self._atoms.total(parts) > NOTHING * before:
                self._trees = [tree for tree in self._trees if tree not in (one, other)] + parts
                return True
        return False
