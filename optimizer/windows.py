"""Windows: half-open spans `[m·slide + offset, m·slide + offset + range)` on an integer time axis."""

from dataclasses import dataclass
from functools import cached_property

from optimizer.durations import format_duration


@dataclass(frozen=True, order=True)
class Window:
    """One window definition in ticks (milliseconds), aligned by the start of its spans.

    A range that is shorter than the slide samples the stream: what is between two spans is in neither.
    """

    range: int
    slide: int
    offset: int = 0

    def __post_init__(self) -> None:
        if self.range <= 0:
            raise ValueError("The window size must be longer than zero.")
        if self.slide <= 0:
            raise ValueError("The slide must be longer than zero.")

    @cached_property
    def edge_classes(self) -> frozenset[tuple[int, int]]:
        """The residue classes `(period, residue)` on which a slice of this window must end.

        Spans start on `offset mod slide` and end on `offset + range mod slide`; where the range is a
        multiple of the slide both are one class (the papers' fragment 2 is empty).
        """
        start = self.offset % self.slide
        end = (self.offset + self.range) % self.slide
        return frozenset({(self.slide, start), (self.slide, end)})

    @property
    def words(self) -> str:
        return f"{format_duration(self.range)} every {format_duration(self.slide)}"

    def to_json(self) -> dict[str, int]:
        return {"range": self.range, "slide": self.slide, "offset": self.offset}

    def first_end_after(self, instant: int) -> int:
        """The least end of a span that is greater than `instant`."""
        end = (self.offset + self.range) % self.slide
        return instant + self.slide - (instant - end) % self.slide

    def last_end_until(self, instant: int) -> int:
        """The greatest end of a span that is not greater than `instant`."""
        return self.first_end_after(instant) - self.slide
