from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import gcd, lcm

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optimizer.aggregates import AGGREGATES, joint_carrier
from optimizer.cost import Statistics
from optimizer.coverage import is_covered_by, is_partitioned_by
from optimizer.factor_windows.costs import WindowCosts
from optimizer.factor_windows.covered_by import best_covering
from optimizer.factor_windows.graph import CoverageGraph, Relation, min_cost_graph
from optimizer.factor_windows.groups import semantics_of
from optimizer.factor_windows.partitioned_by import best_partitioning, is_beneficial
from optimizer.factor_windows.search import COVERED_BY, PARTITIONED_BY, Semantics, with_factor_windows
from optimizer.queries import Query
from optimizer.strategies.factor_covered import factor_covered
from optimizer.strategies.factor_partitioned import factor_partitioned
from optimizer.strategies.window_coverage import window_coverage
from optimizer.weaving import FamilyKey, family_key
from optimizer.windows import Window
from optimizer.workload import Group, Workload
from tests.optimizer.cases import query, query_sets, statistics_sets
from tests.optimizer.spans import is_covered, is_partitioned, related_windows, spans_inside

both_semantics = pytest.mark.parametrize(
    "semantics", [COVERED_BY, PARTITIONED_BY], ids=["covered", "partitioned"]
)
both_relations = pytest.mark.parametrize(
    ("relation", "by_spans"),
    [(is_covered_by, is_covered), (is_partitioned_by, is_partitioned)],
    ids=["covered", "partitioned"],
)
Strategy = Callable[[Workload], list[Group]]
strategies = pytest.mark.parametrize("strategy", [window_coverage, factor_covered, factor_partitioned])

rates = st.sampled_from([Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(100)])
few_windows = st.sets(related_windows(), min_size=1, max_size=4)
whole_windows = st.sets(related_windows(whole=True), min_size=1, max_size=5)
shifted_windows = st.sets(
    related_windows(offsets=True).map(lambda w: Window(w.range, w.slide, w.offset % w.slide))
)


def tumbling(*lengths: int) -> list[Window]:
    return [Window(length, length) for length in lengths]


def unshared(windows: Iterable[Window], costs: WindowCosts) -> Fraction:
    return sum((costs.total(window, None) for window in windows), Fraction(0))


def amounts(graph: CoverageGraph) -> list[Fraction]:
    return [graph.costs[window] for window in sorted(graph.costs)]


# The paper's examples


def test_example_6_four_tumbling_windows() -> None:
    windows = tumbling(10, 20, 30, 40)
    costs = WindowCosts.over(windows, 1)
    assert costs.period == 120
    assert unshared(windows, costs) == 480
    graph = min_cost_graph(windows, is_covered_by, costs)
    assert amounts(graph) == [120, 12, 12, 6]
    assert graph.total == 150
    ten, twenty, thirty, forty = windows
    assert graph.sources == {ten: None, twenty: ten, thirty: ten, forty: twenty}


@both_semantics
def test_example_7_a_factor_window_of_ten_minutes(semantics: Semantics) -> None:
    windows = tumbling(20, 30, 40)
    costs = WindowCosts.over(windows, 1)
    assert unshared(windows, costs) == 360
    assert amounts(min_cost_graph(windows, semantics.relation, costs)) == [120, 120, 6]
    graph = with_factor_windows(windows, semantics, costs)
    assert graph.costs.keys() - set(windows) == set(tumbling(10))
    assert amounts(graph) == [120, 12, 12, 6]


def test_example_8_the_longest_of_three_candidates() -> None:
    windows = tumbling(20, 30)
    costs = WindowCosts.over(tumbling(20, 30, 40), 1)
    beneficial = [w for w in tumbling(10, 5, 2) if is_beneficial(w, None, windows, costs)]
    assert beneficial == tumbling(10, 5, 2)
    assert best_partitioning(None, windows, windows, costs) == Window(10, 10)


@both_semantics
def test_ranges_without_a_common_factor_share_nothing(semantics: Semantics) -> None:
    windows = tumbling(15, 17, 19)
    costs = WindowCosts.over(windows, 1)
    graph = with_factor_windows(windows, semantics, costs)
    assert set(graph.sources.values()) == {None}
    assert graph.total == unshared(windows, costs) == 3 * 15 * 17 * 19


def test_a_fast_stream_makes_ranges_without_a_common_factor_worth_a_window_of_one_tick() -> None:
    windows = tumbling(15, 17, 19)
    graph = with_factor_windows(windows, PARTITIONED_BY, WindowCosts.over(windows, 100))
    assert graph.total == (100 + 3) * 15 * 17 * 19


# Costs


@given(whole_windows, rates)
def test_an_unshared_window_costs_the_events_of_all_its_spans_in_the_period(
    windows: set[Window], rate: Fraction
) -> None:
    period = lcm(*(window.range for window in windows))
    costs = WindowCosts.over(windows, rate)
    for window in windows:
        spans = spans_inside(window, 0, period)
        assert costs.recurrences(window) == len(spans)
        assert costs.total(window, None) == rate * sum(end - start for start, end in spans)


def test_periods_far_past_64_bits_are_exact() -> None:
    primes = [p * 1009 for p in (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157)]
    windows = tumbling(*primes)
    costs = WindowCosts.over(windows, 7)
    assert costs.period == lcm(*primes) > 2**80
    graph = with_factor_windows(windows, PARTITIONED_BY, costs)
    assert graph.sources[Window(1009, 1009)] is None
    assert graph.total == 7 * costs.period + len(primes) * costs.period // 1009


# Algorithm 1


@both_relations
@given(windows=few_windows, rate=rates)
def test_no_choice_of_sources_is_cheaper_than_the_min_cost_graph(
    relation: Relation, by_spans: Relation, windows: set[Window], rate: Fraction
) -> None:
    costs = WindowCosts.over(windows, rate)
    ordered = sorted(windows)
    options = [[None, *(o for o in ordered if o != w and by_spans(w, o))] for w in ordered]
    totals = [
        sum(_by_spans(window, source, costs) for window, source in zip(ordered, sources, strict=True))
        for sources in product(*options)
    ]
    graph = min_cost_graph(windows, relation, costs)
    assert graph.total == min(totals)
    assert graph.total <= unshared(windows, costs)


def _by_spans(window: Window, source: Window | None, costs: WindowCosts) -> Fraction:
    """The cost of a window with its sources counted rather than reckoned."""
    start = window.offset
    if source is None:
        read = costs.events_per_tick * window.range
    else:
        read = Fraction(len(spans_inside(source, start, start + window.range)))
    return (1 + Fraction(costs.period - window.range, window.slide)) * read


# Algorithm 2


@given(whole_windows | few_windows, st.none() | related_windows(), rates)
def test_no_covering_window_saves_more_than_the_best(
    windows: set[Window], source: Window | None, rate: Fraction
) -> None:
    downstream = sorted(w for w in windows if source is None or (w != source and is_covered(w, source)))
    assume(downstream)
    taken = {*downstream, *([source] if source else [])}
    costs = WindowCosts.over(windows, rate)
    shortest = min(window.range for window in downstream)
    savings = {
        candidate: _saved_by(candidate, source, downstream, costs)
        for length in range(1, shortest + 1)
        for slide in range(1, length + 1)
        if length % slide == 0  # as the algorithm demands
        and (candidate := Window(length, slide)) not in taken
        and (source is None or is_covered(candidate, source))
        and all(is_covered(window, candidate) for window in downstream)
    }
    most = max(savings.values(), default=Fraction(0))
    best = best_covering(source, downstream, taken, costs)
    assert (savings[best] == most > 0) if best else (most <= 0)


def _saved_by(
    factor: Window, source: Window | None, downstream: Sequence[Window], costs: WindowCosts
) -> Fraction:
    without = sum(_by_spans(window, source, costs) for window in downstream)
    return (
        without
        - sum(_by_spans(window, factor, costs) for window in downstream)
        - _by_spans(factor, source, costs)
    )


# Algorithms 4 and 5


def printed_algorithm_4(factor: int, source: int, downstream: Sequence[Window], period: int) -> bool:
    if len(downstream) >= 2:
        return True
    overlap, recurs = downstream[0].range // downstream[0].slide, period // downstream[0].range
    if overlap == 1 or recurs == 1:  # the second is missing in print, where its fraction divides by zero
        return False
    if overlap >= 3 and recurs >= 3:
        return True
    return Fraction(factor, source) >= 1 + Fraction(recurs, (recurs - 1) * (overlap - 1))


def printed_algorithm_5(source: int, downstream: Sequence[Window], period: int) -> int | None:
    weight = sum(Fraction(1 + (period - w.range) // w.slide, period // w.range) for w in downstream)
    limit = gcd(*(w.slide for w in downstream))  # in print the ranges: see the test of hopping windows
    candidates = [length for length in range(source + 1, limit + 1) if limit % length == length % source == 0]
    beneficial = [length for length in candidates if printed_algorithm_4(length, source, downstream, period)]
    independent = [
        length for length in beneficial if not any(o != length and o % length == 0 for o in beneficial)
    ]
    best = None
    for length in independent:  # theorem 9, multiplied out
        if best is None or length * (weight - Fraction(best, source)) >= best * (
            weight - Fraction(length, source)
        ):
            best = length
    return best


@given(whole_windows, st.sampled_from([1, 2, 3, 4, 6]))
def test_partitioning_agrees_with_the_printed_algorithms(windows: set[Window], length: int) -> None:
    source = Window(length, length)
    downstream = sorted(w for w in windows if w != source and is_partitioned(w, source))
    assume(downstream)
    costs = WindowCosts.over(windows, 1)
    for longer in range(2 * length, 13, length):
        if all(is_partitioned(window, Window(longer, longer)) for window in downstream):
            expected = printed_algorithm_4(longer, length, downstream, costs.period)
            assert is_beneficial(Window(longer, longer), source, downstream, costs) == expected
    found = best_partitioning(source, downstream, {source}, costs)
    assert (found.range if found else None) == printed_algorithm_5(length, downstream, costs.period)


@given(whole_windows, st.none() | related_windows(whole=True), rates)
def test_no_tumbling_window_saves_more_than_the_best(
    windows: set[Window], source: Window | None, rate: Fraction
) -> None:
    downstream = sorted(w for w in windows if source is None or (w != source and is_partitioned(w, source)))
    assume(downstream)
    taken = {*downstream, *([source] if source else [])}
    costs = WindowCosts.over(windows, rate)
    savings = {
        candidate: _saved_by(candidate, source, downstream, costs)
        for candidate in tumbling(*range(1, 49))
        if candidate not in taken
        and (source is None or is_partitioned(candidate, source))
        and all(is_partitioned(window, candidate) for window in downstream)
    }
    most = max(savings.values(), default=Fraction(-1))
    best = best_partitioning(source, downstream, taken, costs)
    assert (savings[best] == most >= 0) if best else (most < 0 or _only_dominated(savings, downstream, taken))


def _only_dominated(savings: Iterable[Window], downstream: Sequence[Window], taken: set[Window]) -> bool:
    """The longest candidate is there already, so that shorter ones have nothing to add."""
    length = gcd(*(window.slide for window in downstream))
    return Window(length, length) in taken and all(length % window.range == 0 for window in savings)


def test_a_factor_window_of_hopping_windows_fits_their_slides() -> None:
    # Algorithm 5 as printed takes the gcd of the ranges, 10, into which a span from 5 to 25 cannot be cut.
    windows = [Window(20, 5), Window(30, 5)]
    costs = WindowCosts.over(windows, 10)
    assert best_partitioning(None, windows, windows, costs) == Window(5, 5)


def test_a_window_that_recurs_once_needs_no_factor_window() -> None:
    window = Window(12, 3)
    assert best_partitioning(Window(1, 1), [window], [], WindowCosts.over([window], 1)) is None


# Algorithm 3


@both_semantics
@given(windows=whole_windows | few_windows | shifted_windows, rate=rates)
def test_factor_windows_never_make_it_dearer_and_each_of_them_feeds_another(
    semantics: Semantics, windows: set[Window], rate: Fraction
) -> None:
    costs = WindowCosts.over(windows, rate)
    graph = with_factor_windows(windows, semantics, costs)
    assert graph.total <= min_cost_graph(windows, semantics.relation, costs).total
    assert graph.costs.keys() >= windows
    assert graph.costs.keys() - windows <= set(graph.sources.values())
    assert graph.total == sum(_by_spans(window, source, costs) for window, source in graph.sources.items())


@pytest.mark.parametrize(
    ("semantics", "windows", "without", "printed", "reached"),
    [
        (COVERED_BY, [Window(1, 1), Window(4, 2), Window(8, 2)], 23, 25, 23),
        (PARTITIONED_BY, [Window(2, 2), Window(3, 3), Window(20, 20), Window(24, 12)], 372, 388, 358),
    ],
    ids=["covered", "partitioned"],
)
def test_a_factor_window_goes_again_where_the_final_graph_does_not_need_it(
    semantics: Semantics, windows: list[Window], without: int, printed: int, reached: int
) -> None:
    costs = WindowCosts.over(windows, 1)
    assert min_cost_graph(windows, semantics.relation, costs).total == without
    assert with_factor_windows(windows, semantics, costs).total == reached < printed


def test_below_the_events_only_windows_that_no_other_covers_are_counted() -> None:
    # 6 every 6 is read off 6 every 2. Counted as reading the events it would make 4 every 2 look best, at 33.
    windows = [Window(4, 4), Window(6, 2), Window(6, 6)]
    graph = with_factor_windows(windows, COVERED_BY, WindowCosts.over(windows, 1))
    assert graph.costs == {
        Window(2, 2): 12,
        Window(4, 4): 3 * 2,
        Window(6, 2): 4 * 3,
        Window(6, 6): 2 * 1,
    }


def test_a_factor_window_that_saves_nothing_is_left_out() -> None:
    # 4 between 2 and 8, 12 would cost as much as it saves; 21 between 7 and 63, 105 saves more.
    windows = tumbling(2, 8, 12, 7, 63, 105)
    graph = with_factor_windows(windows, PARTITIONED_BY, WindowCosts.over(windows, 1))
    assert graph.costs.keys() - set(windows) == set(tumbling(21))


@both_semantics
def test_windows_on_different_beats_share_a_factor_window_that_fits_both(semantics: Semantics) -> None:
    windows = [Window(20, 20), Window(30, 30, offset=5)]
    graph = with_factor_windows(windows, semantics, WindowCosts.over(windows, 10))
    assert graph.costs.keys() - set(windows) == {Window(5, 5)}


# Strategies


def test_only_aggregates_that_do_not_count_twice_may_read_overlapping_answers() -> None:
    overlapping = {name for name in AGGREGATES if semantics_of([query("a", 10, 2, name)]) is COVERED_BY}
    assert overlapping == {name for name, aggregate in AGGREGATES.items() if aggregate.idempotent}
    assert overlapping & {"count", "sum", "mean", "min", "max", "range"} == {"min", "max", "range"}
    assert semantics_of([query("a", 10, 2, "sum"), query("b", 10, 2, "mean")]) is PARTITIONED_BY


def workload(queries: Sequence[Query], rate: float = 1000.0, groups: int = 1) -> Workload:
    return Workload(tuple(queries), Statistics(rate=rate, groups={("device",): groups}))


def shape(groups: Sequence[Group]) -> dict[int, tuple[int | None, bool]]:
    """For each range in seconds that of the feeding group, and whether somebody asked for it."""
    seconds = [{window.range // 1000 for window in group.windows}.pop() for group in groups]
    return {
        length: (None if group.feed is None else seconds[group.feed], bool(group.queries))
        for length, group in zip(seconds, groups, strict=True)
    }


def test_trees_are_fed_as_the_papers_first_query_is_rewritten() -> None:
    asked = workload([query("a", r, r, "min") for r in (20, 30, 40)], rate=1)
    assert shape(window_coverage(asked)) == {20: (None, True), 30: (None, True), 40: (20, True)}
    for strategy in (factor_covered, factor_partitioned):
        assert shape(strategy(asked)) == {10: (None, False), 20: (10, True), 30: (10, True), 40: (20, True)}


def test_overlapping_answers_feed_maxima_but_not_sums() -> None:
    for aggregate, fed in (("max", 8), ("sum", None)):
        groups = window_coverage(workload([query("a", 10, 2, aggregate), query("b", 8, 2, aggregate)]))
        assert shape(groups) == {8: (None, True), 10: (fed, True)}


def test_with_more_groups_than_events_answers_are_no_shortcut() -> None:
    queries = [query("a", r, r, "sum", group_by=("device",)) for r in (10, 20)]
    assert window_coverage(workload(queries, rate=100, groups=10))[1].feed == 0
    assert window_coverage(workload(queries, rate=100, groups=10_000))[1].feed is None


def test_answers_are_no_shortcut_past_a_filter_that_lets_few_events_pass() -> None:
    queries = tuple(query("a", r, r, where="status = 'ok'") for r in (10, 20))
    for share, fed_by in ((1.0, 0), (0.001, None)):
        statistics = Statistics(rate=10, passing={"status = 'ok'": share})
        assert window_coverage(Workload(queries, statistics))[1].feed == fed_by


@strategies
@given(queries=query_sets(), statistics=statistics_sets)
def test_every_query_is_in_one_group_and_is_fed_within_its_family(
    strategy: Strategy, queries: list[Query], statistics: Statistics
) -> None:
    groups = strategy(Workload(tuple(queries), statistics))
    assert Counter(q for group in groups for q in group.queries) == Counter(queries)
    for place, group in enumerate(groups):
        assert len(group.windows) == 1
        assert bool(group.queries) != bool(group.added_windows)
        assert all(_carries(group.key, family_key(asked)) for asked in group.queries)
        if group.feed is not None:
            assert group.feed < place
            assert groups[group.feed].key == group.key
            assert groups[group.feed].windows == {group.through}


def _carries(key: FamilyKey, asked: FamilyKey) -> bool:
    same_otherwise = key._replace(family="") == asked._replace(family="")
    return same_otherwise and joint_carrier({key.family, asked.family}) == key.family


@strategies
@given(windows=few_windows, aggregate=st.sampled_from(["min", "sum"]), data=st.data())
def test_fed_groups_give_the_answers_that_the_events_give(
    strategy: Strategy, windows: set[Window], aggregate: str, data: st.DataObject
) -> None:
    queries = [Query(f"q{n}", "q", aggregate, "v", window) for n, window in enumerate(sorted(windows))]
    groups = strategy(workload(queries, rate=5000))
    events = data.draw(st.lists(st.integers(-9, 9), min_size=120, max_size=120))
    combine: Callable[[list[int]], int] = min if aggregate == "min" else sum
    answers: list[dict[tuple[int, int], int]] = []
    for group in groups:
        (window,) = group.windows
        made = {}
        for start, end in spans_inside(window, 0, len(events)):
            if group.feed is None or group.through is None:
                made[start, end] = combine(events[start:end])
            else:
                inner = spans_inside(group.through, start, end)
                made[start, end] = combine([answers[group.feed][span] for span in inner])
            assert made[start, end] == combine(events[start:end])
        answers.append(made)
