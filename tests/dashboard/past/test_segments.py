"""Segments give back what was put in, and thinning loses no peak."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dashboard.past import segments
from dashboard.past.levels import DAY, FULL, HOUR, length, levels, pairs, segment_start

START = 1_800_000_000_000
numbers = st.floats(allow_nan=True, allow_infinity=False, width=64)


def line(points: dict[int, float]) -> segments.Line:
    ends = np.array(sorted(points), np.int64)
    return ends, np.array([points[end] for end in ends.tolist()], np.float64)


some_points = st.dictionaries(st.integers(START, START + 14 * DAY - 1), numbers, min_size=1, max_size=40)


@given(
    st.dictionaries(
        st.tuples(st.text(max_size=5), st.none() | st.integers(-(1 << 63), (1 << 63) - 1)),
        some_points,
        min_size=1,
    )
)
def test_a_segment_gives_back_what_was_put_in(groups) -> None:
    lines = {group: line(points) for group, points in groups.items()}
    back = segments.decode(segments.encode(lines, START), START)
    assert list(back) == list(lines)
    for group, (ends, values) in lines.items():
        assert np.array_equal(back[group][0], ends)
        assert np.array_equal(back[group][1], values, equal_nan=True)


@given(some_points, some_points)
def test_a_later_result_replaces_an_earlier_one_of_the_same_window(old, new) -> None:
    ends, values = segments.merged(line(old), line(new))
    both = old | new
    assert ends.tolist() == sorted(both)
    assert np.array_equal(values, [both[end] for end in ends.tolist()], equal_nan=True)


@given(some_points, st.sampled_from([60_000, 600_000, HOUR, DAY]))
def test_a_thinned_line_is_made_of_results_and_keeps_the_extremes_of_every_span(points, step) -> None:
    known = {end: value for end, value in points.items() if value == value}
    ends, values = segments.thinned(line(points), step)
    kept = dict(zip(ends.tolist(), values.tolist()))
    assert ends.tolist() == sorted(kept)
    assert kept.items() <= known.items()
    for span in {end // step for end in known}:
        of_span = [value for end, value in known.items() if end // step == span]
        kept_of_span = [value for end, value in kept.items() if end // step == span]
        assert len(kept_of_span) <= 2
        assert (min(kept_of_span), max(kept_of_span)) == (min(of_span), max(of_span))


@given(some_points)
def test_thinning_twice_is_thinning_once(points) -> None:
    """So a level may be made from the one below it."""
    once = segments.thinned(line(points), HOUR)
    twice = segments.thinned(segments.thinned(line(points), 600_000), HOUR)
    spans = [
        sorted({(end // HOUR, value) for end, value in zip(*map(np.ndarray.tolist, one))})
        for one in (once, twice)
    ]
    assert spans[0] == spans[1]


@given(st.integers(1, 4 * DAY), st.integers(START, START + 100 * DAY))
def test_every_segment_lies_within_one_of_the_level_above(slide, end) -> None:
    for level, above in pairs(slide):
        start = segment_start(end, level, slide)
        parent = segment_start(end, above, slide)
        assert parent <= start
        assert start + length(level, slide) <= parent + length(above, slide)
    assert levels(slide)[0] == FULL


def test_the_greatest_groups_come_first_and_those_without_a_value_last() -> None:
    lines = {("a",): line({1: 5.0, 2: 1.0}), ("b",): line({1: np.nan}), ("c",): line({2: 9.0})}
    assert segments.greatest(lines, 2) == [("c",), ("a",)]
    assert segments.greatest(lines, 5) == [("c",), ("a",), ("b",)]
