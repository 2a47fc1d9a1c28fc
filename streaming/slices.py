"""A lane's slices in memory: open ones take partials, closed ones stand in rings and feed the kernels."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optimizer.windows import Window
from streaming.aggregates import ALGEBRA_OF, IDENTITY, Family
from streaming.aggregates.algebra import lacks
from streaming.aggregates.count import COUNT
from streaming.kernels import SliceRing, traits_of
from streaming.lane_kernels import ColumnKernels
from streaming.lanes import Lane
from streaming.partials import LanePartials

EVENTS, VALUES, X = 0, 1, 2


@dataclass(frozen=True)
class Columns:
    """The aggregate of some slices for every group: `events`, `values` and the family's `x`."""

    events: np.ndarray
    values: np.ndarray
    x: np.ndarray

    @classmethod
    def empty(cls, family: Family, width: int) -> "Columns":
        return cls(np.zeros(width), np.zeros(width), np.full(width, IDENTITY[family]))

    def combined(self, other: "Columns", family: Family) -> "Columns":
        combine = {"additive": np.add, "max": np.maximum, "min": np.minimum}[family]
        return Columns(self.events + other.events, self.values + other.values, combine(self.x, other.x))


class OpenSlice:
    """A slice that still takes partials. Sums keep what rounding lost, so that their order is no matter."""

    def __init__(self, start: int, end: int, family: Family, width: int) -> None:
        self.start = start
        self.end = end
        self._family = family
        self._columns = np.zeros((4, width))
        self._columns[X] = IDENTITY[family]

    def merge(self, group: np.ndarray, columns: np.ndarray, width: int) -> None:
        """Fold in partials (`events, values, x, error`) of distinct groups."""
        self._widen(width)
        own = self._columns
        own[EVENTS, group] += columns[EVENTS]
        own[VALUES, group] += columns[VALUES]
        if self._family == "max":
            own[X, group] = np.maximum(own[X, group], columns[X])
        elif self._family == "min":
            own[X, group] = np.minimum(own[X, group], columns[X])
        else:
            before, v = own[X, group], columns[X]
            after = before + v
            part = after - before
            own[X, group] = after
            own[3, group] += (before - (after - part)) + (v - part) + columns[3]

    def columns(self, width: int) -> Columns:
        self._widen(width)
        events, values, x, error = self._columns[:, :width]
        return Columns(events, values, x + error if self._family == "additive" else x)

    def to_bytes(self) -> bytes:
        return _to_bytes(self._columns)

    def merge_bytes(self, data: bytes, width: int) -> None:
        count = len(data) // (4 + 4 * 8)
        group = np.frombuffer(data, np.int32, count)
        self.merge(group, np.frombuffer(data[4 * count :]).reshape(4, count), width)

    def _widen(self, width: int) -> None:
        missing = width - self._columns.shape[1]
        if missing > 0:
            missing = max(missing, self._columns.shape[1])
            more = np.zeros((4, missing))
            more[X] = IDENTITY[self._family]
            self._columns = np.concatenate([self._columns, more], axis=1)


class ClosedSlices:
    """Closed slices by number: a ring for each column."""

    def __init__(self, family: Family) -> None:
        self.rings = (SliceRing(COUNT), SliceRing(COUNT), SliceRing(ALGEBRA_OF[family]))
        self.starts: list[int] = []  # of the kept slices, ascending

    @property
    def first(self) -> int:
        return self.rings[0].first

    @property
    def next(self) -> int:
        return self.rings[0].next

    def row(self, column: int, number: int) -> np.ndarray:
        return self.rings[column].row(number)[0]

    def append(self, start: int, columns: Columns) -> None:
        for ring, row in zip(self.rings, (columns.events, columns.values, columns.x), strict=True):
            ring.append(row[None])
        self.starts.append(start)

    def widen(self, width: int) -> None:
        for ring in self.rings:
            ring.widen(width)

    def number_from(self, instant: int) -> int:
        """The number of the first kept slice that starts at or after `instant`."""
        return self.first + bisect_left(self.starts, instant)

    def evict_before(self, instant: int) -> None:
        number = self.number_from(instant)
        del self.starts[: number - self.first]
        for ring in self.rings:
            ring.evict_before(number)


class LaneSlices:
    """All slices of a lane in one shard, and the kernels that answer from them."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.family = lane.signature.family
        self.open: dict[int, OpenSlice] = {}
        self.closed = ClosedSlices(self.family)
        self.seconds = 0.0
        self._kernels = self._new_kernels()

    def _new_kernels(self) -> list[ColumnKernels]:
        # Numbers of events and values are exact, for which prefix differences take the fewest operations.
        # A tree of counts alone may be planned on a kernel that sums cannot use; nobody reads its sums.
        fits = not lacks(ALGEBRA_OF[self.family], traits_of(self.lane.kernel).needs)
        names = ("prefix_difference", "prefix_difference", self.lane.kernel if fits else "slickdeque_inv")
        return [ColumnKernels(name, ring) for name, ring in zip(names, self.closed.rings, strict=True)]

    @property
    def steps(self) -> int:
        return sum(kernels.steps for kernels in self._kernels)

    def redefine(self, lane: Lane) -> None:
        """The lane under a newer plan; another kernel is built from the slices at hand."""
        changed = lane.kernel != self.lane.kernel
        self.lane = lane
        if changed:
            self._kernels = self._new_kernels()

    def merge(self, partials: LanePartials, groups: np.ndarray, width: int) -> list[int]:
        """Fold partials into their open slices; returns the starts of the slices touched."""
        columns = np.stack([partials.events, partials.values, partials.x, partials.error])
        starts, position = np.unique(partials.start, return_inverse=True)
        for index, start in enumerate(starts.tolist()):
            rows = np.flatnonzero(position == index)
            self.open_slice(start, width).merge(groups[partials.group[rows]], columns[:, rows], width)
        return starts.tolist()

    def open_slice(self, start: int, width: int) -> OpenSlice:
        if start not in self.open:
            end = self.lane.slice_end(start)
            self.open[start] = OpenSlice(start, end, self.family, width)
        return self.open[start]

    def close_until(self, instant: int, width: int) -> None:
        """Close the slices that end at or before `instant`, oldest first."""
        for start in sorted(s for s, open_slice in self.open.items() if open_slice.end <= instant):
            self.closed.append(start, self.open.pop(start).columns(width))
        self.closed.widen(width)

    def finals(self, dues: Sequence[tuple[Window, int]]) -> list[Columns]:
        """The windows that end at these instants, in order of ends, from closed slices alone."""
        wanted = [
            (window, self.closed.number_from(end) - 1, self.closed.number_from(end - window.range))
            for window, end in dues
        ]
        found = [kernels.finals(wanted) for kernels in self._kernels]
        return [Columns(*rows) for rows in zip(*found, strict=True)]

    def provisionals(self, spans: Sequence[tuple[int, int]], width: int) -> list[Columns]:
        """Windows `[start, end)` that are not final: closed slices from `start` on, open ones up to `end`."""
        lows = {start: self.closed.number_from(start) for start, _ in spans}
        order = sorted(set(lows.values()))
        found = [kernels.ahead(order) for kernels in self._kernels]
        closed = dict(zip(order, (Columns(*rows) for rows in zip(*found, strict=True)), strict=True))
        return [self._with_open(closed[lows[start]], start, end, width) for start, end in spans]

    def between(self, start: int, end: int, width: int) -> Columns:
        """All slices inside `[start, end)`, one by one: for windows that span a change of lanes."""
        columns = Columns.empty(self.family, width)
        for number in range(self.closed.number_from(start), self.closed.number_from(end)):
            row = Columns(*(_padded(self.closed.row(c, number), width, c, self.family) for c in range(3)))
            columns = columns.combined(row, self.family)
        return self._with_open(columns, start, end, width)

    def _with_open(self, columns: Columns, start: int, end: int, width: int) -> Columns:
        for at in sorted(self.open):
            if start <= at and self.open[at].end <= end:
                columns = columns.combined(self.open[at].columns(width), self.family)
        return columns

    def slice_bytes(self, start: int) -> bytes:
        """A slice as the state store keeps it, open or closed."""
        if start in self.open:
            return self.open[start].to_bytes()
        number = self.closed.number_from(start)
        rows = [self.closed.row(column, number) for column in range(3)]
        return _to_bytes(np.stack([*rows, np.zeros_like(rows[0])]))

    def starts(self) -> list[int]:
        """Starts of all slices that hold events, ascending."""
        return self.closed.starts + sorted(self.open)

    def evict_before(self, instant: int) -> list[int]:
        """Forget slices that no window reaches back to; returns their starts."""
        gone = self.closed.starts[: bisect_left(self.closed.starts, instant)]
        self.closed.evict_before(instant)
        return gone


def _to_bytes(columns: np.ndarray) -> bytes:
    """The groups that have events, as int32 numbers and four float64 columns."""
    group = np.flatnonzero(columns[EVENTS]).astype(np.int32)
    return group.tobytes() + columns[:, group].tobytes()


def _padded(row: np.ndarray, width: int, column: int, family: Family) -> np.ndarray:
    missing = width - len(row)
    if missing <= 0:
        return row[:width]
    fill = IDENTITY[family] if column == X else 0.0
    return np.concatenate([row, np.full(missing, fill)])
