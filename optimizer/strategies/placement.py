"""Placement: the nodes with the trees they hold so far, and what a tree would cost with another woven in."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from optimizer.aggregates import joint_carrier
from optimizer.cost import FamilyCosts, Statistics
from optimizer.edges import edge_rate
from optimizer.edges.classes import EdgeClass, without_contained
from optimizer.queries import Query
from optimizer.weaving import FamilyKey, families, joint_key
from optimizer.windows import Window
from optimizer.workload import Group, Workload


@dataclass(frozen=True, eq=False)
class Woven:
    """Queries that are to be one tree, and what that tree costs."""

    queries: tuple[Query, ...]
    family: int  # trees of one family can be woven
    key: FamilyKey
    aggregates: frozenset[str]
    windows: frozenset[Window]
    edge_classes: frozenset[EdgeClass]  # without those that another contains
    edge_rate: float
    cost: float


class Loom:
    """Weaves trees. Edge rates are remembered: many sets of windows have few sets of slides between them."""

    def __init__(self, queries: Iterable[Query], statistics: Statistics) -> None:
        self._families = {q.id: number for number, family in enumerate(families(queries)) for q in family}
        self._statistics = statistics
        self._costs: dict[tuple[FamilyKey, frozenset[str]], FamilyCosts] = {}
        self._edge_rates: dict[tuple[frozenset[EdgeClass], frozenset[EdgeClass]], float] = {}

    def tree_of(self, queries: Iterable[Query]) -> Woven:
        members = tuple(queries)
        key = joint_key(members)
        windows = frozenset(query.window for query in members)
        classes = frozenset(without_contained(edge for window in windows for edge in window.edge_classes))
        rate = edge_rate(classes)
        aggregates = frozenset(query.aggregate for query in members)
        cost = self._costs_of(key, aggregates, members).tree_at(windows, rate).total
        return Woven(members, self.family_of(members[0]), key, aggregates, windows, classes, rate, cost)

    def family_of(self, query: Query) -> int:
        return self._families[query.id]

    def woven(self, tree: Woven, added: Woven) -> Woven:
        """The two as one tree."""
        queries = tree.queries + added.queries
        key, aggregates = _joint(tree.key, added.key), tree.aggregates | added.aggregates
        classes = tree.edge_classes
        if not added.edge_classes <= classes:
            classes = frozenset(without_contained(classes | added.edge_classes))
        rate, cost = self._edge_rate(tree, added), self.cost(tree, added)
        windows = tree.windows | added.windows
        return Woven(queries, tree.family, key, aggregates, windows, classes, rate, cost)

    def cost(self, tree: Woven, added: Woven) -> float:
        """What the two cost as one tree."""
        key = _joint(tree.key, added.key)
        aggregates = tree.aggregates | added.aggregates
        if key == tree.key and aggregates == tree.aggregates and added.windows <= tree.windows:
            return tree.cost
        known = self._costs.get((key, aggregates))
        costs = known or self._costs_of(key, aggregates, tree.queries + added.queries)
        return costs.tree_at(tree.windows | added.windows, self._edge_rate(tree, added)).total

    def _costs_of(
        self, key: FamilyKey, aggregates: frozenset[str], queries: tuple[Query, ...]
    ) -> FamilyCosts:
        kind = key, aggregates  # any queries of a kind will do: all allow the same kernels
        if kind not in self._costs:
            self._costs[kind] = FamilyCosts(queries, self._statistics, key=key)
        return self._costs[kind]

    def _edge_rate(self, tree: Woven, added: Woven) -> float:
        if added.edge_classes <= tree.edge_classes:
            return tree.edge_rate
        pair = tree.edge_classes, added.edge_classes
        if pair not in self._edge_rates:
            self._edge_rates[pair] = edge_rate(tree.edge_classes | added.edge_classes)
        return self._edge_rates[pair]


@lru_cache(maxsize=1 << 10)
def _joint(one: FamilyKey, other: FamilyKey) -> FamilyKey:
    """The key of two trees of one family as one: their partials may differ, one holding the other's."""
    return one._replace(family=joint_carrier({one.family, other.family}) or one.family)


class Placement:
    """What each node holds. Nodes are compared by load: what their trees cost for what the node can do."""

    def __init__(self, workload: Workload) -> None:
        self.loom = Loom(workload.queries, workload.statistics)
        self.nodes = range(len(workload.nodes))
        self.trees: list[list[Woven]] = [[] for _ in self.nodes]
        self._capacities = workload.nodes
        self._costs = [0.0 for _ in self.nodes]

    def load(self, node: int, added_cost: float = 0.0) -> float:
        return (self._costs[node] + added_cost) / self._capacities[node]

    def lowest(self, nodes: Iterable[int] | None = None) -> int:
        """The node with the least load; the ablest of several, then the first."""
        among = self.nodes if nodes is None else nodes
        return min(among, key=lambda node: (self.load(node), -self._capacities[node], node))

    def add(self, tree: Woven, node: int) -> None:
        self.trees[node].append(tree)
        self._costs[node] += tree.cost

    def weave(self, tree: Woven, node: int, position: int) -> None:
        """The tree becomes part of the one that is there in this position."""
        old = self.trees[node][position]
        new = self.trees[node][position] = self.loom.woven(old, tree)
        self._costs[node] += new.cost - old.cost

    def weavable(self, tree: Woven, node: int) -> list[int]:
        """The positions of the node's trees that this one could become part of."""
        return [position for position, other in enumerate(self.trees[node]) if other.family == tree.family]

    def added_cost(self, tree: Woven, node: int, position: int) -> float:
        """What the node would cost more with the tree woven into the one in this position."""
        old = self.trees[node][position]
        return self.loom.cost(old, tree) - old.cost

    def groups(self) -> list[Group]:
        return [Group.of(tree.queries, node) for node in self.nodes for tree in self.trees[node]]


def starting_trees(workload: Workload, loom: Loom) -> list[Woven]:
    """What is placed as one: each query, or on demand all queries of a family with the same slide."""
    if not workload.same_slides_together:
        return [loom.tree_of([query]) for query in workload.queries]
    together: defaultdict[tuple[int, frozenset[EdgeClass]], list[Query]] = defaultdict(list)
    for query in workload.queries:
        # Identical slides weave perfectly only where fragments agree too, that is where all edges do.
        together[loom.family_of(query), query.window.edge_classes].append(query)
    return [loom.tree_of(queries) for queries in together.values()]


Put = Callable[[Placement, Woven, int], None]  # how a tree comes to a node that was chosen for it


def apart(placement: Placement, tree: Woven, node: int) -> None:
    """Group only: a tree stays a tree."""
    placement.add(tree, node)


def into_the_one_tree(placement: Placement, tree: Woven, node: int) -> None:
    """Weave only: the node has one tree of each family."""
    for position in placement.weavable(tree, node):
        placement.weave(tree, node, position)
        return
    placement.add(tree, node)
