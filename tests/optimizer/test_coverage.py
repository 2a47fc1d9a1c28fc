from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.coverage import covering_multiplier, is_covered_by, is_partitioned_by, normalised
from optimizer.windows import Window
from tests.optimizer.spans import is_covered, is_partitioned, related_windows, spans_inside, spans_of_a_period

shifted = related_windows(offsets=True)


def test_the_papers_windows_are_covered_twice_over_but_not_partitioned() -> None:
    window, other = Window(10, 2), Window(8, 2)
    assert is_covered_by(window, other)
    assert covering_multiplier(window, other) == 2
    assert not is_partitioned_by(window, other)


@given(shifted, shifted)
def test_coverage_is_that_of_the_spans(window: Window, other: Window) -> None:
    assert is_covered_by(window, other) == is_covered(window, other)


@given(shifted, shifted)
def test_partitioning_is_that_of_the_spans(window: Window, other: Window) -> None:
    assert is_partitioned_by(window, other) == is_partitioned(window, other)


@given(shifted, shifted)
def test_the_multiplier_is_the_number_of_spans_inside_each_span(window: Window, other: Window) -> None:
    if is_covered(window, other):
        counts = {len(spans_inside(other, *span)) for span in spans_of_a_period(window, other)}
        assert counts == {covering_multiplier(window, other)}
    else:
        with pytest.raises(ValueError, match="compute it from the events"):
            covering_multiplier(window, other)


@given(st.lists(shifted, min_size=3, max_size=3))
def test_coverage_is_a_partial_order(windows: list[Window]) -> None:
    for one, two, three in permutations(map(normalised, windows)):
        assert is_covered_by(one, one)
        assert one == two or not (is_covered_by(one, two) and is_covered_by(two, one))
        assert is_covered_by(one, three) or not (is_covered_by(one, two) and is_covered_by(two, three))


@given(shifted)
def test_a_normalised_window_has_the_same_spans(window: Window) -> None:
    assert spans_inside(normalised(window), -60, 60) == spans_inside(window, -60, 60)
    assert 0 <= normalised(window).offset < window.slide


def test_windows_with_offsets_must_start_on_the_same_beat() -> None:
    assert is_partitioned_by(Window(20, 10, offset=5), Window(5, 5))
    assert not is_covered_by(Window(20, 10, offset=3), Window(5, 5))
    assert is_partitioned_by(Window(20, 10, offset=3), Window(5, 5, offset=-2))


def test_a_window_as_long_on_a_coarser_slide_takes_some_of_the_answers() -> None:
    assert covering_multiplier(Window(10, 4), Window(10, 2)) == 1
    assert is_partitioned_by(Window(10, 4), Window(10, 2))
    assert not is_covered_by(Window(10, 2), Window(10, 4))


@given(shifted, shifted, st.lists(st.integers(-9, 9), min_size=200, max_size=200))
def test_minima_may_be_taken_over_a_cover_and_sums_over_a_partition(
    window: Window, other: Window, events: list[int]
) -> None:
    for start, end in spans_inside(window, 0, len(events)):
        parts = [events[slice(*span)] for span in spans_inside(other, start, end)]
        if is_covered_by(window, other):
            assert min(map(min, parts)) == min(events[start:end])
        if is_partitioned_by(window, other):
            assert sum(map(sum, parts)) == sum(events[start:end])
        elif is_covered_by(window, other):
            assert sum(map(len, parts)) > end - start  # some event would be counted twice
