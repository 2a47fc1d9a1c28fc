"""Batched: a kernel over all groups of a shard, fed with many slices at once.

The kernel records on a tape which rows are to be combined, which is the same for all groups, and the tape is
played over the arrays. Everything that is kept here can be made anew from the ring of slices.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from streaming.aggregates.algebra import identity_rows, running_rows
from streaming.compiled import compiled
from streaming.kernels.base import amend, drive, drive_apart
from streaming.kernels.run.ring import RingColumn, SliceRing
from streaming.kernels.run.rows import rows_of
from streaming.kernels.run.tape import Tape, new_tape, play, play_running
from streaming.kernels.run.workbench import Workbench

LEAST_TAPE = 1 << 14
NONE_DUE = np.zeros((0, 5), np.int64)


def every_slide(first: int, count: int, ranges: Sequence[int]) -> np.ndarray:
    """Dues of queries that answer after every slice, over fixed numbers of slices: longest first."""
    order = sorted(range(len(ranges)), key=lambda query: -ranges[query])
    newest = np.repeat(np.arange(first, first + count), len(ranges))
    query = np.tile(order, count)
    low = newest - np.array(ranges)[query] + 1
    answer = (newest - first) * len(ranges) + query
    return np.stack([newest, low, np.ones_like(low), query, answer], axis=1).astype(np.int64)


def grown(span: int, held: int, limit: int | None) -> int:
    """The span that has room for what a window holds: the next power of two, but not beyond the limit.

    It follows from the most that was held, not from the way there, so that a kernel costs the same whatever
    it has lived through.
    """
    if held <= span:
        return span
    roomy = 1 << (held - 1).bit_length()
    return roomy if limit is None else max(held, min(roomy, limit))


class Batched:
    """`spans` are how many slices each query's windows hold at most; they grow when one holds more."""

    def __init__(
        self, kernel: Any, ring: SliceRing, spans: Sequence[int], limits: Sequence[int] | None = None
    ) -> None:
        self.operations = 0  # of the algebra, for each group
        self.spans = list(spans)
        self._limits: Sequence[int | None] = limits or [None] * len(spans)
        self.ring = ring
        self._kind = kernel
        self._answers: np.ndarray = np.empty((ring.rows.shape[0], 0, 0), ring.algebra.dtype)
        self._next = ring.first
        self.rebuild()

    def advance(self, dues: np.ndarray) -> np.ndarray:
        """Take the ring's new slices and answer what is due: (columns, answers, groups).

        A due is (after which slice, low, how many lows, query, answer), in order of slices and of lows. The
        array is used again by the next call.
        """
        held = np.zeros(len(self.spans), np.int64)
        most, room = _survey(dues, held)
        self._fit(held.tolist(), most)
        count = self.ring.next - self._next
        answers = self._room_for(room)
        dues = dues.copy()
        _clip(dues, self._first)
        if hasattr(self._kernel, "forget"):
            self._kernel.forget(self.ring.intact)
        if self._kernel.traits.apart and len(self.spans) > 1:
            dues = dues[np.argsort(dues[:, 3], kind="stable")]
        self._drive(self._next, count, dues, answers)
        self._play(answers)
        self._next += count
        return answers[:, :, : self.ring.groups]

    def mend(self, numbers: Sequence[int]) -> None:
        """Late partials were folded into these slices of the ring."""
        for number in (each for each in numbers if self._first <= each < self._next):
            if not _amend(self._kernel, self._tape, number, self._next - 1):
                self._tape.used[0] = 0
                self.rebuild()
                return
            self._play(self._room_for(0))

    def keep(self, groups: np.ndarray) -> None:
        """The ring has kept these groups only."""
        kept = self._empty(self._store.shape[1])
        kept[:, :, : len(groups)] = self._store[:, :, groups]
        self._store = kept

    def rebuild(self) -> None:
        """Make everything anew from the slices that are kept."""
        ring = self.ring
        self._first = max(ring.first, self._next - max(self.spans))
        make = getattr(self._kind, "for_rows", self._kind.new)
        self._kernel = make(self.spans, self._first, ring.algebra.commutative)
        self._tape = new_tape(max(LEAST_TAPE, 2 * int(self._kernel.effort())))
        self._store = self._empty(self._kernel.rows())
        self._drive(self._first, self._next - self._first, NONE_DUE, self._room_for(0))
        self._play(self._room_for(0))

    def _fit(self, held: list[int], most: int) -> None:
        """Grow where a window holds more slices than its query was made for, or where groups have come."""
        room = most * int(self._kernel.effort())
        if any(span > known for span, known in zip(held, self.spans, strict=True)):
            self.spans = list(map(grown, self.spans, held, self._limits))
            self.rebuild()
        if room > len(self._tape.entries):
            self._tape = new_tape(2 * room)
        missing = self.ring.rows.shape[2] - self._store.shape[2]
        if missing > 0:
            more = self._empty(self._store.shape[1])[:, :, :missing]
            self._store = np.concatenate([self._store, more], axis=2)

    def _drive(self, first: int, count: int, dues: np.ndarray, answers: np.ndarray) -> None:
        """Record what is to be done; where the tape is full, do it."""
        progress = np.zeros(2, np.int64)
        driver = drive_apart if self._kernel.traits.apart else drive
        while not driver(self._kernel, self._tape, first, count, dues, progress):
            self._play(answers)

    def _play(self, answers: np.ndarray) -> None:
        algebra = self.ring.algebra
        self.operations += int(self._tape.used[1])
        self._tape.used[1] = 0
        if algebra.dtype is object:
            _play_objects(self._tape, self.ring, self._store, answers)
            return
        rows = rows_of(algebra, self.ring.rows, self._store, answers)
        player = play_running if self._kernel.traits.running else play
        player(self._tape, rows)

    def _empty(self, rows: int) -> np.ndarray:
        fill = running_rows if self._kernel.traits.running else identity_rows
        return fill(self.ring.algebra, rows, self.ring.rows.shape[2])

    def _room_for(self, answers: int) -> np.ndarray:
        columns, _, groups = self.ring.rows.shape
        too_few = self._answers.shape[1] < answers if columns == 1 else self._answers.shape[1] != answers
        if too_few or self._answers.shape[2] != groups:
            self._answers = np.empty((columns, answers, groups), self.ring.algebra.dtype)
        return self._answers[:, :answers]  # contiguous, as rows must be


@compiled
def _survey(dues, held):
    """How many slices each query's windows hold at most; the most lows of a due, and the rows of answers."""
    most, room = 1, 0
    for due in range(len(dues)):
        query, lows = dues[due, 3], dues[due, 2]
        held[query] = max(held[query], dues[due, 0] - dues[due, 1] + 1)
        most = max(most, lows)
        room = max(room, dues[due, 4] + lows)
    return most, room


@compiled
def _clip(dues, first):
    """Slices before the first hold nothing."""
    for due in range(len(dues)):
        dues[due, 1] = max(dues[due, 1], first)


@compiled
def _amend(kernel, tape, number, newest):
    return amend(kernel, tape, number, newest)


def _play_objects(tape: Tape, ring: SliceRing, store: np.ndarray, answers: np.ndarray) -> None:
    """States that are Python values: the same tape, a group after the other."""
    length = tape.used[0]
    for group in range(ring.groups):
        column = RingColumn(ring, group)
        bench = Workbench(ring.algebra, store[0, :, group], column, answers[0, :, group])
        tape.used[0] = length
        play.py_func(tape, bench)
    tape.used[0] = 0
