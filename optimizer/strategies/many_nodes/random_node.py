"""Random: each query goes to a node drawn by lot (SHEIN 6.4: G_RAND, W_RAND, WG_RAND)."""

from random import Random

from optimizer.strategies.placement import Placement, Put, Woven, apart, into_the_one_tree, starting_trees
from optimizer.workload import Group, Workload


def g_random(workload: Workload) -> list[Group]:
    """Each query a tree of its own, on any node."""
    return _placed(workload, apart)


def w_random(workload: Workload) -> list[Group]:
    """Each query woven into the tree of any node."""
    return _placed(workload, into_the_one_tree)


def wg_random(workload: Workload) -> list[Group]:
    """On any node, as often as not as a tree of its own, otherwise woven into any of the trees there."""
    lots = Random(workload.seed + 1)  # noqa: S311 — other lots than the nodes', which all three share

    def by_lot(placement: Placement, tree: Woven, node: int) -> None:
        weavable = placement.weavable(tree, node)
        if weavable and lots.random() < 0.5:
            placement.weave(tree, node, lots.choice(weavable))
        else:
            placement.add(tree, node)

    return _placed(workload, by_lot)


def _placed(workload: Workload, put: Put) -> list[Group]:
    lots = Random(workload.seed)  # noqa: S311 — repeatable, not secret
    placement = Placement(workload)
    for tree in starting_trees(workload, placement.loom):
        put(placement, tree, lots.choice(placement.nodes))
    return placement.groups()
