"""Plan edits: the trees of a running plan while queries come and go.

A tree that no edit touches stays the same object. Trees that are made of each other (linked ones) are costed
together, and keep the slices that the others need when the queries that asked for them go.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from optimizer.aggregates import AGGREGATES, joint_carrier
from optimizer.cost import FamilyCosts, Statistics, TreeCost, tree_cost
from optimizer.edges.classes import contains
from optimizer.group_costs import group_costs
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.strategies.weave_share import weave_share
from optimizer.weaving import family_key, joint_key
from optimizer.workload import Group, Workload

MOST_COUNTED = 20  # trees whose edges are counted with a new query; among more, those most likely to suit


class OtherPartials(Exception):
    """An edit that would change the partials of a tree that others are made of, or that is made of others."""


def as_groups(trees: Sequence[Tree]) -> list[Group]:
    """Trees as the groups that they were made of."""
    position = {tree.id: number for number, tree in enumerate(trees)}
    return [
        Group(
            tree.queries,
            tree.key,
            tree.node,
            None if tree.fed_by is None else position[tree.fed_by],
            tree.through,
            tree.added_windows,
        )
        for tree in trees
    ]


class PlanEdit:
    def __init__(self, plan: Plan, statistics: Statistics) -> None:
        self._running = plan
        self._statistics = statistics
        self._trees = {tree.id: tree for tree in plan.trees}
        self._tree_ids = {query.id: tree.id for tree in plan.trees for query in tree.queries}
        self._emptied: dict[str, Tree] = {}  # by the id of the query that left it last
        self._next_tree = max([plan.next_tree, *(int(tree.id) + 1 for tree in plan.trees)])
        feeding = {tree.fed_by for tree in plan.trees}
        self._linked = {tree.id for tree in plan.trees if tree.fed_by is not None or tree.id in feeding}

    def plan(self, version: int) -> Plan:
        trees = tuple(sorted(self._trees.values(), key=lambda tree: int(tree.id)))
        return replace(self._running, version=version, trees=trees, next_tree=self._next_tree)

    def rename(self, query: Query) -> None:
        tree = self._trees[self._tree_ids[query.id]]
        members = tuple(query if member.id == query.id else member for member in tree.queries)
        self._trees[tree.id] = replace(tree, queries=members)

    def remove(self, query: Query) -> None:
        tree = self._trees[self._tree_ids.pop(query.id)]
        others = [member for member in tree.queries if member.id != query.id]
        if tree.id in self._linked:
            self._remove_from_linked(tree, query, others)
        elif not others:
            self._emptied[query.id] = self._trees.pop(tree.id)
        else:
            costs = FamilyCosts(others, self._statistics)
            windows = {member.window for member in others}
            cost = costs.tree_at(windows, tree.edge_rate) if query.window in windows else costs.tree(windows)
            if self._are_cheaper_apart(others, cost.total):
                self._weave([tree], others)
            else:
                self._go_on(tree, others, cost)

    def add(self, query: Query) -> None:
        alone = tree_cost([query], self._statistics)
        added, joined = self._cheapest_to_join(query, alone)
        feeding, fed_cost = self._cheapest_feed(query)
        answering = self._linked_tree_that_answers(query)
        if answering is not None and added > 0:
            self._put(replace(answering, queries=_inserted(answering, query)))
            self._cost_linked(self._linked_with(answering))
        elif feeding is not None and fed_cost is not None and fed_cost.total < added:
            fed = _tree(self._new_id(), [query], fed_cost, feeding.node)
            self._put(replace(fed, fed_by=feeding.id))
            self._linked.add(fed.id)
            self._cost_linked(self._linked_with(feeding))
        elif joined is not None:
            self._go_on(joined[0], _inserted(joined[0], query), joined[1])
        else:
            self._add_tree(query, alone)

    def _cheapest_to_join(self, query: Query, alone: TreeCost) -> tuple[float, tuple[Tree, TreeCost] | None]:
        """What the query adds where it adds least, and the tree to join; None where it is cheaper alone."""
        least, place = alone.total, None
        for least_added, tree, costs, cost_now in self._candidates(query, alone)[:MOST_COUNTED]:
            if least_added >= least:
                break
            cost = costs.tree({query.window, *(member.window for member in tree.queries)})
            if cost.total - cost_now < least:
                least, place = cost.total - cost_now, (tree, cost)
        return least, place

    def _candidates(self, query: Query, alone: TreeCost) -> list[tuple[float, Tree, FamilyCosts, float]]:
        """Trees to join, by the least that the query can add: no edge goes, nor does Ω fall."""
        found = []
        for trees, now, joined in self._alike(query):
            for tree in trees:
                windows = {member.window for member in tree.queries}
                cost_now = now.tree_at(windows, tree.edge_rate).total
                edges = tree.edge_rate
                if query.window not in windows:
                    windows.add(query.window)
                    edges = max(edges, alone.edge_rate)
                found.append((joined.tree_at(windows, edges).total - cost_now, tree, joined, cost_now))
        return sorted(found, key=lambda candidate: (candidate[0], int(candidate[1].id)))

    def _alike(self, query: Query) -> Iterator[tuple[list[Tree], FamilyCosts, FamilyCosts]]:
        """Trees that the query may join, gathered by their aggregates, with costs without it and with it."""
        by_aggregates: defaultdict[frozenset[str], list[Tree]] = defaultdict(list)
        for tree in self._trees.values():
            if tree.id not in self._linked and _reads_alike(query, tree.queries[0]):
                by_aggregates[frozenset(member.aggregate for member in tree.queries)].append(tree)
        for aggregates, trees in by_aggregates.items():
            own, theirs = (
                AGGREGATES[query.aggregate].carrier,
                {AGGREGATES[name].carrier for name in aggregates},
            )
            if joint_carrier({own, *theirs}) not in {own, joint_carrier(theirs)}:
                continue  # neither holds what the other needs
            members = list({member.aggregate: member for member in trees[0].queries}.values())
            yield (
                trees,
                FamilyCosts(members, self._statistics),
                FamilyCosts([*members, query], self._statistics),
            )

    def _linked_tree_that_answers(self, query: Query) -> Tree | None:
        """A linked tree that keeps this query's partials and answers its window for others already."""
        for tree_id in sorted(self._linked, key=int):
            tree = self._trees[tree_id]
            if tree.key == family_key(query) and any(m.window == query.window for m in tree.queries):
                return tree
        return None

    def _cheapest_feed(self, query: Query) -> tuple[Tree | None, TreeCost | None]:
        """The linked tree whose slices the query could be made of at least cost, and that cost."""
        key, edges = family_key(query), query.window.edge_classes
        found: list[tuple[TreeCost, Tree]] = []
        for tree_id in self._linked:
            tree = self._trees[tree_id]
            if tree.key == key and tree.through is None:
                slices = tree.edge_classes
                if all(any(contains(outer, inner) for outer in slices) for inner in edges):
                    partials = tree.edge_rate * self._statistics.groups_in(key)
                    costs = FamilyCosts([query], self._statistics, input_rate=partials)
                    found.append((costs.tree({query.window}), tree))
        if not found:
            return None, None
        cost, tree = min(found, key=lambda option: (option[0].total, int(option[1].id)))
        return tree, cost

    def _remove_from_linked(self, tree: Tree, query: Query, others: Sequence[Query]) -> None:
        if others and joint_key(others) != tree.key:
            raise OtherPartials
        linked = self._linked_with(tree)
        if others or self._fed_from(tree):
            kept = set(tree.added_windows)
            if self._fed_from(tree):
                kept |= {query.window} - {member.window for member in others}
            self._trees[tree.id] = replace(
                tree,
                queries=tuple(others),
                kernel=tree.kernel if others else "",
                added_windows=tuple(sorted(kept)),
                family=None if others else tree.key,
            )
        else:
            self._emptied[query.id] = tree
            self._drop(tree)
        self._cost_linked(linked)

    def _drop(self, tree: Tree) -> None:
        """The tree goes, and with it those that were there for it alone."""
        del self._trees[tree.id]
        self._linked.discard(tree.id)
        feeding = self._trees.get(tree.fed_by or "")
        if feeding is not None and not feeding.queries and not self._fed_from(feeding):
            self._drop(feeding)

    def _fed_from(self, tree: Tree) -> list[Tree]:
        return [other for other in self._trees.values() if other.fed_by == tree.id]

    def _linked_with(self, tree: Tree) -> list[str]:
        """Ids of the trees that it is made of, of it, and of all that is made of any of them."""
        while tree.fed_by is not None:
            tree = self._trees[tree.fed_by]
        linked = [tree]
        for above in linked:  # grows while it is walked
            linked += self._fed_from(above)
        return [member.id for member in linked]

    def _cost_linked(self, tree_ids: Iterable[str]) -> None:
        """What trees that are made of each other take after an edit; they part where that is cheaper."""
        trees = [self._trees[tree_id] for tree_id in tree_ids if tree_id in self._trees]
        if not trees:
            return
        queries = [query for tree in trees for query in tree.queries]
        costs = group_costs(as_groups(trees), self._statistics)
        if self._are_cheaper_apart(queries, sum(cost.total for cost in costs)):
            self._weave(trees, queries)
        elif len(trees) == 1:  # nothing is made of it any more: it needs only what its queries ask for
            self._linked.discard(trees[0].id)
            self._go_on(trees[0], queries, tree_cost(queries, self._statistics))
        else:
            for tree, cost in zip(trees, costs, strict=True):
                self._put(_costed(tree, cost))

    def _are_cheaper_apart(self, queries: Iterable[Query], together: float) -> bool:
        apart = 0.0
        for query in queries:
            apart += tree_cost([query], self._statistics).total
            if apart >= together:
                return False
        return True

    def _weave(self, trees: Sequence[Tree], queries: Sequence[Query]) -> None:
        """The queries of these trees in as many as are cheapest; each goes on as the one it has most of."""
        for tree in trees:
            del self._trees[tree.id]
            self._linked.discard(tree.id)
        workload = Workload(tuple(sorted(queries, key=lambda query: query.id)), self._statistics)
        left = list(trees)
        for group in sorted(weave_share(workload), key=lambda group: -len(group.queries)):
            heirs = [
                tree for tree in left if tree.key == group.key and set(tree.queries) & set(group.queries)
            ]
            cost = tree_cost(group.queries, self._statistics)
            if heirs:
                heir = max(heirs, key=lambda tree: len(set(tree.queries) & set(group.queries)))
                left.remove(heir)
                self._put(_tree(heir.id, group.queries, cost, heir.node))
            else:
                self._put(_tree(self._new_id(), group.queries, cost, trees[0].node))

    def _go_on(self, tree: Tree, queries: Sequence[Query], cost: TreeCost) -> None:
        """The tree with these queries; one that keeps other partials than before is another tree."""
        tree_id = tree.id
        if joint_key(queries) != tree.key:
            del self._trees[tree.id]
            tree_id = self._new_id()
        self._put(_tree(tree_id, queries, cost, tree.node))

    def _add_tree(self, query: Query, cost: TreeCost) -> None:
        emptied = self._emptied.get(query.id)
        if emptied is not None and emptied.key == family_key(query):
            self._put(_tree(emptied.id, [query], cost, emptied.node))
        else:
            self._put(_tree(self._new_id(), [query], cost, self._freest_node()))

    def _put(self, tree: Tree) -> None:
        if self._trees.get(tree.id) != tree:
            self._trees[tree.id] = tree
            self._tree_ids |= {query.id: tree.id for query in tree.queries}

    def _new_id(self) -> str:
        self._next_tree += 1
        return str(self._next_tree - 1)

    def _freest_node(self) -> int:
        capacities = self._running.nodes
        taken = [0.0] * len(capacities)
        for tree in self._trees.values():
            taken[tree.node] += tree.cost
        return min(range(len(capacities)), key=lambda node: taken[node] / capacities[node])


def _reads_alike(query: Query, other: Query) -> bool:
    return family_key(query)._replace(family="") == family_key(other)._replace(family="")


def _inserted(tree: Tree, query: Query) -> tuple[Query, ...]:
    members = list(tree.queries)
    insort(members, query, key=lambda member: (member.window, member.id))
    return tuple(members)


def _tree(tree_id: str, queries: Iterable[Query], cost: TreeCost, node: int) -> Tree:
    kernel = cost.kernel.name if cost.kernel else ""
    return Tree(tree_id, tuple(queries), kernel, cost.edge_rate, cost.omega, cost.total, node)


def _costed(tree: Tree, cost: TreeCost) -> Tree:
    kernel = cost.kernel.name if cost.kernel and tree.queries else ""
    return replace(tree, kernel=kernel, edge_rate=cost.edge_rate, omega=cost.omega, cost=cost.total)
