"""Balance: which node runs what, so that the dearest node has as little to do as can be."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from optimizer.cost import FamilyCosts
from optimizer.edges import edge_rate
from optimizer.edges.classes import EdgeClass
from optimizer.group_costs import group_costs
from optimizer.queries import Query
from optimizer.search.partition import NOTHING, Windows, atoms_of, classes_of
from optimizer.weaving import families
from optimizer.windows import Window
from optimizer.workload import Group, Workload

EVALUATIONS = 5_000  # tree costs that evening out may ask for
FEW_NODES = 4  # the least loaded ones, to whose trees anything may move


def spread(groups: Sequence[Group], workload: Workload) -> list[Group]:
    """The groups on nodes as they are, dearest first, each where it ends earliest."""
    if len(workload.nodes) == 1:
        return list(groups)
    costs = [cost.total for cost in group_costs(groups, workload.statistics)]
    loads = [0.0] * len(workload.nodes)
    placed = list(groups)
    for position in sorted(range(len(groups)), key=lambda position: (-costs[position], position)):
        ends = [(load + costs[position]) / able for load, able in zip(loads, workload.nodes, strict=True)]
        node = ends.index(min(ends))
        loads[node] += costs[position]
        placed[position] = replace(groups[position], node=node)
    return placed


def evened(groups: Sequence[Group], workload: Workload) -> list[Group]:
    """The groups with windows moved off the dearest node for as long as that makes it cheaper."""
    return _Nodes(groups, workload).evened()


@dataclass(frozen=True)
class _Tree:
    """Windows of one family on one node."""

    node: int
    family: int
    windows: Windows


class _Nodes:
    """Trees on nodes. Queries with the same window go together: the second adds nothing to a tree."""

    def __init__(self, groups: Sequence[Group], workload: Workload) -> None:
        self._workload = workload
        self._families = families(workload.queries)
        self._costs = [FamilyCosts(family, workload.statistics) for family in self._families]
        self._known: dict[tuple[int, Windows], float] = {}
        self._edge_rates: dict[frozenset[EdgeClass], float] = {}
        self._trees = list(self._without_repeats(groups))

    def evened(self) -> list[Group]:
        while len(self._known) < EVALUATIONS:
            change = min(self._changes(), key=lambda change: change[:2], default=None)
            if change is None:
                break
            _, _, gone, new = change
            self._trees = [tree for tree in self._trees if tree not in gone] + new
        return self._groups()

    def _without_repeats(self, groups: Sequence[Group]) -> Iterator[_Tree]:
        family_of = {query.id: place for place, family in enumerate(self._families) for query in family}
        seen: set[tuple[int, Window]] = set()
        for group in groups:
            family = family_of[group.queries[0].id]
            windows = frozenset(window for window in group.windows if (family, window) not in seen)
            seen.update((family, window) for window in windows)
            if windows:
                yield _Tree(group.node, family, windows)

    def _changes(self) -> Iterator[tuple[float, float, list[_Tree], list[_Tree]]]:
        """Changes of the dearest node after which it and the other node are both cheaper than it is now."""
        loads = self._loads()
        dearest = max(range(len(loads)), key=lambda node: loads[node])
        enough = loads[dearest] * (1 - NOTHING)
        ranked = sorted((node for node in range(len(loads)) if node != dearest), key=lambda node: loads[node])
        for gone, new in [*self._merges(dearest), *self._moves(dearest, ranked)]:
            change = self._load_changes(gone, new)
            after = max(loads[node] + more for node, more in change.items())
            if after < enough and loads[dearest] + change.get(dearest, 0.0) < enough:
                yield after, sum(change.values()), gone, new

    def _merges(self, node: int) -> Iterator[tuple[list[_Tree], list[_Tree]]]:
        for one, other in combinations([tree for tree in self._trees if tree.node == node], 2):
            if one.family == other.family:
                yield [one, other], [_Tree(node, one.family, one.windows | other.windows)]

    def _moves(self, node: int, ranked: list[int]) -> Iterator[tuple[list[_Tree], list[_Tree]]]:
        for tree in [tree for tree in self._trees if tree.node == node]:
            for piece in self._pieces(tree):
                left = tree.windows - piece
                kept = [replace(tree, windows=left)] if left else []
                for target in ranked[:1]:
                    yield [tree], [*kept, _Tree(target, tree.family, piece)]
                for other in self._joinable(tree, piece, ranked):
                    yield [tree, other], [*kept, replace(other, windows=other.windows | piece)]

    def _pieces(self, tree: _Tree) -> Iterator[Windows]:
        """The whole tree, windows with the same edges together, and each window."""
        atoms = atoms_of(tree.windows)
        pieces = [tree.windows, *atoms, *(frozenset({window}) for window in tree.windows)]
        return iter(dict.fromkeys(sorted(pieces, key=sorted)))

    def _joinable(self, tree: _Tree, piece: Windows, ranked: list[int]) -> Iterator[_Tree]:
        """Trees of the least loaded nodes, and those elsewhere that have the piece's edges already."""
        near, edges = set(ranked[:FEW_NODES]), classes_of(piece)
        for other in self._trees:
            if other.family != tree.family or other.node == tree.node:
                continue
            if other.node in near or edges <= classes_of(other.windows):
                yield other

    def _load_changes(self, gone: list[_Tree], new: list[_Tree]) -> dict[int, float]:
        change: defaultdict[int, float] = defaultdict(float)
        for sign, trees in ((-1, gone), (1, new)):
            for tree in trees:
                change[tree.node] += sign * self._cost(tree) / self._workload.nodes[tree.node]
        return change

    def _loads(self) -> list[float]:
        loads = [0.0] * len(self._workload.nodes)
        for tree in self._trees:
            loads[tree.node] += self._cost(tree) / self._workload.nodes[tree.node]
        return loads

    def _cost(self, tree: _Tree) -> float:
        key = tree.family, tree.windows
        if key not in self._known:
            classes = classes_of(tree.windows)
            if classes not in self._edge_rates:
                self._edge_rates[classes] = edge_rate(classes)
            cost = self._costs[tree.family].tree_at(tree.windows, self._edge_rates[classes])
            self._known[key] = cost.total
        return self._known[key]

    def _groups(self) -> list[Group]:
        asked: defaultdict[tuple[int, Window], list[Query]] = defaultdict(list)
        for place, family in enumerate(self._families):
            for query in family:
                asked[place, query.window].append(query)
        return [
            Group.of((query for window in tree.windows for query in asked[tree.family, window]), tree.node)
            for tree in self._trees
        ]
