"""Best woven: the cheapest gathering of windows into trees that each read the events themselves.

Exact for up to twelve distinct windows in a family; beyond that local search from what WeaveShare and simpler
rules find, so that it is never dearer than they are.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from optimizer.cost import FamilyCosts
from optimizer.queries import Query
from optimizer.search.balance import spread
from optimizer.search.partition import atoms_of, best_partition
from optimizer.strategies.contiguous import contiguous
from optimizer.strategies.insert_then_weave import insert_then_weave
from optimizer.strategies.weave_share import weave_share
from optimizer.weaving import families
from optimizer.windows import Window
from optimizer.workload import Group, Workload

FEW_ATOMS = 100  # beyond so many different edges, only WeaveShare is quick enough to start from


def best_woven(workload: Workload) -> list[Group]:
    """Groups that no move of a window and no merge or split of small trees makes cheaper."""
    groups = [group for family in families(workload.queries) for group in woven(family, workload)]
    return spread(groups, workload)


def woven(family: Sequence[Query], workload: Workload) -> list[Group]:
    """The best trees found for one family."""
    same_window: defaultdict[Window, list[Query]] = defaultdict(list)
    for query in family:
        same_window[query.window].append(query)
    costs = FamilyCosts(family, workload.statistics)
    trees = best_partition(same_window, costs, _starts(family, workload))
    return [Group.of(query for window in sorted(tree) for query in same_window[window]) for tree in trees]


def _starts(family: Sequence[Query], workload: Workload) -> Iterator[list[frozenset[Window]]]:
    alone = Workload(tuple(family), workload.statistics, same_slides_together=True)
    windows = frozenset(query.window for query in family)
    atoms = atoms_of(windows)
    for place in (weave_share, insert_then_weave, contiguous) if len(atoms) <= FEW_ATOMS else (weave_share,):
        yield [group.windows for group in place(alone)]
    yield [windows]
    yield atoms
