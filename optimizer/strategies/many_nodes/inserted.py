"""Inserted: queries one after another, each to where the least load results (SHEIN algorithm 6: W_I, WG_I).

Print and text of the algorithm differ, and the text is followed: the least cost of weaving is sought anew for
each query (printed: kept from query to query), a query is placed once all trees have been tried (printed: at
every tree), and WG_I chooses between weaving and a tree of its own by what each adds to the Total Cost
(printed: by the costs of two different nodes).
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from optimizer.strategies.placement import Placement, Woven, starting_trees
from optimizer.workload import Group, Workload


class _Place(NamedTuple):
    node: int
    position: int | None  # of the tree that the query is woven into; None: it is a tree of its own
    added_cost: float


def w_inserted(workload: Workload) -> list[Group]:
    """Each query woven into the tree of the node that then has the least load."""
    return _inserted(workload, _woven)


def wg_inserted(workload: Workload) -> list[Group]:
    """Each query woven where the least load results, or a tree of its own where that adds less."""
    return _inserted(workload, _woven_or_apart)


def _inserted(workload: Workload, choose: Callable[[Placement, Woven], _Place]) -> list[Group]:
    placement = Placement(workload)
    trees = starting_trees(workload, placement.loom)
    lots = Random(workload.seed)  # noqa: S311 — repeatable, not secret
    first = lots.sample(range(len(trees)), min(len(trees), len(placement.nodes)))
    for node, number in enumerate(first):
        placement.add(trees[number], node)
    for number in sorted(set(range(len(trees))).difference(first)):
        place = choose(placement, trees[number])
        if place.position is None:
            placement.add(trees[number], place.node)
        else:
            placement.weave(trees[number], place.node, place.position)
    return placement.groups()


def _woven(placement: Placement, tree: Woven) -> _Place:
    return _least_loaded(placement, tree, placement.nodes)


def _woven_or_apart(placement: Placement, tree: Woven) -> _Place:
    apart = _Place(placement.lowest(), None, tree.cost)
    with_kin = [node for node in placement.nodes if placement.weavable(tree, node)]
    if not with_kin:
        return apart
    woven = _least_loaded(placement, tree, with_kin)
    return woven if woven.added_cost <= apart.added_cost else apart


def _least_loaded(placement: Placement, tree: Woven, nodes: Iterable[int]) -> _Place:
    """Of the places that a tree could take, the one whose node then has the least load."""
    first, *others = sorted(nodes, key=placement.load)
    best = _place_on(placement, tree, first)
    least = placement.load(best.node, best.added_cost)
    for node in others:
        if placement.load(node) >= least:
            break  # weaving makes no node cheaper
        place = _place_on(placement, tree, node)
        load = placement.load(node, place.added_cost)
        if load < least:
            best, least = place, load
    return best


def _place_on(placement: Placement, tree: Woven, node: int) -> _Place:
    """Woven into the tree that it adds least to; where none is of its family, a tree of its own."""
    woven = [
        (placement.added_cost(tree, node, position), position) for position in placement.weavable(tree, node)
    ]
    if not woven:
        return _Place(node, None, tree.cost)
    added_cost, position = min(woven)
    return _Place(node, position, added_cost)
