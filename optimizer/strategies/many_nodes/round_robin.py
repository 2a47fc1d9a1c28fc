"""Round robin: each query goes to the next node in turn (SHEIN 6.4: G_RR, W_RR, WG_RR)."""

from itertools import cycle

from optimizer.strategies.placement import Placement, Put, Woven, apart, into_the_one_tree, starting_trees
from optimizer.workload import Group, Workload


def g_round_robin(workload: Workload) -> list[Group]:
    """Each query a tree of its own, on the next node."""
    return _placed(workload, apart)


def w_round_robin(workload: Workload) -> list[Group]:
    """Each query woven into the tree of the next node."""
    return _placed(workload, into_the_one_tree)


def wg_round_robin(workload: Workload) -> list[Group]:
    """On the next node, by turns as a tree of its own and woven into the next of the trees there."""
    turns = [0 for _ in workload.nodes]

    def by_turns(placement: Placement, tree: Woven, node: int) -> None:
        turn, turns[node] = turns[node], turns[node] + 1
        weavable = placement.weavable(tree, node)
        if weavable and turn % 2:
            placement.weave(tree, node, weavable[turn // 2 % len(weavable)])
        else:
            placement.add(tree, node)

    return _placed(workload, by_turns)


def _placed(workload: Workload, put: Put) -> list[Group]:
    placement = Placement(workload)
    for tree, node in zip(starting_trees(workload, placement.loom), cycle(placement.nodes)):
        put(placement, tree, node)
    return placement.groups()
