"""Local search: from a random partition, single windows move between trees while that saves (SAVINGS 2.4)."""

from math import isqrt
from random import Random

from optimizer.strategies.window_trees import ROUNDING, Members, WindowTrees, partitioned
from optimizer.workload import Group, Workload


def local_search(workload: Workload) -> list[Group]:
    """Groups that no move of a single window makes cheaper."""
    draw = Random(workload.seed)  # noqa: S311 - lots, not secrets
    return partitioned(workload, lambda trees: map(trees.windows, _searched(trees, draw)))


def _searched(trees: WindowTrees, draw: Random) -> list[Members]:
    partition: list[Members] = []
    moved = _random_partition(len(trees.units), draw)
    while moved != partition:
        partition, moved = moved, _after_a_round(moved, trees, draw)
    return partition


def _random_partition(units: int, draw: Random) -> list[Members]:
    """About as many trees as each has windows."""
    drawn: dict[int, set[int]] = {}
    for unit in range(units):
        drawn.setdefault(draw.randint(0, isqrt(units)), set()).add(unit)
    return [Members(tree) for tree in drawn.values()]


def _after_a_round(partition: list[Members], trees: WindowTrees, draw: Random) -> list[Members]:
    """One round: every unit goes where it adds least, if that is less than its leaving frees."""
    for unit in draw.sample(range(len(trees.units)), len(trees.units)):
        home = next(tree for tree in partition if unit in tree)
        rest = home - {unit}
        others = [tree for tree in partition if tree is not home]
        freed_at_most = trees.freed_at_most(home, unit)
        added, place = trees.cheapest_place(unit, others, below=freed_at_most)
        if added < freed_at_most:
            freed = trees.cost(home) - trees.cost(rest)
            if added < freed - ROUNDING * trees.cost(home):
                left = [tree for tree in (*others, rest) if tree and tree is not place]
                partition = [*left, place | {unit}]
    return partition
