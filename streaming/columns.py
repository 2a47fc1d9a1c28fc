"""The aggregate of some slices, for every group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streaming.aggregates.algebra import Algebra, identity_rows
from streaming.aggregates.base import Part
from streaming.kernels.run.gathered import combine_rows


@dataclass(frozen=True)
class Columns:
    """The aggregate of some slices for every group."""

    events: np.ndarray
    values: np.ndarray
    parts: tuple[np.ndarray, ...]  # states of each part of the lane: (columns, groups)

    @classmethod
    def empty(cls, parts: Sequence[Part], width: int) -> "Columns":
        states = tuple(identity_rows(part.algebra, width) for part in parts)
        return cls(np.zeros(width), np.zeros(width), states)

    def only(self, names: Sequence[str], parts: Sequence[Part]) -> "Columns":
        """Without the parts that are not asked for, in the order asked for; `parts` are those it has."""
        at = {part.name: place for place, part in enumerate(parts)}
        return self.at([at[name] for name in names])

    def at(self, places: Sequence[int]) -> "Columns":
        return Columns(self.events, self.values, tuple(self.parts[place] for place in places))

    def of_groups(self, numbers: np.ndarray) -> "Columns":
        parts = tuple(part[:, numbers] for part in self.parts)
        return Columns(self.events[numbers], self.values[numbers], parts)

    @property
    def width(self) -> int:
        """How many groups it has room for."""
        return len(self.events)

    def widened(self, width: int, parts: Sequence[Part]) -> "Columns":
        """With room for groups that came later."""
        missing = width - self.width
        if missing <= 0:
            return self
        more = Columns.empty(parts, missing)
        return Columns(
            np.concatenate([self.events, more.events]),
            np.concatenate([self.values, more.values]),
            tuple(np.concatenate(both, axis=1) for both in zip(self.parts, more.parts, strict=True)),
        )

    def copied(self) -> "Columns":
        """Apart from the rows that it was found in, which may be used anew."""
        return Columns(self.events.copy(), self.values.copy(), tuple(part.copy() for part in self.parts))

    def combined(self, newer: "Columns", parts: Sequence[Part]) -> "Columns":
        states = (
            _combined(part.algebra, one, other)
            for part, one, other in zip(parts, self.parts, newer.parts, strict=True)
        )
        return Columns(self.events + newer.events, self.values + newer.values, tuple(states))


@dataclass(frozen=True)
class WindowColumns:
    """The aggregates of several windows, or slices, for every group."""

    events: np.ndarray  # (windows, groups)
    values: np.ndarray
    parts: tuple[np.ndarray, ...]  # (columns, windows, groups)

    def __len__(self) -> int:
        return len(self.events)

    def one(self, at: int) -> Columns:
        return Columns(self.events[at], self.values[at], tuple(part[:, at] for part in self.parts))

    def run(self, low: int, high: int, places: Sequence[int]) -> Columns:
        """Windows `low` to `high`, the groups of one after those of the other, with some of the parts."""
        parts = (self.parts[place][:, low:high] for place in places)
        return Columns(
            self.events[low:high].reshape(-1),
            self.values[low:high].reshape(-1),
            tuple(part.reshape(len(part), -1) for part in parts),
        )

    def add(self, windows: np.ndarray, newer: Columns, parts: Sequence[Part]) -> None:
        """Combine these windows with something newer."""
        self.events[windows] += newer.events
        self.values[windows] += newer.values
        for part, states, more in zip(parts, self.parts, newer.parts, strict=True):
            older = states[:, windows]
            repeated = np.broadcast_to(more[:, None], older.shape).reshape(len(more), -1)
            combined = _combined(part.algebra, older.reshape(len(older), -1), repeated)
            states[:, windows] = combined.reshape(older.shape)


def _combined(algebra: Algebra, older: np.ndarray, newer: np.ndarray) -> np.ndarray:
    """Group by group: (columns, groups)."""
    if algebra.dtype is object:
        result = np.empty_like(older)
        for at, (one, other) in enumerate(zip(older[0], newer[0], strict=True)):
            result[0, at] = algebra.combine(one, other)
        return result
    return combine_rows(algebra, older, newer)
