import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optimizer.windows import Window


@st.composite
def windows(draw: st.DrawFn) -> Window:
    slide = draw(st.integers(1, 40))
    return Window(draw(st.integers(slide, 200)), slide, draw(st.integers(-50, 50)))


def spans(window: Window, start: int, stop: int) -> list[tuple[int, int]]:
    """All spans of the window that begin in [start, stop), straight from the definition."""
    first = (start - window.offset) // window.slide
    last = (stop - window.offset) // window.slide + 1
    begins = (m * window.slide + window.offset for m in range(first, last + 1))
    return [(begin, begin + window.range) for begin in begins if start <= begin < stop]


@given(windows())
def test_edge_classes_are_exactly_the_starts_and_ends_of_spans(window: Window) -> None:
    boundaries = {instant for span in spans(window, -500, 500) for instant in span}
    on_an_edge = {
        instant
        for instant in range(-200, 200)
        if any(instant % period == residue for period, residue in window.edge_classes)
    }
    assert on_an_edge == {instant for instant in boundaries if -200 <= instant < 200}


@given(windows(), st.integers(-100, 100))
def test_the_first_end_after_an_instant_is_the_least_greater_end(window: Window, instant: int) -> None:
    ends = {end for _, end in spans(window, -500, 500)}
    assert window.first_end_after(instant) == min(end for end in ends if end > instant)


@given(windows(), st.integers(-100, 100))
def test_the_last_end_until_an_instant_is_the_greatest_end_not_after_it(window: Window, instant: int) -> None:
    ends = {end for _, end in spans(window, -500, 500)}
    assert window.last_end_until(instant) == max(end for end in ends if end <= instant)


def test_the_remainder_of_a_range_comes_first_in_its_slide() -> None:
    assert Window(14, 8).edge_classes == {(8, 0), (8, 6)}  # slices of 6, then 2


@given(windows())
def test_a_range_that_is_no_multiple_spans_twice_its_whole_slides_and_one_partial(window: Window) -> None:
    assume(window.range % window.slide)
    begin, end = window.offset, window.offset + window.range
    edges = sum(
        any(instant % period == residue for period, residue in window.edge_classes)
        for instant in range(begin + 1, end + 1)
    )
    assert edges == 2 * (window.range // window.slide) + 1


@pytest.mark.parametrize(
    ("length", "slide", "sentence"),
    [
        (0, 1, "The window size must be longer than zero."),
        (5, 0, "The slide must be longer than zero."),
        (5, -1, "The slide must be longer than zero."),
    ],
)
def test_impossible_windows_are_refused_in_a_sentence(length: int, slide: int, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        Window(length, slide)
    assert str(refused.value) == sentence
