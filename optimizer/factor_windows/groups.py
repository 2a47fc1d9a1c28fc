"""From a coverage graph to groups: a tree for each window, fed by the window that it is computed from."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

from optimizer.aggregates import AGGREGATES
from optimizer.cost import Statistics
from optimizer.coverage import normalised
from optimizer.durations import UNITS_MS
from optimizer.factor_windows.costs import WindowCosts
from optimizer.factor_windows.graph import CoverageGraph
from optimizer.factor_windows.search import COVERED_BY, PARTITIONED_BY, Semantics
from optimizer.queries import Query
from optimizer.weaving import FamilyKey, families, joint_key
from optimizer.windows import Window
from optimizer.workload import Group, Workload

MakeGraph = Callable[[frozenset[Window], Semantics, WindowCosts], CoverageGraph]


def semantics_of(queries: list[Query]) -> Semantics:
    """What all these aggregates allow: overlapping answers only where nothing counts twice (theorem 6)."""
    overlap = all(AGGREGATES[query.aggregate].idempotent for query in queries)
    return COVERED_BY if overlap else PARTITIONED_BY


def fed_groups(
    workload: Workload,
    make_graph: MakeGraph,
    choose_semantics: Callable[[list[Query]], Semantics] = semantics_of,
) -> list[Group]:
    """The groups of a graph for each family of queries; a group comes after the one that feeds it."""
    groups: list[Group] = []
    for family in families(workload.queries):
        asked: defaultdict[Window, list[Query]] = defaultdict(list)
        for query in family:
            asked[normalised(query.window)].append(query)
        key = joint_key(family)
        costs = WindowCosts.over(asked, _events_per_tick(key, workload.statistics))
        graph = make_graph(frozenset(asked), choose_semantics(family), costs)
        groups += _groups(graph, asked, key, first=len(groups))
    return groups


def _events_per_tick(key: FamilyKey, statistics: Statistics) -> Fraction:
    """η for one group: an answer is read for every group, an event belongs to one of them."""
    return Fraction(statistics.events_in(key)) / (UNITS_MS["s"] * statistics.groups_in(key))


def _groups(
    graph: CoverageGraph, asked: dict[Window, list[Query]], key: FamilyKey, first: int
) -> Iterator[Group]:
    ordered = sorted(graph.sources)  # a source is shorter than what it covers, or as long with a finer slide
    position = {window: first + place for place, window in enumerate(ordered)}
    written = {window: asked[window][0].window if window in asked else window for window in ordered}
    for window in ordered:
        source = graph.sources[window]
        yield Group(
            queries=tuple(asked.get(window, ())),
            key=key,
            feed=None if source is None else position[source],
            through=None if source is None else written[source],
            added_windows=() if window in asked else (window,),
        )
