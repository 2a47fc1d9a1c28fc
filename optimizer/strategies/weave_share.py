"""WeaveShare: merge, again and again, the two trees whose merging saves most (SHEIN 2.4, SAVINGS 2.4)."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

from optimizer.cost import FamilyCosts
from optimizer.queries import Query
from optimizer.weaver import weave
from optimizer.weaving import families
from optimizer.windows import Window
from optimizer.workload import Group, Workload


def weave_share(workload: Workload) -> list[Group]:
    """Groups of queries of which no two are cheaper as one."""
    return [Group.of(group) for family in families(workload.queries) for group in _woven(family, workload)]


def _woven(family: Sequence[Query], workload: Workload) -> list[list[Query]]:
    # Queries with the same window start out together: the second of them adds nothing to a tree's cost, so no
    # other merge of either could save more, and the literal algorithm would begin with theirs.
    same_window: defaultdict[Window, list[Query]] = defaultdict(list)
    for query in family:
        same_window[query.window].append(query)
    starts = starting_trees(same_window, workload.same_slides_together)
    trees = weave(starts, FamilyCosts(family, workload.statistics))
    order = {window: position for position, window in enumerate(same_window)}
    return [
        [query for window in sorted(tree, key=order.__getitem__) for query in same_window[window]]
        for tree in trees
    ]


def starting_trees(windows: Iterable[Window], same_slides_together: bool) -> list[list[Window]]:
    """A tree for each window, or for all with the same edges, in order of their first windows.

    Identical slides (SHEIN 6.5, note) weave perfectly only where their fragments agree too.
    """
    trees: defaultdict[Hashable, list[Window]] = defaultdict(list)
    for window in windows:
        trees[window.edge_classes if same_slides_together else window].append(window)
    return list(trees.values())
