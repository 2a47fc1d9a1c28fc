"""Exhaustive: the cheapest of all partitions of a family's windows, by dynamic programming over subsets.

There are 4,213,597 partitions of twelve windows and 4,095 trees that they are made of: each tree is costed
once, and the cheapest partition of a set is its cheapest tree with the last window and, for the rest, what
has been found before.
"""

from optimizer.search.partition import FEW_WINDOWS, optimal_partition
from optimizer.strategies.window_trees import Windows, WindowTrees, partitioned
from optimizer.workload import Group, Workload


def exhaustive(workload: Workload) -> list[Group]:
    """Groups that no other partition undercuts; refused for more windows than can be searched."""
    return partitioned(workload, _cheapest_partition)


def _cheapest_partition(trees: WindowTrees) -> list[Windows]:
    if len(trees.units) > FEW_WINDOWS:
        raise ValueError(
            f"Exhaustive search takes at most {FEW_WINDOWS} different windows that could share a tree, "
            f"not {len(trees.units)}: use best or weave_share."
        )
    return optimal_partition(trees.units, trees.costs)
