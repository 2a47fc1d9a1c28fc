"""To Lowest: the dearest query first, each to the node with the least load (SHEIN algorithm 4)."""

from collections.abc import Iterable

from optimizer.strategies.placement import Placement, Put, Woven, apart, into_the_one_tree, starting_trees
from optimizer.workload import Group, Workload


def g_to_lowest(workload: Workload) -> list[Group]:
    """Each query a tree of its own (G_TL)."""
    return _placed(workload, apart)


def w_to_lowest(workload: Workload) -> list[Group]:
    """Each query woven into the node's tree (W_TL)."""
    return _placed(workload, into_the_one_tree)


def wg_to_lowest(workload: Workload) -> list[Group]:
    """Each query woven into the node's cheapest tree or a tree of its own, whichever adds less (WG_TL)."""
    return _placed(workload, _into_the_cheapest_tree_or_apart)


def spread(placement: Placement, trees: Iterable[Woven], put: Put = apart) -> None:
    """Trees onto nodes, the dearest first: empty nodes have the least load and get one each to start with."""
    for tree in sorted(trees, key=lambda tree: -tree.cost):
        put(placement, tree, placement.lowest())


def _placed(workload: Workload, put: Put) -> list[Group]:
    placement = Placement(workload)
    spread(placement, starting_trees(workload, placement.loom), put)
    return placement.groups()


def _into_the_cheapest_tree_or_apart(placement: Placement, tree: Woven, node: int) -> None:
    trees = placement.trees[node]
    cheapest = min(placement.weavable(tree, node), key=lambda position: trees[position].cost, default=None)
    if cheapest is None or tree.cost < placement.added_cost(tree, node, cheapest):
        placement.add(tree, node)
    else:
        placement.weave(tree, node, cheapest)
