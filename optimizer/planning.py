"""Planning: queries in, plan out; trees keep their ids from one plan to the next."""

from collections import Counter
from collections.abc import Sequence

from optimizer.cost import Statistics, tree_cost
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.strategies import strategy_named
from optimizer.weaving import family_key

Group = tuple[Query, ...]


def optimize(
    queries: Sequence[Query],
    statistics: Statistics,
    *,
    source: str,
    version: int = 1,
    strategy: str = "weave_share",
    previous: Plan | None = None,
) -> Plan:
    """The plan of all queries of one source; the same for the same queries in any order.

    A tree takes over the id of the `previous` plan's tree with which it shares most queries; an id that has
    gone is not given out again.
    """
    _refuse_duplicates(queries)
    ordered = sorted(queries, key=lambda query: query.id)
    groups = [_in_order(group) for group in strategy_named(strategy)(ordered, statistics)]
    groups.sort(key=lambda group: (family_key(group[0]), group[0].window, group[0].id))
    kept = _kept_ids(groups, previous)
    next_tree = _first_free_id(previous)
    trees = []
    for group in groups:
        if group not in kept:
            kept[group] = str(next_tree)
            next_tree += 1
        trees.append(_tree(kept[group], group, statistics))
    trees.sort(key=lambda tree: int(tree.id))
    return Plan(source, version, strategy, tuple(trees), next_tree)


def _refuse_duplicates(queries: Sequence[Query]) -> None:
    for query_id, count in Counter(query.id for query in queries).items():
        if count > 1:
            raise ValueError(f"The query id “{query_id}” is there {count} times: give each query its own id.")


def _in_order(group: Sequence[Query]) -> Group:
    return tuple(sorted(group, key=lambda query: (query.window, query.id)))


def _tree(tree_id: str, group: Group, statistics: Statistics) -> Tree:
    cost = tree_cost(group, statistics)
    return Tree(tree_id, group, cost.kernel.name, cost.edge_rate, cost.omega, cost.total)


def _kept_ids(groups: Sequence[Group], previous: Plan | None) -> dict[Group, str]:
    """Ids that go on: the pair of new and old tree with most queries in common first, each used once."""
    claims = []
    for position, group in enumerate(groups):
        ids = {query.id for query in group}
        for tree in previous.trees if previous else ():
            shared = len(ids.intersection(query.id for query in tree.queries))
            if shared and family_key(tree.queries[0]) == family_key(group[0]):
                claims.append((-shared, int(tree.id), position))
    kept: dict[Group, str] = {}
    for _, tree_number, position in sorted(claims):
        if groups[position] not in kept and str(tree_number) not in kept.values():
            kept[groups[position]] = str(tree_number)
    return kept


def _first_free_id(previous: Plan | None) -> int:
    if previous is None:
        return 1
    return max(previous.next_tree, *(int(tree.id) + 1 for tree in previous.trees), 1)
