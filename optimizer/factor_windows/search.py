"""The search for factor windows: one for each window that feeds others, as far as they pay (algorithm 3)."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from optimizer.coverage import is_covered_by, is_partitioned_by
from optimizer.factor_windows.costs import WindowCosts
from optimizer.factor_windows.covered_by import best_covering
from optimizer.factor_windows.graph import Choices, CoverageGraph, Relation
from optimizer.factor_windows.partitioned_by import best_partitioning
from optimizer.windows import Window

BestFactor = Callable[[Window | None, Sequence[Window], Collection[Window], WindowCosts], Window | None]


@dataclass(frozen=True)
class Semantics:
    """How windows may be computed from each other, and how to find a factor window between them."""

    relation: Relation
    best_factor: BestFactor


COVERED_BY = Semantics(is_covered_by, best_covering)
PARTITIONED_BY = Semantics(is_partitioned_by, best_partitioning)


def with_factor_windows(
    windows: Collection[Window], semantics: Semantics, costs: WindowCosts
) -> CoverageGraph:
    """The cheapest graph found when windows that nobody asked for may be added; never above the one without.

    Algorithm 3 as printed claims as much but can end dearer: it reckons a factor window's benefit against one
    source, while the downstream windows may have cheaper ones. So those that do not pay are taken out again.
    """
    given = frozenset(windows)
    added = factor_windows(given, semantics, costs)
    choices = Choices(given | added, semantics.relation, costs)
    graphs = [choices.graph(given), choices.graph(given | _paying(choices, given, added))]
    return min(graphs, key=lambda graph: graph.total)


def factor_windows(given: frozenset[Window], semantics: Semantics, costs: WindowCosts) -> frozenset[Window]:
    """The best factor window below the events and below each window (lines 2 to 4 of algorithm 3)."""
    found = (
        semantics.best_factor(source, downstream, given, costs)
        for source, downstream in _patterns(given, semantics.relation)
    )
    return frozenset(window for window in found if window is not None)


def _patterns(
    given: frozenset[Window], relation: Relation
) -> Iterator[tuple[Window | None, Sequence[Window]]]:
    """Each source with the windows downstream; below the events those that no other window covers."""
    ordered = sorted(given)
    below = {
        source: [one for one in ordered if one is not source and relation(one, source)] for source in ordered
    }
    covered = frozenset[Window]().union(*below.values())
    for source, downstream in [(None, sorted(given - covered)), *below.items()]:
        if downstream:
            yield source, downstream


def _paying(choices: Choices, given: frozenset[Window], added: frozenset[Window]) -> frozenset[Window]:
    """The added windows that are left when, again and again, the one that costs most for nothing goes."""
    while added:
        dearer = _dearer_without(added, choices.graph(given | added), choices)
        worst = min(added, key=lambda window: (dearer[window], window))
        if dearer[worst] > 0:
            break
        added -= {worst}
    return added


def _dearer_without(
    added: frozenset[Window], graph: CoverageGraph, choices: Choices
) -> dict[Window, Fraction]:
    """For each of these windows what the graph would cost more if that one were not computed."""
    dearer = {window: -graph.costs[window] for window in added}
    for fed, source in graph.sources.items():
        if source in added:
            instead, _ = choices.cheapest(fed, graph.sources, without=source)
            dearer[source] += instead - graph.costs[fed]
    return dearer
