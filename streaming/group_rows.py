"""Rows of group windows: events, sessions and slices of counted events, all as parallel arrays."""

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from streaming.aggregates.algebra import Algebra, identity_rows
from streaming.aggregates.base import Part
from streaming.aggregates.gathering import Objects
from streaming.kernels.run.gathered import gather_into
from streaming.lane_partials import nothing_gathered
from streaming.open_slices import closed_states


@dataclass(frozen=True)
class Rows:
    """Each row is one or several events of a group that follow each other."""

    group: np.ndarray  # int64
    first: np.ndarray  # int64, when its first event was
    last: np.ndarray  # int64, when its last event was
    mark: np.ndarray  # int64, what tells rows apart: of events their place, of slices their number
    events: np.ndarray  # float64
    values: np.ndarray  # float64, how many of the events have a value
    parts: tuple[np.ndarray, ...]  # states of each part: (columns, rows)

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def of(cls, columns: Iterable[np.ndarray], parts: Iterable[np.ndarray]) -> "Rows":
        group, first, last, mark, events, values = columns
        return cls(group, first, last, mark, events, values, tuple(parts))

    @classmethod
    def none(cls, algebras: Iterable[Algebra]) -> "Rows":
        columns = (np.empty(0, kind) for kind in _KINDS)
        return cls.of(columns, (identity_rows(algebra, 0) for algebra in algebras))

    @classmethod
    def together(cls, tables: Sequence["Rows"]) -> "Rows":
        """All rows of these, one table after the other; at least one."""
        columns = zip(*(table.columns for table in tables), strict=True)
        parts = zip(*(table.parts for table in tables), strict=True)
        return cls.of(map(np.concatenate, columns), (np.concatenate(part, axis=1) for part in parts))

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """All but the states."""
        return self.group, self.first, self.last, self.mark, self.events, self.values

    @property
    def nbytes(self) -> int:
        """What the arrays take; of texts and lists only their places are counted."""
        return sum(array.nbytes for array in (*self.columns, *self.parts))

    def only(self, rows: np.ndarray) -> "Rows":
        """Some rows, by a mask or by their places and in that order: copies, never views."""
        return Rows.of((column[rows] for column in self.columns), (part[:, rows] for part in self.parts))


_KINDS = (np.int64,) * 4 + (np.float64,) * 2


class PackedRows(msgspec.Struct, array_like=True):
    size: int
    columns: list[
        bytes
    ]  # one number where all are the same; how long rows last in place of their last events
    parts: list[bytes]


def pack(rows: Rows) -> PackedRows:
    lasting = replace(rows, last=rows.last - rows.first)
    columns = [_without_repeats(column).tobytes() for column in lasting.columns]
    return PackedRows(len(rows), columns, [_packed(part) for part in rows.parts])


def unpack(packed: PackedRows, algebras: Sequence[Algebra]) -> Rows:
    held = (np.frombuffer(data, kind) for data, kind in zip(packed.columns, _KINDS, strict=True))
    columns = (np.broadcast_to(column, packed.size) for column in held)
    rows = Rows.of(columns, map(_unpacked, packed.parts, algebras))
    return replace(rows, last=rows.first + rows.last)


def _without_repeats(column: np.ndarray) -> np.ndarray:
    return column[:1] if len(column) and (column == column[0]).all() else column


def _packed(states: np.ndarray) -> bytes:
    if states.dtype == object:
        return pickle.dumps(states[0].tolist(), pickle.HIGHEST_PROTOCOL)
    return states.tobytes()


def _unpacked(data: bytes, algebra: Algebra) -> np.ndarray:
    if algebra.dtype is not object:
        return np.frombuffer(data, algebra.dtype).reshape(len(algebra.identity), -1)
    items = pickle.loads(data)  # noqa: S301 (written by a map task or a shard of this job)
    states = np.empty((1, len(items)), object)
    for at, item in enumerate(items):
        states[0, at] = item
    return states


def closed(parts: Sequence[Part], rows: Rows) -> tuple[np.ndarray, ...]:
    """The states that gathered ones become."""
    return tuple(closed_states(part, states) for part, states in zip(parts, rows.parts, strict=True))


def merged(rows: Rows, slots: np.ndarray, parts: Sequence[Part]) -> Rows:
    """Rows of the same slot as one, with gathered states; slots begin with zero and never fall."""
    if not len(rows):
        return rows
    heads = np.flatnonzero(np.diff(slots, prepend=-1))
    tails = np.append(heads[1:], len(rows)) - 1
    states = (
        _merged_states(part, slots, held, heads, tails) for part, held in zip(parts, rows.parts, strict=True)
    )
    return Rows(
        rows.group[heads],
        rows.first[heads],
        np.maximum.reduceat(rows.last, heads),
        rows.mark[tails],
        np.add.reduceat(rows.events, heads),
        np.add.reduceat(rows.values, heads),
        tuple(states),
    )


def _merged_states(
    part: Part, slots: np.ndarray, states: np.ndarray, heads: np.ndarray, tails: np.ndarray
) -> np.ndarray:
    if not isinstance(part.gathering, Objects):
        store = nothing_gathered(part.gathering, len(heads))
        gather_into(part.gathering.algebra, slots, np.ascontiguousarray(states), store)
        return store
    store = states[:, heads]
    for slot in np.flatnonzero(tails > heads).tolist():
        for at in range(heads[slot] + 1, tails[slot] + 1):
            store[0, slot] = part.gathering.combine(store[0, slot], states[0, at])
    return store
