"""TriWeave: events are sliced once, on all edges of a family, and trees woven of those slices (SHEIN 2.4.2).

The thesis gives no formula. We read it as `C = λ + Σ (E_all + E_i·Ω_i)`: the common slices take each event
once, and every tree folds the E_all slices a second that come out of them instead of λ events.
"""

from collections.abc import Sequence
from dataclasses import replace

from optimizer.cost import FamilyCosts, feeding_cost
from optimizer.queries import Query
from optimizer.strategies.weave_share import starting_trees, weave_share
from optimizer.weaver import weave
from optimizer.weaving import families, joint_key
from optimizer.workload import Group, Workload


def triweave(workload: Workload) -> list[Group]:
    """For each family a group that feeds its trees, or WeaveShare's trees where they cost no more."""
    groups: list[Group] = []
    for family in families(workload.queries):
        groups += _of_common_slices(family, workload, first=len(groups))
    return groups


def _of_common_slices(family: Sequence[Query], workload: Workload, first: int) -> list[Group]:
    statistics = workload.statistics
    key = joint_key(family)
    windows = tuple(sorted({query.window for query in family}))
    slicing = feeding_cost(windows, key, statistics, statistics.events_in(key))
    slices = slicing.edge_rate * statistics.groups_in(key)
    costs = FamilyCosts(family, statistics, input_rate=slices)
    trees = weave(starting_trees(windows, workload.same_slides_together), costs)
    total = slicing.total + sum(costs.tree(tree).total for tree in trees)
    # Where there are more slices than events, or one tree is left, common slices take more than they give.
    apart = weave_share(replace(workload, queries=tuple(family)))
    own_costs = FamilyCosts(family, statistics)
    if total >= sum(own_costs.tree(group.windows).total for group in apart):
        return apart
    fed = (tuple(query for query in family if query.window in tree) for tree in trees)
    return [Group((), key, added_windows=windows), *(Group(queries, key, feed=first) for queries in fed)]
