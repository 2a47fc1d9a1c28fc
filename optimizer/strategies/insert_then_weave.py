"""Insert-then-weave: each window in turn goes where it adds least, and stays there (SAVINGS 2.4)."""

from optimizer.strategies.window_trees import Members, WindowTrees, partitioned
from optimizer.workload import Group, Workload


def insert_then_weave(workload: Workload) -> list[Group]:
    """Groups made in one pass over the windows, in order of range and slide."""
    return partitioned(workload, lambda trees: map(trees.windows, _inserted(trees)))


def _inserted(trees: WindowTrees) -> list[Members]:
    placed: list[Members] = []
    for unit in range(len(trees.units)):
        _, tree = trees.cheapest_place(unit, placed)
        if tree:
            placed.remove(tree)
        placed.append(tree | {unit})
    return placed
