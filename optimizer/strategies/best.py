"""Best: windows, factor windows, common slices, phantoms and filters woven under one cost.

It starts from what every other way of sharing finds (the best woven trees, TriWeave's common slices, factor
windows, phantoms), lets each tree choose what it is made of, and improves the cheapest by local search.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimizer.aggregates import AGGREGATES
from optimizer.queries import Query
from optimizer.search.balance import spread
from optimizer.search.forest import Forest, Grove, Node, groups_of, nodes_of
from optimizer.search.partition import atoms_of
from optimizer.strategies.best_woven import woven
from optimizer.strategies.factor_covered import factor_covered
from optimizer.strategies.factor_partitioned import factor_partitioned
from optimizer.strategies.phantoms import phantoms
from optimizer.strategies.triweave import triweave
from optimizer.strategies.window_coverage import window_coverage
from optimizer.weaving import families, joint_key
from optimizer.windows import Window
from optimizer.workload import Group, Workload

FEW_TREES = 100  # beyond so many, trees are not worth the time to weigh every two of them
FEW_WINDOWS = 30  # beyond so many different ones, factor windows are left to the common slices
STARTS_TO_IMPROVE = 2
# Families whose partials can give others': they are searched together.
KIN = {"additive": "moments", "min": "extremes", "max": "extremes"}


def best(workload: Workload) -> list[Group]:
    """The cheapest groups found, spread over the nodes."""
    groups: list[Group] = []
    for kin in _kindred(workload.queries):
        before = len(groups)
        groups += [_shifted(group, before) for group in _best_of_kin(kin, workload)]
    return spread(groups, workload)


def _best_of_kin(queries: Sequence[Query], workload: Workload) -> list[Group]:
    grove = Grove(queries, workload.statistics)
    part = Workload(tuple(queries), workload.statistics, seed=workload.seed)
    starts = sorted((grove.fed(nodes) for nodes in _starts(part)), key=_total)
    improved = [grove.improved(start.nodes) for start in starts[:STARTS_TO_IMPROVE]]
    return groups_of(min([*improved, *starts], key=_total), queries)


def _starts(part: Workload) -> Iterator[list[Node]]:
    yield nodes_of([group for family in families(part.queries) for group in woven(family, part)])
    yield nodes_of(phantoms(part))
    kin = {joint_key(family): _windows(family) for family in families(part.queries)}
    slides = [Node(key, atom) for key, windows in kin.items() for atom in atoms_of(windows)]
    yield slides if len(slides) <= FEW_TREES else nodes_of(triweave(part))
    windows = [Node(key, frozenset({window})) for key, windows in kin.items() for window in windows]
    if len(windows) <= FEW_WINDOWS:
        yield windows
        for place in (triweave, window_coverage, factor_covered, factor_partitioned):
            yield nodes_of(place(part))


def _windows(family: Sequence[Query]) -> list[Window]:
    return sorted({query.window for query in family})


def _kindred(queries: Sequence[Query]) -> list[list[Query]]:
    """Queries whose partials could give each other's, whatever their group-bys and filters."""
    fields = defaultdict(list)
    for query in queries:
        carrier = AGGREGATES[query.aggregate].carrier
        fields[query.field or "", KIN.get(carrier, carrier)].append(query)
    return [fields[kin] for kin in sorted(fields)]


def _shifted(group: Group, by: int) -> Group:
    return group if group.feed is None else replace(group, feed=group.feed + by)


def _total(forest: Forest) -> float:
    return forest.total
