"""To Nodes: WeaveShare until there are as many trees as nodes (SHEIN algorithm 5: W_TN, WG_TN).

As printed the algorithm weaves on below that number while it saves; its text ends there and is followed.
Where there are several families they have the nodes' number of trees between them.
"""

from collections import defaultdict
from collections.abc import Sequence

from optimizer.cost import FamilyCosts
from optimizer.queries import Query
from optimizer.strategies.many_nodes.to_lowest import spread
from optimizer.strategies.placement import Placement, Woven
from optimizer.strategies.weave_share import starting_trees
from optimizer.weaver import weave
from optimizer.weaving import families
from optimizer.windows import Window
from optimizer.workload import Group, Workload


def w_to_nodes(workload: Workload) -> list[Group]:
    """WeaveShare that goes on at a loss while a family has more trees than there are nodes: one on each."""
    placement = Placement(workload)
    for trees in _woven_families(workload, placement, at_most=len(workload.nodes)):
        free = set(placement.nodes)
        for tree in sorted(trees, key=lambda tree: -tree.cost):
            node = placement.lowest(free)
            placement.add(tree, node)
            free.remove(node)
    return placement.groups()


def wg_to_nodes(workload: Workload) -> list[Group]:
    """WeaveShare, its trees then spread as by G_TL."""
    placement = Placement(workload)
    spread(placement, [tree for trees in _woven_families(workload, placement) for tree in trees])
    return placement.groups()


def _woven_families(
    workload: Workload, placement: Placement, at_most: int | None = None
) -> list[list[Woven]]:
    """Each family's trees: as many as there are nodes, or as WeaveShare leaves where those are more."""
    members = families(workload.queries)
    nodes = len(workload.nodes)
    if len(members) == 1:
        return [_woven(members[0], workload, placement, nodes, at_most)]
    woven = [_woven(family, workload, placement, 1, at_most) for family in members]
    wanted = _trees_to_keep(woven, nodes)
    return [
        _woven(family, workload, placement, count, at_most) if count > len(trees) else trees
        for family, trees, count in zip(members, woven, wanted, strict=True)
    ]


def _woven(
    family: Sequence[Query], workload: Workload, placement: Placement, at_least: int, at_most: int | None
) -> list[Woven]:
    same_window: defaultdict[Window, list[Query]] = defaultdict(list)
    for query in family:
        same_window[query.window].append(query)
    starts = starting_trees(same_window, workload.same_slides_together)
    trees = weave(starts, FamilyCosts(family, workload.statistics), at_least=at_least, at_most=at_most)
    return [
        placement.loom.tree_of(query for window in sorted(tree) for query in same_window[window])
        for tree in trees
    ]


def _trees_to_keep(woven: Sequence[Sequence[Woven]], nodes: int) -> list[int]:
    """How many trees each family is to have: nodes left over go to the family whose trees are dearest."""
    kept = [len(trees) for trees in woven]
    costs = [sum(tree.cost for tree in trees) for trees in woven]
    for _ in range(nodes - sum(kept) if kept else 0):
        dearest = max(range(len(kept)), key=lambda family: costs[family] / kept[family])
        kept[dearest] += 1
    return kept
