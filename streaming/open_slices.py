"""The slices of a lane that still gather partials, many at a time.

Most slices of a backlog begin and end within one batch. So they are gathered, closed and stored together: a
call for each of them would take longer than its numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from streaming.aggregates.base import Part
from streaming.aggregates.count import COUNT
from streaming.aggregates.gathering import Numbers, Objects
from streaming.columns import WindowColumns
from streaming.group_index import GroupIndex
from streaming.kernels.run.gathered import gather_into
from streaming.kernels.run.ring import roomy
from streaming.lane_partials import LanePartials, nothing_gathered, numbered
from streaming.shuffle import pack_states, unpack_states

Groups = slice | np.ndarray

AT_ONCE = 1_000_000  # numbers of a column, so that a million groups do not take their memory again
FEW_ROWS = 16


class StoredSlice(msgspec.Struct, array_like=True):
    """A slice as the state store keeps it: gathered states of the groups that have events."""

    group: bytes
    events: bytes
    values: bytes  # nothing where they are as many as events
    parts: list[bytes]


class OpenSlices:
    """A row for each slice, in arrays that all of them share: (columns, rows, groups)."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.starts: list[int] = []  # ascending
        self._parts = parts
        self._ends: dict[int, int] = {}  # by start
        self._rows: dict[int, int] = {}  # by start
        self._closed: dict[int, int] = {}  # rows of those just closed: to be stored as they were gathered
        self._free: list[int] = []
        counts = Numbers(COUNT)
        self._gatherings = [counts, counts, *(part.gathering for part in parts)]  # events, values, parts
        self._nothing = [nothing_gathered(each, 1)[:, None] for each in self._gatherings]
        self._stores = [np.empty((len(each), 0, 0), each.dtype) for each in self._nothing]

    def __len__(self) -> int:
        return len(self.starts)

    def end_of(self, start: int) -> int:
        return self._ends[start]

    def recut(self, end_of: Callable[[int], int]) -> None:
        """A plan may have cut slices short."""
        self._ends = {start: end_of(start) for start in self.starts}

    # --- taking in ------------------------------------------------------------------------------------

    def merge(
        self, partials: LanePartials, groups: np.ndarray, width: int, end_of: Callable[[int], int]
    ) -> list[int]:
        """Gather partials, of which several may be of one slice and group; returns the slices' starts."""
        starts, position = numbered(partials.start)
        self._widen(width)
        rows = self._opened(starts.tolist(), end_of)
        places = rows[position] * self._room + groups[partials.group]
        self._gather(places, partials.events, partials.values, partials.parts)
        return starts.tolist()

    def merge_bytes(self, start: int, data: bytes, index: GroupIndex, end_of: Callable[[int], int]) -> None:
        """Take a stored slice back."""
        stored = msgspec.msgpack.decode(data, type=StoredSlice)
        states = [unpack_states(each, part) for each, part in zip(stored.parts, self._parts, strict=True)]
        self._widen(len(index))
        row = self._opened([start], end_of)
        places = row * self._room + index.numbers_of(np.frombuffer(stored.group, np.int64))
        events = np.frombuffer(stored.events)
        self._gather(places, events, np.frombuffer(stored.values) if stored.values else events, states)

    def _gather(
        self, places: np.ndarray, events: np.ndarray, values: np.ndarray, states: Iterable[np.ndarray]
    ) -> None:
        arrived = (events[None], values[None], *states)
        for gathering, store, more in zip(self._gatherings, self._stores, arrived, strict=True):
            own = store.reshape(len(store), -1, copy=False)
            if isinstance(gathering, Objects):
                for at, item in zip(places.tolist(), more[0], strict=True):
                    own[0, at] = gathering.combine(own[0, at], item)
            else:
                gather_into(gathering.algebra, places, np.ascontiguousarray(more), own)

    def _opened(self, starts: Sequence[int], end_of: Callable[[int], int]) -> np.ndarray:
        """The rows of slices; new ones hold nothing yet."""
        new = [start for start in starts if start not in self._rows]
        if new:
            self._deepen(len(new))
            rows = [self._free.pop() for _ in new]
            for store, nothing in zip(self._stores, self._nothing, strict=True):
                store[:, rows] = nothing
            self._rows.update(zip(new, rows, strict=True))
            self._ends.update((start, end_of(start)) for start in new)
            self.starts = sorted(self._rows)
        return np.array([self._rows[start] for start in starts], np.int64)

    # --- giving ---------------------------------------------------------------------------------------

    def ended(self, instant: int) -> list[int]:
        """The starts of those that end at or before `instant`."""
        return [start for start in self.starts if self._ends[start] <= instant]

    def columns(self, starts: Sequence[int], width: int) -> WindowColumns:
        """What slices hold by now."""
        self._widen(width)
        rows = [self._rows[start] for start in starts]
        events, values, *gathered = (store[:, rows, :width] for store in self._stores)
        states = (
            closed_states(part, each.reshape(len(each), -1)).reshape(-1, len(rows), width)
            for part, each in zip(self._parts, gathered, strict=True)
        )
        return WindowColumns(events[0], values[0], tuple(states))

    def close(self, starts: Iterable[int]) -> None:
        """They gather no more; what they hold can still be stored, until others close."""
        self._release()
        for start in starts:
            self._closed[start] = self._rows.pop(start)
            del self._ends[start]
        self.starts = sorted(self._rows)

    def stored(self, starts: Sequence[int], ids: np.ndarray) -> Iterator[bytes]:
        """As the state log keeps slices that are open or just closed; `ids` are those of the groups."""
        at_once = max(1, AT_ONCE // max(1, self._room))
        for low in range(0, len(starts), at_once):
            rows = [self._row_of(start) for start in starts[low : low + at_once]]
            yield from self._stored(np.array(rows), ids)

    def _stored(self, rows: np.ndarray, ids: np.ndarray) -> Iterator[bytes]:
        width = min(len(ids), self._room)
        used = np.flatnonzero(self._stores[0][0, rows, :width])
        which, group = used // width, used % width
        bounds = np.searchsorted(which, np.arange(len(rows) + 1)).tolist()
        places = rows[which] * self._room + group
        events, values, *states = (store.reshape(len(store), -1)[:, places] for store in self._stores)
        known, is_same = ids[group], np.array_equal(events, values)
        for low, high in pairwise(bounds):
            slice_ = StoredSlice(
                known[low:high].tobytes(),
                events[0, low:high].tobytes(),
                b"" if is_same else values[0, low:high].tobytes(),
                [pack_states(each[:, low:high]) for each in states],
            )
            yield msgspec.msgpack.encode(slice_)

    def holds(self, width: int) -> np.ndarray:
        """Which groups have events in some slice that is open or just closed."""
        self._widen(width)
        held = np.zeros(width, np.bool_)
        for row in (*self._rows.values(), *self._closed.values()):
            held |= self._stores[0][0, row, :width] > 0
        return held

    def keep(self, groups: np.ndarray) -> None:
        """Keep these groups only, in this order."""
        self._move(self._used, self.depth, roomy(len(groups)), groups)

    # --- rows -----------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """How many slices there is room for."""
        return int(self._stores[0].shape[1])

    @property
    def _room(self) -> int:
        return int(self._stores[0].shape[2])

    def _row_of(self, start: int) -> int:
        return self._rows[start] if start in self._rows else self._closed[start]

    @property
    def _used(self) -> dict[int, int]:
        """Rows of open slices and of those just closed, that stay where they are."""
        return {row: row for row in (*self._rows.values(), *self._closed.values())}

    def _widen(self, width: int) -> None:
        if width > self._room:
            self._move(self._used, self.depth, roomy(width))

    def _deepen(self, rows: int) -> None:
        """Make room for so many slices more."""
        missing, depth = rows - len(self._free), self.depth
        if missing > 0:
            self._move(self._used, max(FEW_ROWS, 2 * depth, depth + missing), self._room)
            self._free = [*range(self.depth - 1, depth - 1, -1), *self._free]

    def _release(self) -> None:
        """Let go of the rows of slices that closed before; of most room, where little of it is in use."""
        self._free += self._closed.values()
        self._free.sort(reverse=True)  # rows one after the other are the quickest to work on
        self._closed = {}
        depth = max(FEW_ROWS, 2 * len(self._rows))
        if 2 * depth < self.depth:
            self._move({row: at for at, row in enumerate(self._rows.values())}, depth, self._room)
            self._rows = {start: row for row, start in enumerate(self._rows)}
            self._free = list(range(depth - 1, len(self._rows) - 1, -1))

    def _move(self, rows: Mapping[int, int], depth: int, room: int, groups: Groups = slice(None)) -> None:
        """To other arrays, by row where it is to be; others are not touched, so that they take no memory."""
        for at, (store, nothing) in enumerate(zip(self._stores, self._nothing, strict=True)):
            moved = np.empty((len(store), depth, room), store.dtype)
            for old, new in rows.items():
                kept = store[:, old, groups]
                moved[:, new, : kept.shape[1]] = kept
                moved[:, new, kept.shape[1] :] = nothing[:, 0]
            self._stores[at] = moved


def closed_states(part: Part, gathered: np.ndarray) -> np.ndarray:
    """The states that gathered ones become: (columns, groups)."""
    if isinstance(part.gathering, Objects):
        states = np.empty_like(gathered)
        for at, item in enumerate(gathered[0]):
            states[0, at] = part.gathering.closed(item)
        return states
    return part.gathering.closed(gathered)
