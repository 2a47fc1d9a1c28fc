"""A lane's slices in memory: open ones gather partials, closed ones stand in rings and feed the kernels."""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from optimizer.windows import Window
from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import lacks
from streaming.aggregates.base import Part
from streaming.aggregates.count import COUNT
from streaming.aggregates.gathering import Objects
from streaming.aggregates.states import PARTS
from streaming.columns import Columns
from streaming.group_index import GroupIndex
from streaming.kernels import SliceRing, traits_of
from streaming.kernels.run.gathered import gather_into
from streaming.ladders import Chain, Ladders, Rung, States
from streaming.lane_kernels import ColumnKernels
from streaming.lane_partials import LanePartials, nothing_gathered
from streaming.lane_spans import Head, Tails
from streaming.lanes import EARLIEST, LATEST, Lane
from streaming.shuffle import pack_states, unpack_states


class Due(NamedTuple):
    """A window that is to be answered, and the windows whose answers it is made of."""

    window: Window
    end: int
    through: Chain = ()


class StoredSlice(msgspec.Struct, array_like=True):
    """A slice as the state store keeps it: gathered states of the groups that have events."""

    group: bytes
    events: bytes
    values: bytes
    parts: list[bytes]


class OpenSlice:
    """A slice that still gathers partials."""

    def __init__(self, start: int, end: int, parts: Sequence[Part], width: int) -> None:
        self.start = start
        self.end = end
        self._parts = parts
        self._counts = np.zeros((2, width))  # events, values
        self._gathered = [nothing_gathered(part.gathering, width) for part in parts]

    def merge(
        self,
        group: np.ndarray,
        events: np.ndarray,
        values: np.ndarray,
        states: Sequence[np.ndarray],
        width: int,
    ) -> None:
        """Gather partials of groups, of which one may come several times."""
        self._widen(width)
        gather_into(COUNT, group, events[None], self._counts[:1])
        gather_into(COUNT, group, values[None], self._counts[1:])
        for part, own, more in zip(self._parts, self._gathered, states, strict=True):
            if isinstance(part.gathering, Objects):
                for at, item in zip(group.tolist(), more[0], strict=True):
                    own[0, at] = part.gathering.combine(own[0, at], item)
            else:
                gather_into(part.gathering.algebra, group, np.ascontiguousarray(more), own)

    def columns(self, width: int) -> Columns:
        """What it holds by now."""
        self._widen(width)
        states = (
            closed_states(part, gathered[:, :width])
            for part, gathered in zip(self._parts, self._gathered, strict=True)
        )
        return Columns(self._counts[0, :width], self._counts[1, :width], tuple(states))

    def to_bytes(self, ids: np.ndarray) -> bytes:
        """`ids` are those of the groups by number, which may change."""
        group = np.flatnonzero(self._counts[0])
        stored = StoredSlice(
            ids[group].tobytes(),
            self._counts[0, group].tobytes(),
            self._counts[1, group].tobytes(),
            [pack_states(gathered[:, group]) for gathered in self._gathered],
        )
        return msgspec.msgpack.encode(stored)

    def merge_bytes(self, data: bytes, index: GroupIndex) -> None:
        stored = msgspec.msgpack.decode(data, type=StoredSlice)
        states = [unpack_states(each, part) for each, part in zip(stored.parts, self._parts, strict=True)]
        group = index.numbers_of(np.frombuffer(stored.group, np.int64))
        self.merge(group, np.frombuffer(stored.events), np.frombuffer(stored.values), states, len(index))

    def holds(self, width: int) -> np.ndarray:
        """Which groups have events in it."""
        self._widen(width)
        return self._counts[0, :width] > 0

    def keep(self, groups: np.ndarray) -> None:
        """Keep these groups only, in this order."""
        self._counts = self._counts.take(groups, axis=1)
        self._gathered = [gathered.take(groups, axis=1) for gathered in self._gathered]

    def _widen(self, width: int) -> None:
        known = self._counts.shape[1]
        if width <= known:
            return
        missing = max(width - known, known)
        self._counts = np.concatenate([self._counts, np.zeros((2, missing))], axis=1)
        self._gathered = [
            np.concatenate([gathered, nothing_gathered(part.gathering, missing)], axis=1)
            for part, gathered in zip(self._parts, self._gathered, strict=True)
        ]


def closed_states(part: Part, gathered: np.ndarray) -> np.ndarray:
    """The states that gathered ones become: (columns, groups)."""
    if isinstance(part.gathering, Objects):
        states = np.empty_like(gathered)
        for at, item in enumerate(gathered[0]):
            states[0, at] = part.gathering.closed(item)
        return states
    return part.gathering.closed(gathered)


class ClosedSlices:
    """Closed slices by number: a ring for the events, one for the values, and one for each part."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.rings = (SliceRing(COUNT), SliceRing(COUNT), *(SliceRing(part.algebra) for part in parts))
        self.starts: list[int] = []  # of the kept slices, ascending

    @property
    def first(self) -> int:
        return self.rings[0].first

    def columns(self, number: int) -> Columns:
        events, values, *states = (ring.row(number) for ring in self.rings)
        return Columns(events[0], values[0], tuple(states))

    def append(self, start: int, columns: Columns) -> None:
        rows = (columns.events[None], columns.values[None], *columns.parts)
        for ring, row in zip(self.rings, rows, strict=True):
            ring.append(row)
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
        self.parts = [PARTS[name] for name in lane.signature.parts]
        self.open: dict[int, OpenSlice] = {}
        self._open_starts: list[int] = []  # ascending
        self.closed = ClosedSlices(self.parts)
        self.seconds = 0.0
        self._just_closed: dict[int, OpenSlice] = {}  # in this batch: to be stored as they were gathered
        self._kernels = self._new_kernels()
        self._ladders = Ladders()
        self._places: dict[str, list[int]] = {}
        self._heads: dict[int, Head] = {}  # by the instant from which on
        self._tails: dict[int, Tails] = {}  # by the instant up to which

    def _new_kernels(self) -> list[ColumnKernels]:
        # Numbers of events and values are exact, for which prefix differences take the fewest operations.
        names = ["prefix_difference", "prefix_difference", *(self._kernel_for(part) for part in self.parts)]
        return [ColumnKernels(name, ring) for name, ring in zip(names, self.closed.rings, strict=True)]

    def _kernel_for(self, part: Part) -> str:
        """The planned one; a lane may keep parts from an older plan that it is not for."""
        fits = not lacks(part.algebra, traits_of(self.lane.kernel).needs)
        return self.lane.kernel if fits else "flatfit"

    def places_of(self, aggregate: str) -> list[int]:
        """Which of its parts are those of an aggregate, in its order."""
        if aggregate not in self._places:
            at = {part.name: place for place, part in enumerate(self.parts)}
            self._places[aggregate] = [at[part.name] for part in AGGREGATES[aggregate].states]
        return self._places[aggregate]

    @property
    def steps(self) -> int:
        return sum(kernels.steps for kernels in self._kernels) + self._ladders.steps

    @property
    def state_bytes(self) -> int:
        """What the slices take; of texts and lists only their places are counted."""
        of_one = sum(ring.rows.itemsize * len(ring.rows) for ring in self.closed.rings)
        return of_one * self.closed.rings[0].groups * (len(self.closed.starts) + len(self.open))

    def redefine(self, lane: Lane) -> None:
        """The lane under a newer plan; another kernel is built from the slices at hand."""
        changed = lane.kernel != self.lane.kernel
        if lane.cuts != self.lane.cuts:
            for each in self.open.values():
                each.end = lane.slice_end(each.start)  # a plan may have cut it short
        self.lane = lane
        if changed:
            self._kernels = self._new_kernels()
            self._ladders = Ladders()

    def merge(self, partials: LanePartials, groups: np.ndarray, width: int) -> list[int]:
        """Gather partials in their open slices; returns the starts of the slices touched."""
        starts, position = np.unique(partials.start, return_inverse=True)
        by_slice = np.argsort(position, kind="stable")
        bounds = np.searchsorted(position[by_slice], np.arange(len(starts) + 1)).tolist()
        group = groups[partials.group[by_slice]]
        events, values = partials.events[by_slice], partials.values[by_slice]
        parts = [states[:, by_slice] for states in partials.parts]
        for start, low, high in zip(starts.tolist(), bounds, bounds[1:], strict=False):
            self.open_slice(start, width).merge(
                group[low:high],
                events[low:high],
                values[low:high],
                [states[:, low:high] for states in parts],
                width,
            )
        return starts.tolist()

    def open_slice(self, start: int, width: int) -> OpenSlice:
        if start not in self.open:
            end = self.lane.slice_end(start)
            self.open[start] = OpenSlice(start, end, self.parts, width)
            insort(self._open_starts, start)
        return self.open[start]

    def close_until(self, instant: int, width: int) -> None:
        """Close the slices that end at or before `instant`, oldest first."""
        self._just_closed.clear()
        for start in [start for start in self._open_starts if self.open[start].end <= instant]:
            self._just_closed[start] = self.open.pop(start)
            self.closed.append(start, self._just_closed[start].columns(width))
        self._open_starts = sorted(self.open)
        self.closed.widen(width)

    def finals(self, dues: Sequence[Due], now: int, chains: set[Chain]) -> list[Columns]:
        """The windows that are due, in order of ends, from closed slices alone.

        `chains` are those of all members: answers that longer windows are made of are taken when their slices
        close, at `now`, since kernels do not go back.
        """
        self._ladders.keep(chains, self._new_rung)
        wanted = self._numbered([(due.window, due.end) for due in dues])
        events, values = (kernels.finals(wanted) for kernels in self._kernels[:2])
        states: list[States] = [()] * len(dues)
        if self.parts:
            self._climb((), list(enumerate(dues)), now, states)
        return [Columns(e[0], v[0], s) for e, v, s in zip(events, values, states, strict=True)]

    def _numbered(self, asked: Sequence[tuple[Window, int]]) -> list[tuple[Window, int, int]]:
        """With the numbers of their newest and oldest slice."""
        number = self.closed.number_from
        return [(window, number(end) - 1, number(end - window.range)) for window, end in asked]

    def _climb(self, chain: Chain, dues: list[tuple[int, Due]], now: int, states: list[States]) -> None:
        """Answer what is made of this chain's answers, then what is made of those."""
        above = self._ladders.after(chain)
        asked: list[tuple[int, Window, Callable[[States], None]]] = [
            (due.end, due.window, partial(states.__setitem__, place))
            for place, due in dues
            if due.through == chain
        ]
        for _, rung in above:
            rung.widen(self.closed.rings[0].groups)
            ends = rung.due(now, self.closed.starts)
            asked += [(end, rung.window, partial(rung.append, end)) for end in ends]
        asked.sort(key=lambda each: each[0])
        windows = [(window, end) for end, window, _ in asked]
        found = self._ladders.rung(chain).finals(windows) if chain else self._of_slices(windows)
        for (_, _, keep), answer in zip(asked, found, strict=True):
            keep(answer)
        for longer, _ in above:
            self._climb(longer, dues, now, states)

    def _of_slices(self, windows: Sequence[tuple[Window, int]]) -> list[States]:
        wanted = self._numbered(windows)
        return list(zip(*(kernels.finals(wanted) for kernels in self._kernels[2:]), strict=True))

    def _new_rung(self, chain: Chain) -> Rung:
        """With the answers of windows that lie in slices which the kernels have taken in already."""
        window = chain[-1]
        names = [self._kernel_for(part) for part in self.parts]
        rung = Rung(window, self.parts, names, EARLIEST)
        seen = self.closed.starts[: len(self.closed.starts) - len(self._just_closed)]
        if seen:
            width = self.closed.rings[0].groups
            for end in rung.due(self.lane.slice_end(seen[-1]), seen):
                rung.append(end, self._closed_between(end - window.range, end, width).parts)
        return rung

    def provisionals(self, spans: Sequence[tuple[int, int]], width: int) -> list[Columns]:
        """Windows `[start, end)` that are not final: closed slices from `start` on, open ones up to `end`."""
        lows = {start: self.closed.number_from(start) for start, _ in spans}
        order = sorted(set(lows.values()))
        found = self._columns([kernels.ahead(order) for kernels in self._kernels])
        closed = dict(zip(order, found, strict=True))
        return [self._with_open(closed[lows[start]], start, end, width) for start, end in spans]

    def _columns(self, found: list[list[np.ndarray]]) -> list[Columns]:
        """What each kernel found, by answer."""
        return [
            Columns(events[0], values[0], tuple(states))
            for events, values, *states in zip(*found, strict=True)
        ]

    def between(self, start: int, end: int, width: int) -> Columns:
        """All slices inside `[start, end)`, one by one."""
        return self._with_open(self._closed_between(start, end, width), start, end, width)

    def from_change(self, change: int, end: int, width: int) -> Columns:
        """All slices inside `[change, end)`: of windows that changed to this lane at `change`."""
        first = self.closed.number_from(change)
        if change not in self._heads or self._heads[change].first != first:  # older slices closed meanwhile
            self._heads[change] = Head(first)
        closed = self._heads[change].until(self.closed.number_from(end), self.closed.columns, self.parts)
        return self._with_open(self._of_width(closed, width), change, end, width)

    def up_to_change(self, start: int, change: int, width: int) -> Columns:
        """All slices inside `[start, change)`: of windows that left this lane at `change`."""
        end = self.closed.number_from(change)
        if change not in self._tails or self._tails[change].end != end:
            self._tails[change] = Tails(end)
        closed = self._tails[change].since(self.closed.number_from(start), self.closed.columns, self.parts)
        return self._with_open(self._of_width(closed, width), start, change, width)

    def _of_width(self, columns: Columns | None, width: int) -> Columns:
        return Columns.empty(self.parts, width) if columns is None else columns.widened(width, self.parts)

    def _closed_between(self, start: int, end: int, width: int) -> Columns:
        self.closed.widen(width)
        columns = Columns.empty(self.parts, width)
        for number in range(self.closed.number_from(start), self.closed.number_from(end)):
            columns = columns.combined(self.closed.columns(number), self.parts)
        return columns

    def _with_open(self, columns: Columns, start: int, end: int, width: int) -> Columns:
        for at in self._open_starts:
            if start <= at and self.open[at].end <= end:
                columns = columns.combined(self.open[at].columns(width), self.parts)
        return columns

    def slice_bytes(self, start: int, ids: np.ndarray) -> bytes:
        """A slice that was touched in this batch, as the state log keeps it."""
        return (self.open.get(start) or self._just_closed[start]).to_bytes(ids)

    def holds(self, width: int) -> np.ndarray:
        """Which groups have events in some slice."""
        events = self.closed.rings[0]
        events.widen(width)
        held = np.zeros(width, np.bool_)
        for number in range(events.first, events.next):
            held |= events.row(number)[0, :width] > 0
        for each in (*self.open.values(), *self._just_closed.values()):
            held |= each.holds(width)
        return held

    def keep_groups(self, groups: np.ndarray) -> None:
        """Keep these groups only, in this order; kernels are built anew from the slices."""
        for ring in self.closed.rings:
            ring.keep(groups)
        for each in (*self.open.values(), *self._just_closed.values()):
            each.keep(groups)
        self._kernels = self._new_kernels()
        self._ladders = Ladders()
        self._heads, self._tails = {}, {}

    def first_start_from(self, instant: int) -> int:
        """The start of the first slice that holds events and starts at or after `instant`; `LATEST`: none."""
        at = bisect_left(self.closed.starts, instant)
        if at < len(self.closed.starts):
            return self.closed.starts[at]
        at = bisect_left(self._open_starts, instant)
        return self._open_starts[at] if at < len(self._open_starts) else LATEST

    def starts(self) -> list[int]:
        """Starts of all slices that hold events, ascending."""
        return self.closed.starts + self._open_starts

    def evict_before(self, instant: int) -> list[int]:
        """Forget slices that no window reaches back to; returns their starts."""
        gone = self.closed.starts[: bisect_left(self.closed.starts, instant)]
        self.closed.evict_before(instant)
        self._ladders.evict_before(instant)
        self._heads = {change: head for change, head in self._heads.items() if change >= instant}
        for tails in self._tails.values():
            tails.forget_before(self.closed.first)
        return gone
