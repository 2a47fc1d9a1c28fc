from itertools import accumulate, cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.slicing import SLICINGS, cutty, pairs, panes
from optimizer.windows import Window

windows = st.builds(lambda slide, more: Window(slide + more, slide), st.integers(1, 30), st.integers(0, 120))


def spans(window: Window) -> list[tuple[int, int]]:
    """Start and end of the spans that meet the first ten slides and the ranges before and after them."""
    reach = 10 + window.range // window.slide + 1
    starts = range(-reach * window.slide, reach * window.slide, window.slide)
    return [(start, start + window.range) for start in starts]


def cuts(window: Window, slicing: str) -> list[int]:
    """Where slices end in the first ten slides."""
    slices = SLICINGS[slicing](window)
    lengths = islice(cycle(slices.pattern), 10 * slices.repeats * len(slices.pattern))
    return list(accumulate(lengths))


def test_pairs_of_range_14_and_slide_8_are_fragments_of_6_and_2() -> None:
    assert pairs(Window(14, 8)).pattern == (6, 2)
    assert set(pairs(Window(14, 8)).pattern) == {2, 6}


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (Window(14, 8), (7, 3, 2)),
        (Window(12, 4), (3, 3, 3)),
        (Window(7, 5), (7, 3, 2)),
        (Window(5, 3), (5, 3, 2)),
    ],
)
def test_partials_per_window_are_those_of_the_table(window: Window, expected: tuple[int, int, int]) -> None:
    assert (panes(window).partials, pairs(window).partials, cutty(window).partials) == expected


@pytest.mark.parametrize("slicing", SLICINGS)
@given(window=windows)
def test_the_pattern_fills_exactly_one_slide(slicing: str, window: Window) -> None:
    slices = SLICINGS[slicing](window)
    assert sum(slices.pattern) * slices.repeats == window.slide
    assert min(slices.pattern) > 0


@given(windows)
def test_pairs_are_cut_where_a_span_starts_or_ends_and_nowhere_else(window: Window) -> None:
    bounds = {bound for span in spans(window) for bound in span if 0 < bound <= 10 * window.slide}
    assert cuts(window, "pairs") == sorted(bounds)


@given(windows)
def test_cutty_cuts_where_a_span_starts_and_nowhere_else(window: Window) -> None:
    starts = {start for start, _ in spans(window) if 0 < start <= 10 * window.slide}
    assert cuts(window, "cutty") == sorted(starts)


@given(windows)
def test_panes_are_the_longest_equal_slices_with_a_cut_at_every_start_and_end(window: Window) -> None:
    bounds = [bound for span in spans(window) for bound in span]
    longest = max(
        length for length in range(1, window.slide + 1) if all(bound % length == 0 for bound in bounds)
    )
    assert set(panes(window).pattern) == {longest}


@pytest.mark.parametrize("slicing", SLICINGS)
@given(window=windows)
def test_a_span_meets_as_many_slices_as_are_counted(slicing: str, window: Window) -> None:
    slices = SLICINGS[slicing](window)
    ends = [
        slide * window.slide + end
        for slide in range(window.range // window.slide + 2)
        for end in accumulate(slices.pattern * slices.repeats)
    ]
    met = [end for start, end in zip([0, *ends], ends, strict=False) if start < window.range]
    assert slices.partials == len(met)
