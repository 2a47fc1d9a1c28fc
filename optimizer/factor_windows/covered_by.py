"""The best factor window where answers may overlap: for min and max (FACTOR algorithm 2)."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction

from optimizer.factor_windows.candidates import common_slide, divisors
from optimizer.factor_windows.costs import WindowCosts
from optimizer.windows import Window


def best_covering(
    source: Window | None, downstream: Sequence[Window], taken: Collection[Window], costs: WindowCosts
) -> Window | None:
    """The window not yet `taken` that saves most between a source (None: the events) and these."""
    benefit = _Benefit(source, downstream, costs)
    saving = {window: benefit.of(window) for window in _candidates(source, downstream, taken)}
    best = max(saving, key=lambda window: (saving[window], window.slide), default=None)
    return best if best is not None and saving[best] > 0 else None


class _Benefit:
    """What a factor window saves (eq. 2), with the sums over the downstream windows taken once."""

    def __init__(self, source: Window | None, downstream: Sequence[Window], costs: WindowCosts) -> None:
        self._source, self._costs = source, costs
        spans = [(costs.recurrences(window), window.range) for window in downstream]
        self._without = sum((costs.total(window, source) for window in downstream), Fraction(0))
        self._spans = sum((count for count, _ in spans), Fraction(0))
        self._ticks = sum((count * length for count, length in spans), Fraction(0))

    def of(self, factor: Window) -> Fraction:
        answers_read = self._spans + (self._ticks - self._spans * factor.range) / factor.slide
        return self._without - answers_read - self._costs.total(factor, self._source)


def _candidates(
    source: Window | None, downstream: Sequence[Window], taken: Collection[Window]
) -> Iterator[Window]:
    """For each eligible slide the shortest and the longest free range.

    For one slide the benefit is convex in the range (the downstream part is linear, the factor window's own
    cost is a falling times a rising line), so no range in between saves more.
    """
    shortest, beat = (source.range, source.slide) if source else (1, 1)
    slide_limit = common_slide(downstream)
    if slide_limit % beat:  # where ranges are no multiples of the source's slide
        return
    longest = min(window.range for window in downstream)
    for slide in (beat * factor for factor in divisors(slide_limit // beat)):
        ranges = range(-(-shortest // slide) * slide, longest + 1, slide)
        offset = downstream[0].offset % slide
        free = [_first_free(slide, offset, inward, taken) for inward in (ranges, reversed(ranges))]
        yield from (window for window in free if window is not None)


def _first_free(slide: int, offset: int, ranges: Iterable[int], taken: Collection[Window]) -> Window | None:
    windows = (Window(length, slide, offset) for length in ranges)
    return next((window for window in windows if window not in taken), None)
