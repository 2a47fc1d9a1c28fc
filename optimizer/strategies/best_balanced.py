"""Best balanced: the dearest node as cheap as can be, for clusters whose nodes are all in use.

It evens out the best woven trees, and what WG_I gives, so that it never leaves a dearer node than WG_I does.
"""

from collections.abc import Sequence

from optimizer.group_costs import group_costs
from optimizer.search.balance import evened
from optimizer.strategies.best_woven import best_woven
from optimizer.strategies.many_nodes.inserted import wg_inserted
from optimizer.workload import Group, Workload


def best_balanced(workload: Workload) -> list[Group]:
    """Groups from whose dearest node no window can go without making another node as dear."""
    even = [evened(place(workload), workload) for place in (best_woven, wg_inserted)]
    return min(even, key=lambda groups: _dearest(groups, workload))


def _dearest(groups: Sequence[Group], workload: Workload) -> float:
    loads = [0.0] * len(workload.nodes)
    for group, cost in zip(groups, group_costs(groups, workload.statistics), strict=True):
        loads[group.node] += cost.total / workload.nodes[group.node]
    return max(loads)
