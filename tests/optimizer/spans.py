"""Windows as the spans they stand for: coverage worked out by laying spans over each other."""

from collections.abc import Iterable
from math import lcm

from hypothesis import strategies as st

from optimizer.windows import Window

Span = tuple[int, int]


def spans_inside(window: Window, start: int, end: int) -> list[Span]:
    """All spans of the window that lie in `[start, end)`, found by trying every instant."""
    return [
        (instant, instant + window.range)
        for instant in range(start, end - window.range + 1)
        if (instant - window.offset) % window.slide == 0
    ]


def spans_of_a_period(window: Window, other: Window) -> list[Span]:
    """Spans after which the position of the two windows to each other repeats."""
    period = lcm(window.slide, other.slide)
    return spans_inside(window, -period, period + window.range)


def ticks(spans: Iterable[Span]) -> list[int]:
    return sorted(tick for start, end in spans for tick in range(start, end))


def is_covered(window: Window, other: Window) -> bool:
    """Each span is the union of the other's spans inside it (FACTOR definitions 2 and 3)."""
    spans = spans_of_a_period(window, other)
    return all(set(ticks(spans_inside(other, *span))) == set(range(*span)) for span in spans)


def is_partitioned(window: Window, other: Window) -> bool:
    """Each span is that union with every tick in it once (definitions 4 and 5)."""
    spans = spans_of_a_period(window, other)
    return all(ticks(spans_inside(other, *span)) == list(range(*span)) for span in spans)


@st.composite
def related_windows(draw: st.DrawFn, offsets: bool = False, whole: bool = False, longest: int = 4) -> Window:
    """Windows on few slides, so that coverage is common; `whole` ranges are multiples of their slides."""
    slide = draw(st.sampled_from([1, 2, 3, 4, 6, 12]))
    length = slide * draw(st.integers(1, longest))
    if not whole:
        length += draw(st.integers(0, slide - 1))
    return Window(length, slide, draw(st.integers(-13, 13)) if offsets else 0)
