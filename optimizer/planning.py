"""Planning: queries in, plan out; trees keep their ids from one plan to the next."""

from collections import Counter
from collections.abc import Sequence
from math import isfinite

from optimizer.cost import Statistics, TreeCost
from optimizer.group_costs import group_costs
from optimizer.group_planning import told_apart, with_group_trees
from optimizer.plan import Plan, Tree
from optimizer.queries import AnyQuery
from optimizer.strategies import strategy_named
from optimizer.weaving import joint_key
from optimizer.workload import Group, Workload


def optimize(
    queries: Sequence[AnyQuery],
    statistics: Statistics,
    *,
    source: str = "",
    version: int = 1,
    strategy: str = "weave_share",
    nodes: int | Sequence[float] = 1,
    seed: int = 0,
    same_slides_together: bool = False,
    previous: Plan | None = None,
) -> Plan:
    """The plan of all queries of one source; the same for the same queries in any order.

    `nodes` is how many there are, or what each can do. A tree takes over the id of the `previous` plan's tree
    with which it shares most queries; an id that has gone is not given out again.
    """
    _refuse_duplicates(queries)
    timed, grouped = told_apart(queries)
    ordered = tuple(sorted(timed, key=lambda query: query.id))
    capacities = _capacities(nodes)
    workload = Workload(ordered, statistics, capacities, seed, same_slides_together)
    groups = [_in_order(group) for group in strategy_named(strategy).place(workload)]
    plan = planned(groups, workload, source=source, version=version, strategy=strategy, previous=previous)
    return with_group_trees(plan, grouped, statistics, previous)


def planned(
    groups: Sequence[Group],
    workload: Workload,
    *,
    source: str,
    version: int,
    strategy: str,
    previous: Plan | None,
) -> Plan:
    """Groups as a plan: their trees costed, named and in order."""
    ids = _kept_ids(groups, previous)
    next_tree = _first_free_id(previous)
    for position in sorted(range(len(groups)), key=lambda position: _place(groups[position])):
        if position not in ids:
            ids[position] = str(next_tree)
            next_tree += 1
    costs = group_costs(groups, workload.statistics)
    trees = [_tree(ids, position, group, costs[position]) for position, group in enumerate(groups)]
    trees.sort(key=lambda tree: int(tree.id))
    return Plan(source, version, strategy, tuple(trees), next_tree, workload.nodes)


def _refuse_duplicates(queries: Sequence[AnyQuery]) -> None:
    for query_id, count in Counter(query.id for query in queries).items():
        if count > 1:
            raise ValueError(f"The query id “{query_id}” is there {count} times: give each query its own id.")


def _capacities(nodes: int | Sequence[float]) -> tuple[float, ...]:
    capacities = (1.0,) * nodes if isinstance(nodes, int) else tuple(float(node) for node in nodes)
    if not capacities:
        raise ValueError("A plan needs at least one node.")
    for capacity in capacities:
        if not isfinite(capacity) or capacity <= 0:
            raise ValueError(f"A node's capacity must be a number above zero, not {capacity:g}.")
    return capacities


def _in_order(group: Group) -> Group:
    queries = tuple(sorted(group.queries, key=lambda query: (query.window, query.id)))
    return Group(queries, group.key, group.node, group.feed, group.through, group.added_windows)


def _place(group: Group) -> tuple[object, ...]:
    return group.key, sorted(group.windows), [query.id for query in group.queries], group.node


def _tree(ids: dict[int, str], position: int, group: Group, cost: TreeCost) -> Tree:
    return Tree(
        id=ids[position],
        queries=group.queries,
        kernel=cost.kernel.name if cost.kernel and group.queries else "",
        edge_rate=cost.edge_rate,
        omega=cost.omega,
        cost=cost.total,
        node=group.node,
        fed_by=None if group.feed is None else ids[group.feed],
        through=group.through,
        added_windows=group.added_windows,
        family=None if group.queries and joint_key(group.queries) == group.key else group.key,
    )


def _kept_ids(groups: Sequence[Group], previous: Plan | None) -> dict[int, str]:
    """Ids that go on: the pair of new and old tree with most in common first, each used once."""
    claims = []
    for position, group in enumerate(groups):
        ids = {query.id for query in group.queries}
        for tree in previous.trees if previous else ():
            shared = len(ids.intersection(query.id for query in tree.queries))
            if not group.queries and not tree.queries:
                shared = len(group.windows.intersection(tree.windows))
            if shared and tree.key == group.key:
                claims.append((-shared, int(tree.id), position))
    kept: dict[int, str] = {}
    taken: set[str] = set()
    for _, tree_number, position in sorted(claims):
        if position not in kept and str(tree_number) not in taken:
            kept[position] = str(tree_number)
            taken.add(str(tree_number))
    return kept


def _first_free_id(previous: Plan | None) -> int:
    if previous is None:
        return 1
    return max(previous.next_tree, *(int(tree.id) + 1 for tree in previous.trees), 1)
