"""FACTOR's cost: values read over a period R, the least common multiple of the ranges, exactly."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from optimizer.coverage import covering_multiplier
from optimizer.windows import Window


@dataclass(frozen=True)
class WindowCosts:
    """What windows cost, each computed from the events or from another window's answers."""

    period: int  # R; far past 64 bits where ranges have little in common
    events_per_tick: Fraction  # η

    @classmethod
    def over(cls, windows: Iterable[Window], events_per_tick: Fraction | int) -> "WindowCosts":
        return cls(lcm(*(window.range for window in windows)), Fraction(events_per_tick))

    def recurrences(self, window: Window) -> Fraction:
        """How many spans of the window lie in the period (eq. 1).

        A range that is no multiple of its slide, which the paper leaves open, gives a fraction of a span.
        """
        return 1 + Fraction(self.period - window.range, window.slide)

    def per_span(self, window: Window, source: Window | None) -> Fraction:
        """Values read for one span: events, or answers of the source (observation 1)."""
        if source is None:
            return self.events_per_tick * window.range
        return Fraction(covering_multiplier(window, source))

    def total(self, window: Window, source: Window | None) -> Fraction:
        """Values read for all spans of the period."""
        return self.recurrences(window) * self.per_span(window, source)
