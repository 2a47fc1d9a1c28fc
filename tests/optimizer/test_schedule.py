from itertools import islice, pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.edges import count_edges
from optimizer.schedule import Closing, Edge, Schedule
from optimizer.windows import Window

window_sets = st.frozensets(
    st.builds(
        lambda slide, more, offset: Window(slide + more, slide, offset),
        st.integers(1, 12),
        st.integers(0, 30),
        st.integers(-15, 15),
    ),
    min_size=1,
    max_size=5,
)


def edges_by_enumeration(windows: frozenset[Window], first: int, last: int) -> list[Edge]:
    """Edges in (first, last], from spans written out far enough on both sides."""
    reach = max(window.range + window.slide + abs(window.offset) for window in windows)
    spans = {
        window: [
            (window.offset + turn * window.slide, window.offset + turn * window.slide + window.range)
            for turn in range((first - 3 * reach) // window.slide, (last + 3 * reach) // window.slide)
        ]
        for window in windows
    }
    instants = sorted({bound for of_window in spans.values() for span in of_window for bound in span})
    edges = []
    for previous, now in pairwise(instants):
        if first < now <= last:
            closing = tuple(
                Closing(window, sum(start < instant <= end for instant in instants))
                for window in sorted(windows)
                for start, end in spans[window]
                if end == now
            )
            edges.append(Edge(now, now - previous, closing))
    return edges


def test_two_windows_close_on_their_own_edges_of_18() -> None:
    longer, shorter = Window(12, 9), Window(10, 6)
    edges = list(takewhile(lambda edge: edge.instant <= 18, Schedule([longer, shorter]).edges_from(0)))
    assert [edge.instant for edge in edges] == [3, 4, 6, 9, 10, 12, 16, 18]
    assert [edge.length for edge in edges] == [3, 1, 2, 3, 1, 2, 4, 2]
    closing = {edge.instant: [(c.window, c.partials) for c in edge.closing] for edge in edges}
    assert closing[12] == [(longer, 6)]
    assert closing[10] == [(shorter, 5)]
    assert closing[18] == []


@given(window_sets, st.integers(-60, 60))
def test_edges_come_as_the_spans_written_out_have_them(windows: frozenset[Window], instant: int) -> None:
    expected = edges_by_enumeration(windows, instant, instant + 50)
    edges = Schedule(windows).edges_from(instant)
    assert list(takewhile(lambda edge: edge.instant <= instant + 50, edges)) == expected


@given(window_sets, st.integers(-60, 60))
def test_partials_of_one_span_are_those_of_the_edge_it_closes_at(
    windows: frozenset[Window], instant: int
) -> None:
    schedule = Schedule(windows)
    for edge in islice(schedule.edges_from(instant), 8):
        for closing in edge.closing:
            assert schedule.partials(closing.window, edge.instant) == closing.partials


@given(window_sets, st.integers(-60, 60))
def test_a_composite_slide_holds_as_many_edges_as_are_counted(
    windows: frozenset[Window], instant: int
) -> None:
    classes = frozenset[tuple[int, int]]().union(*(window.edge_classes for window in windows))
    edges, span = count_edges(classes)
    walked = takewhile(lambda edge: edge.instant <= instant + span, Schedule(windows).edges_from(instant))
    assert sum(1 for _ in walked) == edges


def test_a_composite_slide_that_no_memory_could_hold_starts_at_once() -> None:
    windows = [Window(slide * 10, slide) for slide in (9_973, 9_967, 9_949, 9_941, 9_931, 9_929)]
    first = next(Schedule(windows).edges_from(10**15))
    assert first.instant == min(window.first_end_after(10**15) for window in windows)


def test_a_span_that_is_not_in_the_schedule_is_refused() -> None:
    schedule = Schedule([Window(12, 9)])
    with pytest.raises(ValueError, match="No span of Window"):
        schedule.partials(Window(12, 9), 20)
    with pytest.raises(ValueError, match="No span of Window"):
        schedule.partials(Window(9, 9), 18)


def test_a_schedule_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one window"):
        Schedule([])
