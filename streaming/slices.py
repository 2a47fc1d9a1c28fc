"""A lane's slices in memory: open ones gather partials, closed ones stand in rings and feed the kernels."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

import numpy as np

from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import lacks
from streaming.aggregates.base import Part
from streaming.aggregates.count import COUNT
from streaming.aggregates.states import PARTS
from streaming.columns import Columns, WindowColumns
from streaming.group_index import GroupIndex
from streaming.kernels import SliceRing, traits_of
from streaming.ladders import Ladders, Rung, States
from streaming.lane_kernels import (
    NOTHING_WANTED,
    Asked,
    Chain,
    ColumnKernels,
    Due,
    Wanted,
    for_each_end,
    spans,
)
from streaming.lane_partials import LanePartials
from streaming.lane_spans import Head, Tails
from streaming.lanes import EARLIEST, LATEST, Lane
from streaming.open_slices import AT_ONCE, OpenSlices


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

    def append(self, starts: Sequence[int], columns: WindowColumns) -> None:
        rows = (columns.events[None], columns.values[None], *columns.parts)
        for ring, each in zip(self.rings, rows, strict=True):
            ring.append(each)
        self.starts += starts

    def widen(self, width: int) -> None:
        for ring in self.rings:
            ring.widen(width)

    def number_from(self, instant: int) -> int:
        """The number of the first kept slice that starts at or after `instant`."""
        return self.first + bisect_left(self.starts, instant)

    def numbers_from(self, instants: np.ndarray) -> np.ndarray:
        """The same for many, of which there are fewer than slices in a long window."""
        found = [bisect_left(self.starts, instant) for instant in instants.tolist()]
        return self.first + np.array(found, np.int64)

    def evict_before(self, instant: int) -> None:
        number = self.number_from(instant)
        del self.starts[: number - self.first]
        for ring in self.rings:
            ring.evict_before(number)

    def fit(self) -> None:
        for ring in self.rings:
            ring.fit()


class LaneSlices:
    """All slices of a lane in one shard, and the kernels that answer from them."""

    def __init__(self, lane: Lane, wanted: Wanted = NOTHING_WANTED) -> None:
        self.lane = lane
        self.parts = [PARTS[name] for name in lane.signature.parts]
        self.open = OpenSlices(self.parts)
        self.closed = ClosedSlices(self.parts)
        self.seconds = 0.0  # of this batch, for answers
        self._just_closed = 0  # how many slices, in this batch
        self._wanted = wanted
        self._spent = 0  # steps of kernels that have gone
        self.may_shrink = False  # slices were kept for windows that are not asked for any more
        self._kernels = self._new_kernels()
        self._ladders = Ladders()
        self._places: dict[str, list[int]] = {}
        self._heads: dict[int, Head] = {}  # by the instant from which on
        self._tails: dict[int, Tails] = {}  # by the instant up to which

    def _new_kernels(self) -> list[ColumnKernels]:
        # Numbers of events and values are exact, for which prefix differences take the fewest operations.
        names = ["prefix_difference", "prefix_difference", *self._kernels_of_parts()]
        every = {
            window: self.lane.most_slices(window) for window in frozenset().union(*self._wanted.values())
        }
        of_parts = {window: every[window] for window in self._wanted[()]}  # others are made of answers
        most = [every, every, *repeat(of_parts, len(self.parts))]
        ahead = max(every.values(), default=1)
        return [
            ColumnKernels(name, ring, each, ahead)
            for name, ring, each in zip(names, self.closed.rings, most, strict=True)
        ]

    def _kernels_of_parts(self) -> list[str]:
        """The planned one; a lane may keep parts from an older plan that it is not for."""
        needs = traits_of(self.lane.kernel).needs
        return ["flatfit" if lacks(part.algebra, needs) else self.lane.kernel for part in self.parts]

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What is done in the block is done for its answers."""
        began = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - began

    def places_of(self, aggregate: str) -> list[int]:
        """Which of its parts are those of an aggregate, in its order."""
        if aggregate not in self._places:
            at = {part.name: place for place, part in enumerate(self.parts)}
            self._places[aggregate] = [at[part.name] for part in AGGREGATES[aggregate].states]
        return self._places[aggregate]

    @property
    def steps(self) -> int:
        return self._spent + sum(kernels.steps for kernels in self._kernels) + self._ladders.steps

    @property
    def state_bytes(self) -> int:
        """What the slices take; of texts and lists only their places are counted."""
        of_one = sum(ring.rows.itemsize * len(ring.rows) for ring in self.closed.rings)
        return of_one * self.closed.rings[0].groups * (len(self.closed.starts) + len(self.open))

    def redefine(self, lane: Lane, wanted: Wanted) -> None:
        """The lane under a newer plan, or cut otherwise: kernels for what is wanted by now.

        They are built from the slices at hand: nothing stays of windows that nobody wants any more.
        """
        before = (self.lane.kernel, self.lane.cuts, self._wanted)
        if lane.cuts != self.lane.cuts:
            self.open.recut(lane.slice_end)
        self.lane, self._wanted = lane, wanted
        if before != (lane.kernel, lane.cuts, wanted):
            self._spent = self.steps
            self._kernels = self._new_kernels()
            self._ladders.ask(wanted, self._kernels_of_parts())
            self.may_shrink = True

    def merge(self, partials: LanePartials, groups: np.ndarray, width: int) -> list[int]:
        """Gather partials in their open slices; returns the starts of the slices touched."""
        return self.open.merge(partials, groups, width, self.lane.slice_end)

    def restore(self, stored: Sequence[tuple[int, bytes]], index: GroupIndex, watermark: int) -> None:
        """Take stored slices back, in order of starts; those that end up to the watermark are closed."""
        at_once = max(1, AT_ONCE // max(1, len(index)))
        for low in range(0, len(stored), at_once):
            for start, data in stored[low : low + at_once]:
                self.open.merge_bytes(start, data, index, self.lane.slice_end)
            self.close_until(watermark, len(index))

    def close_until(self, instant: int, width: int) -> None:
        """Close the slices that end at or before `instant`, oldest first."""
        ended = self.open.ended(instant)
        at_once = max(1, AT_ONCE // max(1, width))
        for low in range(0, len(ended), at_once):
            some = ended[low : low + at_once]
            self.closed.append(some, self.open.columns(some, width))
        self.open.close(ended)
        self._just_closed = len(ended)
        self.closed.widen(width)

    def finals(self, dues: Sequence[Due], now: int) -> WindowColumns:
        """The windows that are due, from closed slices alone; to be used before the next ones are asked for.

        Answers that longer windows are made of are taken when their slices close, at `now`, since kernels do
        not go back.
        """
        self._ladders.complete(self._wanted, self._new_rung)
        asked = self._asked(dues)
        events, values = (kernels.finals(asked) for kernels in self._kernels[:2])
        if len(self._wanted) > 1 and self.parts:
            shape, rings = events.shape[1:], self.closed.rings[2:]
            states: States = [np.empty((len(ring.rows), *shape), ring.rows.dtype) for ring in rings]
            self._climb((), dues, now, states)
        else:
            states = [kernels.finals(asked) for kernels in self._kernels[2:]]
        return WindowColumns(events[0], values[0], tuple(states))

    def _asked(self, dues: Sequence[Due]) -> Asked:
        starts, ends = spans(dues)
        numbers = self.closed.numbers_from
        return Asked(dues, numbers(ends) - 1, numbers(starts))

    def _climb(self, chain: Chain, dues: Sequence[Due], now: int, states: States) -> None:
        """Answer what is made of this chain's answers, then what is made of those."""
        above = self._ladders.after(chain)
        of_members = [due for due in dues if due.through == chain]
        of_rungs = []
        for _, rung in above:
            rung.widen(self.closed.rings[0].groups)
            of_rungs.append(Due(rung.window, rung.due(now, self.closed.starts)))
        found = self._found(chain, [*of_members, *of_rungs])
        own = np.flatnonzero(for_each_end(dues, [due.through == chain for due in dues]))
        for answers, each in zip(states, found, strict=True):
            answers[:, own] = each[:, : len(own)]
        at = len(own)
        for (_, rung), due in zip(above, of_rungs, strict=True):
            rung.append(due.ends, [each[:, at : at + len(due.ends)] for each in found])
            at += len(due.ends)
        for longer, _ in above:
            self._climb(longer, dues, now, states)

    def _found(self, chain: Chain, dues: Sequence[Due]) -> States:
        if chain:
            return self._ladders.rung(chain).finals(dues)
        asked = self._asked(dues)
        return [kernels.finals(asked) for kernels in self._kernels[2:]]

    def _new_rung(self, chain: Chain) -> Rung:
        """With the answers of windows that lie in slices which the kernels have taken in already."""
        window = chain[-1]
        rung = Rung(window, self.parts, EARLIEST)
        rung.ask(self._kernels_of_parts(), self._wanted[chain])
        seen = self.closed.starts[: len(self.closed.starts) - self._just_closed]
        if seen:
            width = self.closed.rings[0].groups
            for end in rung.due(self.lane.slice_end(seen[-1]), seen):
                states = self._closed_between(end - window.range, end, width).parts
                rung.append([end], [part[:, None] for part in states])
        return rung

    def provisionals(self, dues: Sequence[Due], width: int) -> WindowColumns:
        """Windows that are not final: closed slices from their start on, open ones up to their end."""
        starts, ends = spans(dues)
        lows, which = np.unique(self.closed.numbers_from(starts), return_inverse=True)
        events, values, *states = (kernels.ahead(lows)[:, which] for kernels in self._kernels)
        windows = WindowColumns(events[0], values[0], tuple(states))
        for at in self.open.starts:
            inside = np.flatnonzero((starts <= at) & (self.open.end_of(at) <= ends))
            if len(inside):
                windows.add(inside, self.open.columns([at], width).one(0), self.parts)
        return windows

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
        inside = [at for at in self.open.starts if start <= at and self.open.end_of(at) <= end]
        for at in inside:
            columns = columns.combined(self.open.columns([at], width).one(0), self.parts)
        return columns

    def holds(self, width: int) -> np.ndarray:
        """Which groups have events in some slice."""
        events = self.closed.rings[0]
        events.widen(width)
        held = np.zeros(width, np.bool_)
        for number in range(events.first, events.next):
            held |= events.row(number)[0, :width] > 0
        return held | self.open.holds(width)

    def keep_groups(self, groups: np.ndarray) -> None:
        """Keep these groups only, in this order; kernels are built anew from the slices."""
        for ring in self.closed.rings:
            ring.keep(groups)
        self.open.keep(groups)
        self._spent = self.steps
        self._kernels = self._new_kernels()
        self._ladders = Ladders()
        self._heads, self._tails = {}, {}

    def first_start_from(self, instant: int) -> int:
        """The start of the first slice that holds events and starts at or after `instant`; `LATEST`: none."""
        at = bisect_left(self.closed.starts, instant)
        if at < len(self.closed.starts):
            return self.closed.starts[at]
        at = bisect_left(self.open.starts, instant)
        return self.open.starts[at] if at < len(self.open.starts) else LATEST

    def starts(self) -> list[int]:
        """Starts of all slices that hold events, ascending."""
        return self.closed.starts + self.open.starts

    def evict_before(self, instant: int) -> list[int]:
        """Forget slices that no window reaches back to; returns their starts."""
        gone = self.closed.starts[: bisect_left(self.closed.starts, instant)]
        self.closed.evict_before(instant)
        self._ladders.evict_before(instant)
        if self.may_shrink:
            self.closed.fit()
            self._ladders.fit()
            self.may_shrink = False
        self._heads = {change: head for change, head in self._heads.items() if change >= instant}
        self._tails = {change: tails for change, tails in self._tails.items() if change > instant}
        for tails in self._tails.values():
            tails.forget_before(self.closed.first)
        return gone
