"""Count windows: the last N events of a group after every M-th of them.

Events are ordered by their times and, where these are equal, by their places in the log. That order is only
known for good once the watermark has passed them; until then they wait. Of events that are in order, slices
of gcd(N, M) are made, and every answer is a run of slices.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from optimizer.group_windows import CountWindow
from streaming.aggregates.algebra import Algebra
from streaming.aggregates.base import Part
from streaming.group_rows import Rows, closed, merged
from streaming.group_steps import NEVER, Step, Tables
from streaming.kernels.run.gathered import combine_rows


class CountWindows:
    """Keeps two tables: begun slices and waiting events, with gathered states, and whole slices."""

    reach_back = 0

    def __init__(self, window: CountWindow, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._slice_events = window.slice_events
        self._slices = window.slices
        self._every = window.every // window.slice_events  # slices from one answer to the next
        # The newest slice of a group stays in any case: its number says how far the group has been counted.
        self._kept = max(self._slices - 1, 1)
        self.tables = ([part.gathering.algebra for part in parts], [part.algebra for part in parts])

    def step(self, held: Tables, arrived: Rows, now: int) -> Step:
        loose, whole = held
        rows = Rows.together([loose, arrived])
        rows = rows.only(np.lexsort((rows.mark, rows.last, rows.group)))
        in_order = rows.last < now
        slices = self._sliced(rows.only(in_order))
        is_whole = slices.events == self._slice_events
        loose = Rows.together([slices.only(~is_whole), rows.only(~in_order)])
        loose = loose.only(np.argsort(loose.group, kind="stable"))
        whole, is_new = self._with_new(whole, slices.only(is_whole))
        after = whole.mark + 1
        ends = is_new & (after % self._every == 0) & (after >= self._slices)
        answers, combined = self._answers(whole, np.flatnonzero(ends))
        return Step((loose, self._still_needed(whole)), answers, len(rows) + combined)

    def due(self, held: Tables, watermark: int) -> int:
        """The watermark that nothing needs to be done before, unless events come."""
        waiting = held[0].last[held[0].last >= watermark]
        return int(waiting.min()) + 1 if len(waiting) else NEVER

    def _sliced(self, rows: Rows) -> Rows:
        """Events in order, after the begun slice of their group, as slices; a group's last may be short."""
        if not len(rows):
            return rows
        is_first = np.diff(rows.group, prepend=-1) != 0
        before = np.cumsum(rows.events) - rows.events
        in_group = before - before[is_first][np.cumsum(is_first) - 1]
        number = (in_group // self._slice_events).astype(np.int64)
        begins = is_first | (np.diff(number, prepend=-1) != 0)
        return merged(rows, np.cumsum(begins) - 1, self._parts)

    def _with_new(self, whole: Rows, new: Rows) -> tuple[Rows, np.ndarray]:
        """All whole slices in order of groups and numbers, and which of them are new."""
        new = replace(new, mark=self._numbers(new, whole), parts=closed(self._parts, new))
        together = Rows.together([whole, new])
        in_turn = np.lexsort((together.mark, together.group))
        return together.only(in_turn), in_turn >= len(whole)

    def _numbers(self, new: Rows, whole: Rows) -> np.ndarray:
        """The numbers of new whole slices: they go on where those of their group ended."""
        if not len(new):
            return new.mark
        groups, first, counted = np.unique(new.group, return_index=True, return_counts=True)
        newest = np.searchsorted(whole.group, groups, side="right") - 1
        known = newest >= 0
        known[known] = whole.group[newest[known]] == groups[known]
        begin = np.zeros(len(groups), np.int64)
        begin[known] = whole.mark[newest[known]] + 1
        return np.arange(len(new)) + np.repeat(begin - first, counted)

    def _answers(self, whole: Rows, ends: np.ndarray) -> tuple[Rows, int]:
        """The windows that end with these slices, and how many states were combined for them."""
        if not len(ends):
            return whole.only(ends), 0
        needed = np.zeros(len(whole) + 1, np.int64)
        np.add.at(needed, ends - self._slices + 1, 1)
        np.add.at(needed, ends + 1, -1)
        used = np.cumsum(needed[:-1]) > 0
        rows, last = whole.only(used), (np.cumsum(used) - 1)[ends]
        first = last - self._slices + 1
        counted = np.concatenate([[0.0], np.cumsum(rows.values)])
        states, combined = [], 0
        for part, held in zip(self._parts, rows.parts, strict=True):
            found, steps = _spans(part.algebra, held, first, self._slices)
            states.append(found)
            combined += steps
        return Rows(
            rows.group[last],
            rows.first[first],
            rows.last[last],
            rows.last[last] + 1,
            np.full(len(ends), float(self._slices * self._slice_events)),
            counted[last + 1] - counted[first],
            tuple(states),
        ), combined

    def _still_needed(self, whole: Rows) -> Rows:
        """Without slices that no later window reaches back to."""
        if not len(whole):
            return whole
        tails = np.append(np.flatnonzero(np.diff(whole.group)), len(whole) - 1)
        newest = whole.mark[tails][np.searchsorted(whole.group[tails], whole.group)]
        return whole.only(newest - whole.mark < self._kept)


def _spans(algebra: Algebra, states: np.ndarray, first: np.ndarray, length: int) -> tuple[np.ndarray, int]:
    """The aggregates of `length` states from each of some places on, and how many were combined."""
    if algebra.dtype is object:
        found = np.empty((1, len(first)), object)
        for at, begin in enumerate(first.tolist()):
            found[0, at] = reduce(algebra.combine, states[0, begin : begin + length])
        return found, len(first) * (length - 1)
    # By runs of 1, 2, 4, … states: those that the length is the sum of, the oldest first.
    pieces: list[np.ndarray] = []
    run, combined = 1, 0
    while run <= length:
        if run > 1:
            half = run // 2
            states = combine_rows(algebra, states[:, :-half], states[:, half:])
            combined += states.shape[1]
        if length & run:
            pieces.append(states[:, first])
            first = first + run
            combined += len(first)
        run *= 2
    return reduce(partial(combine_rows, algebra), pieces), combined
