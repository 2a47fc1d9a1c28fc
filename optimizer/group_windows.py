"""Group windows: windows whose bounds each group's own events set, and the queries that ask for them.

Time windows cut the clock, so queries share slices. These cut every group's events where that group's events
say: after so many of them, or where none came for a while. Only queries of the same window share anything.
"""

from dataclasses import dataclass
from math import gcd
from typing import Any

from optimizer.durations import format_duration

MOST_EVENTS = 1_000_000_000  # of a count window, and between two of them
MOST_SLICES = 10_000  # partials that a count window may keep of each group


@dataclass(frozen=True, order=True)
class CountWindow:
    """The last `count` events of a group, after every `every`-th of them."""

    count: int
    every: int

    def __post_init__(self) -> None:
        for words, number in (("size", self.count), ("step", self.every)):
            if number <= 0:
                raise ValueError(f"The {words} of a count window must be at least one event.")
            if number > MOST_EVENTS:
                raise ValueError(f"The {words} of a count window can be {MOST_EVENTS:,} events at most.")
        if self.slices > MOST_SLICES:
            raise ValueError(
                f"It would keep {self.slices:,} partials of each group, more than {MOST_SLICES:,}: choose a "
                "size and a step with a greater common divisor."
            )

    @property
    def slice_events(self) -> int:
        """Events that are aggregated once for all windows that hold them."""
        return gcd(self.count, self.every)

    @property
    def slices(self) -> int:
        """Partials that make one answer."""
        return self.count // self.slice_events

    @property
    def words(self) -> str:
        return f"{self.count:,} {'event' if self.count == 1 else 'events'} every {self.every:,}"

    def to_json(self) -> dict[str, int]:
        return {"count": self.count, "every": self.every}


@dataclass(frozen=True, order=True)
class SessionWindow:
    """Events of a group that follow each other within `gap` milliseconds."""

    gap: int

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise ValueError("The gap must be longer than zero.")

    @property
    def words(self) -> str:
        return f"sessions with a gap of {format_duration(self.gap)}"

    def to_json(self) -> dict[str, int]:
        return {"gap": self.gap}


GroupWindow = CountWindow | SessionWindow


def group_window_from_json(value: dict[str, int]) -> GroupWindow:
    return SessionWindow(**value) if "gap" in value else CountWindow(**value)


@dataclass(frozen=True)
class GroupQuery:
    """One aggregate over one field with one group window."""

    id: str
    name: str
    aggregate: str
    field: str | None
    window: GroupWindow
    group_by: tuple[str, ...] = ()
    where: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "aggregate": self.aggregate,
            "field": self.field,
            "window": self.window.to_json(),
            "group_by": list(self.group_by),
            "where": self.where,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "GroupQuery":
        return cls(
            id=value["id"],
            name=value["name"],
            aggregate=value["aggregate"],
            field=value["field"],
            window=group_window_from_json(value["window"]),
            group_by=tuple(value["group_by"]),
            where=value["where"],
        )
