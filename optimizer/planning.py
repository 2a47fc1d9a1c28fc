"""Planning: queries in, plan out; trees keep their ids from one plan to the next."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from optimizer.cost import FamilyCosts, Statistics, TreeCost, answers_cost, edges_of, feeding_cost
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.strategies import strategy_named
from optimizer.windows import Window
from optimizer.workload import Group, Workload


def optimize(
    queries: Sequence[Query],
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
    ordered = tuple(sorted(queries, key=lambda query: query.id))
    capacities = _capacities(nodes)
    workload = Workload(ordered, statistics, capacities, seed, same_slides_together)
    groups = [_in_order(group) for group in strategy_named(strategy).place(workload)]
    return planned(groups, workload, source=source, version=version, strategy=strategy, previous=previous)


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


def group_costs(groups: Sequence[Group], statistics: Statistics) -> list[TreeCost]:
    """What each group takes as a tree, by where it is fed from."""
    return [_cost(groups, position, statistics) for position in range(len(groups))]


def _cost(groups: Sequence[Group], position: int, statistics: Statistics) -> TreeCost:
    group = groups[position]
    if group.through is not None:
        return _answers_cost(group, group.through, statistics)
    input_rate = _input_rate(groups, group, statistics)
    answered = _answered_windows(groups, position)
    if not answered:
        return feeding_cost(group.windows, group.key, statistics, input_rate)
    consumers = [query for fed in _fed_from(groups, position) for query in fed.queries]
    costs = FamilyCosts(consumers, statistics, key=group.key, input_rate=input_rate)
    return costs.tree_at(answered, edges_of(group.windows))


def _answers_cost(group: Group, through: Window, statistics: Statistics) -> TreeCost:
    (window,) = group.windows
    cost = answers_cost(window, through, group.key, statistics)
    if not group.queries:
        return cost
    # It needs no kernel while it is fed, but a job that makes it of the events does.
    return replace(cost, kernel=FamilyCosts(group.queries, statistics).tree({window}).kernel)


def _input_rate(groups: Sequence[Group], group: Group, statistics: Statistics) -> float:
    if group.feed is None:
        return statistics.events_of(group.key.where)
    feeding = groups[group.feed]
    return edges_of(feeding.windows) * statistics.groups_of(feeding.key.group_by)


def _answered_windows(groups: Sequence[Group], position: int) -> set[Window]:
    """Those of its queries, and those whose answers feed others (a tumbling window's are its slices)."""
    asked = {query.window for query in groups[position].queries}
    passed_on = {group.through for group in groups if group.feed == position and group.through}
    return asked | {window for window in passed_on if window.range != window.slide}


def _fed_from(groups: Sequence[Group], position: int) -> list[Group]:
    """The group and all that is made of it, directly or through others."""
    below = [_fed_from(groups, fed) for fed, group in enumerate(groups) if group.feed == position]
    return [groups[position], *(group for fed in below for group in fed)]


def _refuse_duplicates(queries: Sequence[Query]) -> None:
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
        family=None if group.queries else group.key,
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
