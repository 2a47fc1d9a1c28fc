from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import floor, log2

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from optimizer.cost import Statistics
from optimizer.queries import Query
from optimizer.strategies.all_shared import all_shared
from optimizer.strategies.contiguous import contiguous
from optimizer.strategies.exhaustive import exhaustive
from optimizer.strategies.insert_then_weave import insert_then_weave
from optimizer.strategies.local_search import local_search
from optimizer.strategies.no_share import no_share
from optimizer.strategies.pairing import pairing
from optimizer.strategies.random_share import random_share
from optimizer.strategies.weave_share import weave_share
from optimizer.workload import Group, Workload
from tests.optimizer.cases import (
    SLIDES,
    cost_by_enumeration,
    edges_per_second,
    query,
    query_sets,
    statistics_sets,
)

Place = Callable[[Workload], list[Group]]
Partition = list[list[Query]]
OTHERS: list[Place] = [
    no_share,
    all_shared,
    random_share,
    local_search,
    insert_then_weave,
    weave_share,
    pairing,
    contiguous,
]


@st.composite
def single_families(draw: st.DrawFn) -> list[Query]:
    """Up to six queries with different windows that could all share a tree."""
    aggregate = draw(st.sampled_from(["sum", "max"]))
    group_by = draw(st.sampled_from([(), ("device",)]))
    windows = draw(st.sets(st.tuples(st.sampled_from(SLIDES), st.integers(0, 60)), min_size=1, max_size=6))
    return [
        query(f"q{number}", slide + longer, slide, aggregate, group_by)
        for number, (slide, longer) in enumerate(sorted(windows))
    ]


def partitions(queries: Sequence[Query]) -> Iterator[Partition]:
    """All ways to gather queries into trees."""
    if not queries:
        yield []
        return
    first, rest = queries[0], queries[1:]
    for size in range(len(rest) + 1):
        for company in combinations(rest, size):
            left = [query for query in rest if query not in company]
            for others in partitions(left):
                yield [[first, *company], *others]


def total(trees: Sequence[Sequence[Query]], statistics: Statistics) -> float:
    return sum(cost_by_enumeration(tree, statistics) for tree in trees)


def found(place: Place, queries: Sequence[Query], statistics: Statistics) -> Partition:
    return [list(group.queries) for group in place(Workload(tuple(queries), statistics))]


@given(single_families(), statistics_sets)
@settings(max_examples=40)
def test_exhaustive_finds_the_cheapest_of_all_partitions(
    queries: list[Query], statistics: Statistics
) -> None:
    cheapest = min(total(partition, statistics) for partition in partitions(queries))
    assert total(found(exhaustive, queries, statistics), statistics) == pytest.approx(cheapest)


@given(query_sets(), statistics_sets)
def test_nothing_that_reads_the_events_is_cheaper_than_exhaustive(
    queries: list[Query], statistics: Statistics
) -> None:
    least = total(found(exhaustive, queries, statistics), statistics)
    for place in OTHERS:
        assert total(found(place, queries, statistics), statistics) >= least * (1 - 1e-9)


def test_exhaustive_refuses_more_windows_than_it_can_search_and_says_what_to_use() -> None:
    queries = [query(f"q{slide}", slide, slide) for slide in range(1, 14)]
    with pytest.raises(ValueError, match=r"at most 12 different windows .* not 13: use best or weave_share"):
        found(exhaustive, queries, Statistics())


def test_exhaustive_counts_windows_of_each_family_once() -> None:
    sums = [query(f"s{slide}-{copy}", slide, slide) for slide in range(1, 9) for copy in range(3)]
    maxima = [query(f"m{slide}", slide, slide, "max") for slide in range(1, 9)]
    assert len(found(exhaustive, [*sums, *maxima], Statistics())) >= 2


@given(single_families(), statistics_sets)
@settings(max_examples=40)
def test_pairing_finds_the_cheapest_of_all_ways_to_pair(queries: list[Query], statistics: Statistics) -> None:
    paired = found(pairing, queries, statistics)
    assert all(len(tree) <= 2 for tree in paired)
    ways = (trees for trees in partitions(queries) if all(len(tree) <= 2 for tree in trees))
    assert total(paired, statistics) == pytest.approx(min(total(trees, statistics) for trees in ways))


def test_pairing_beats_taking_the_best_pair_first() -> None:
    # 6 s with 12 s saves most, 5/6, but leaves 3 s and 4 s with 1/6; the other two pairs save 2/3 each.
    queries = [query(f"q{slide}", slide, slide) for slide in (3, 4, 6, 12)]
    trees = {frozenset(q.name for q in tree) for tree in found(pairing, queries, Statistics(rate=1.0))}
    assert trees == {frozenset({"q3", "q6"}), frozenset({"q4", "q12"})}


def test_pairing_refuses_more_windows_than_it_can_match_and_says_what_to_use() -> None:
    queries = [query(f"q{slide}", slide, slide) for slide in range(1, 102)]
    with pytest.raises(
        ValueError, match=r"at most 100 different windows .* not 101: use best or weave_share"
    ):
        found(pairing, queries, Statistics())


def in_order(queries: Sequence[Query]) -> list[Query]:
    return sorted(queries, key=lambda query: (query.window.slide, query.window.range))


def cuts(queries: Sequence[Query]) -> Iterator[Partition]:
    """All ways to cut a sequence into trees of neighbours."""
    if not queries:
        yield []
    for end in range(1, len(queries) + 1):
        for rest in cuts(queries[end:]):
            yield [list(queries[:end]), *rest]


@given(single_families(), statistics_sets)
def test_contiguous_finds_the_cheapest_of_all_cuts(queries: list[Query], statistics: Statistics) -> None:
    ordered = in_order(queries)
    cut = [in_order(tree) for tree in found(contiguous, queries, statistics)]
    assert [query for tree in cut for query in tree] == ordered
    cheapest = min(total(trees, statistics) for trees in cuts(ordered))
    assert total(cut, statistics) == pytest.approx(cheapest)


def flatfat_cost(tree: Sequence[Query], statistics: Statistics) -> float:
    rate = edges_per_second([query.window for query in tree])
    omega = 0.0
    for query_ in tree:
        partials = round(max(1.0, rate * query_.window.range / 1000))
        if partials > 1:
            omega += floor(log2(partials - 1)) + (partials - 1) / 2 ** floor(log2(partials))
    groups = statistics.groups.get(tree[0].group_by, 100) if tree[0].group_by else 1
    return statistics.rate + groups * rate * omega


@given(single_families(), st.sampled_from([0.5, 3.0, 40.0]))
@example([query("a", 15, 10), query("b", 86, 10), query("c", 40, 12)], 1.0)  # cheaper as one, for such a fall
def test_contiguous_is_exact_for_a_kernel_whose_operations_can_fall_as_trees_grow(
    queries: list[Query], rate: float
) -> None:
    statistics = Statistics(rate=rate, kernel="flatfat")
    cost = sum(flatfat_cost(tree, statistics) for tree in found(contiguous, queries, statistics))
    ways = cuts(in_order(queries))
    assert cost == pytest.approx(min(sum(flatfat_cost(tree, statistics) for tree in trees) for trees in ways))


@given(st.sets(st.sampled_from([*SLIDES, 7, 9, 14, 21]), min_size=2, max_size=7), st.floats(1.0, 20.0))
def test_weave_share_saves_a_quarter_of_what_can_be_saved_where_the_theorem_holds(
    slides: set[int], factor: float
) -> None:
    # SAVINGS theorem 1: tumbling windows (Ω is 1 for each), λ at least twice the edge rate of any pair, and
    # at least half as many merges as the optimum has.
    queries = [query(f"q{slide}", slide, slide) for slide in sorted(slides)]
    pairs = combinations(queries, 2)
    rate = factor * 2 * max(edges_per_second([one.window, other.window]) for one, other in pairs)
    statistics = Statistics(rate=rate, kernel="panes")

    def cost(trees: Partition) -> float:
        return sum(rate + edges_per_second([q.window for q in tree]) * len(tree) for tree in trees)

    apart, woven, optimum = (
        found(place, queries, statistics) for place in (no_share, weave_share, exhaustive)
    )
    merges, optimal_merges = len(queries) - len(woven), len(queries) - len(optimum)
    assume(2 * merges >= optimal_merges)
    assert cost(apart) - cost(woven) >= (cost(apart) - cost(optimum)) / 4 - 1e-9
