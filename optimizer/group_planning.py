"""Planning of group windows: the one place where they are taken out before and put back after a strategy.

Nothing is to be chosen: queries that keep the same are one tree, and a tree goes on while it has a query.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from optimizer.cost import Statistics, group_cost
from optimizer.group_trees import GroupTree, group_family
from optimizer.group_windows import GroupQuery, GroupWindow
from optimizer.plan import Plan
from optimizer.queries import AnyQuery, Query
from optimizer.weaving import FamilyKey

Shared = tuple[GroupWindow, FamilyKey]


def told_apart(queries: Iterable[AnyQuery]) -> tuple[list[Query], list[GroupQuery]]:
    """Those with time windows, which a strategy places, and those with group windows."""
    timed: list[Query] = []
    grouped: list[GroupQuery] = []
    for query in queries:
        if isinstance(query, GroupQuery):
            grouped.append(query)
        else:
            timed.append(query)
    return timed, grouped


def with_group_trees(
    plan: Plan, queries: Sequence[GroupQuery], statistics: Statistics, previous: Plan | None
) -> Plan:
    """The plan with exactly the trees of these queries; those of the `previous` plan keep ids and nodes."""
    known = {_shared(tree.queries[0]): tree for tree in (previous.group_trees if previous else ())}
    members: defaultdict[Shared, list[GroupQuery]] = defaultdict(list)
    for query in sorted(queries, key=lambda query: query.id):
        members[_shared(query)].append(query)
    plan = replace(plan, group_trees=())
    for shared, sharing in members.items():
        if shared in known:
            tree = replace(known[shared], queries=tuple(sharing))
            if tree.node >= len(plan.nodes):
                tree = replace(tree, node=plan.freest_node)
        else:
            cost = group_cost(*shared, statistics)
            tree = GroupTree(str(plan.next_tree), tuple(sharing), cost, plan.freest_node)
            plan = replace(plan, next_tree=plan.next_tree + 1)
        plan = replace(plan, group_trees=(*plan.group_trees, tree))
    ordered = sorted(plan.group_trees, key=lambda tree: int(tree.id))
    return replace(plan, group_trees=tuple(ordered))


def _shared(query: GroupQuery) -> Shared:
    return query.window, group_family(query)
