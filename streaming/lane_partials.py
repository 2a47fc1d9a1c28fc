"""Partials of a lane on their way from map tasks to shards."""

from dataclasses import dataclass, replace

import numpy as np

from streaming.aggregates.algebra import identity_rows
from streaming.aggregates.gathering import Gathering, Numbers
from streaming.group_keys import GroupKeys
from streaming.results import GroupKey


@dataclass(frozen=True)
class LanePartials:
    """One partial per (slice, group) of a lane, as parallel arrays."""

    lane: str
    keys: GroupKeys
    group: np.ndarray  # int32, into keys
    start: np.ndarray  # int64, of the slice
    events: np.ndarray  # float64
    values: np.ndarray  # float64, how many events have a value; mostly all, and then it is `events` itself
    parts: tuple[np.ndarray, ...]  # gathered states of each part of the lane: (columns, partials)
    fragments: int = 0  # how many of the last fields of its keys only tell fragments apart

    def told_together(self) -> "LanePartials":
        """Without what tells fragments apart; then several may be of the same slice and group."""
        if not self.fragments:
            return self
        number: dict[GroupKey, int] = {}
        place = [number.setdefault(key[: -self.fragments], len(number)) for key in self.keys.tuples()]
        group = np.array(place, np.int32)[self.group]
        return replace(self, keys=GroupKeys.of_tuples(list(number)), group=group, fragments=0)

    def of_rows(self, rows: np.ndarray) -> "LanePartials":
        """The partials at some places."""
        events = self.events[rows]
        return replace(
            self,
            group=self.group[rows],
            start=self.start[rows],
            events=events,
            values=events if self.values is self.events else self.values[rows],
            parts=tuple(part.take(rows, axis=1) for part in self.parts),
        )

    def of_groups(self, chosen: np.ndarray) -> "LanePartials":
        """The partials of the groups that `chosen` (a mask over `keys`) keeps."""
        kept = self.of_rows(np.flatnonzero(chosen[self.group]))
        place = np.cumsum(chosen, dtype=np.int32) - 1
        keys = self.keys.take(np.flatnonzero(chosen))
        return replace(kept, keys=keys, group=place[kept.group].astype(np.int32))


def nothing_gathered(gathering: Gathering, size: int) -> np.ndarray:
    """Gathered states of no events: (columns, size)."""
    if isinstance(gathering, Numbers):
        return identity_rows(gathering.algebra, size)
    store = np.empty((1, size), object)
    store.fill(gathering.nothing)
    return store


def numbered(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct starts, and for each row which of them: np.unique, but quick for long runs."""
    heads = np.flatnonzero(np.diff(starts, prepend=starts[:1] - 1))  # where a run of one slice begins
    slices, numbers = np.unique(starts[heads], return_inverse=True)
    return slices, np.repeat(numbers, np.diff(heads, append=len(starts)))
