"""Random: trees met by chance are merged where that saves, until no two of them would (SAVINGS 2.4).

It differs from WeaveShare only in the order of merges, and so shows what choosing the best one is worth.
"""

from random import Random

from optimizer.strategies.window_trees import Members, WindowTrees, partitioned
from optimizer.workload import Group, Workload


def random_share(workload: Workload) -> list[Group]:
    """Groups of which no two are cheaper as one, come about by lot."""
    draw = Random(workload.seed)  # noqa: S311 - lots, not secrets
    return partitioned(workload, lambda trees: map(trees.windows, _merged_by_lot(trees, draw)))


def _merged_by_lot(trees: WindowTrees, draw: Random) -> list[Members]:
    waiting = [Members({unit}) for unit in range(len(trees.units))]
    draw.shuffle(waiting)
    settled: list[Members] = []  # of these no two save
    while waiting:
        tree = waiting.pop()
        partners = draw.sample(settled, len(settled))
        partner = next((partner for partner in partners if trees.saves(tree, partner)), None)
        if partner is None:
            settled.append(tree)
        else:
            settled.remove(partner)
            waiting.insert(draw.randint(0, len(waiting)), tree | partner)
    return settled
