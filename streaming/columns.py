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


def joined(all_columns: Sequence[Columns]) -> Columns:
    """The groups of all, one after the other."""
    if len(all_columns) == 1:
        return all_columns[0]
    parts = zip(*(columns.parts for columns in all_columns), strict=True)
    return Columns(
        np.concatenate([columns.events for columns in all_columns]),
        np.concatenate([columns.values for columns in all_columns]),
        tuple(np.concatenate(each, axis=1) for each in parts),
    )


def _combined(algebra: Algebra, older: np.ndarray, newer: np.ndarray) -> np.ndarray:
    """Group by group: (columns, groups)."""
    if algebra.dtype is object:
        result = np.empty_like(older)
        for at, (one, other) in enumerate(zip(older[0], newer[0], strict=True)):
            result[0, at] = algebra.combine(one, other)
        return result
    return combine_rows(algebra, older, newer)
