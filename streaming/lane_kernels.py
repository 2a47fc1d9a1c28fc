"""The kernels of a lane: the windows that they are asked for, and windows ahead of the final ones."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from optimizer.windows import Window
from streaming.kernels import SliceRing, batched, traits_of
from streaming.kernels.run.batched import NONE_DUE, Batched
from streaming.kernels.slickdeque_noninv import BatchedDeques

Chain = tuple[Window, ...]  # windows, each made of the answers to the one before
Wanted = Mapping[Chain, frozenset[Window]]  # windows that are made of a chain's answers; of slices: ()
NOTHING_WANTED: Wanted = {(): frozenset()}


class Due(NamedTuple):
    """Instances of a window that are to be answered, and the windows whose answers they are made of."""

    window: Window
    ends: list[int]
    through: Chain = ()


def spans(dues: Sequence[Due]) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of all windows that are due."""
    ends: np.ndarray = np.fromiter((end for due in dues for end in due.ends), np.int64)
    return ends - for_each_end(dues, [due.window.range for due in dues]), ends


def for_each_end(dues: Sequence[Due], numbers: Sequence[int]) -> np.ndarray:
    """What is so for a due, for each of its ends."""
    return np.repeat(np.array(numbers, np.int64), np.array([len(due.ends) for due in dues], np.int64))


class Asked:
    """Windows that are asked for, with the numbers of their newest and oldest slice."""

    def __init__(self, dues: Sequence[Due], newest: np.ndarray, low: np.ndarray) -> None:
        number: dict[Window, int] = {}
        self._which = for_each_end(dues, [number.setdefault(due.window, len(number)) for due in dues])
        self._newest = newest
        self._low = low
        self._order = np.lexsort((low, newest))  # as kernels want them
        self.windows = list(number)  # the different ones

    def __len__(self) -> int:
        return len(self._which)

    def dues(self, query: Sequence[int]) -> np.ndarray:
        """All of them; `query` is the number that a kernel knows each of the different windows by."""
        at = self._order
        return _dues(self._newest[at], self._low[at], np.array(query, np.int64)[self._which[at]], at)

    def dues_of(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        """Which of them are for one window, and these dues."""
        number = self.windows.index(window) if window in self.windows else -1
        at = self._order[self._which[self._order] == number]
        return at, _dues(self._newest[at], self._low[at], 0, np.arange(len(at)))


def _dues(newest: np.ndarray, low: np.ndarray, query: np.ndarray | int, answer: np.ndarray) -> np.ndarray:
    dues = np.empty((len(low), 5), np.int64)
    dues[:, 0], dues[:, 1], dues[:, 2], dues[:, 3], dues[:, 4] = newest, low, 1, query, answer
    return dues


class ColumnKernels:
    """What answers from one column: the planned kernel, and one beside it that looks ahead of the finals.

    `most` has all windows that will be asked for, and how many slices each holds at most; `ahead` is the same
    for those that are not final yet. Answers are (columns, windows, groups), in arrays that the next call
    uses again.
    """

    def __init__(self, kernel: str, ring: SliceRing, most: Mapping[Window, int], ahead: int = 0) -> None:
        self._ring = ring
        self._final: dict[Window | None, Batched | BatchedDeques] = {}  # None: of all windows
        self._ahead: Batched | BatchedDeques | None = None
        self._number = {window: number for number, window in enumerate(sorted(most))}  # as queries
        traits = traits_of(kernel)
        if traits.rewinds:  # one query can be asked for any window, and for those that are not final
            self._number = dict.fromkeys(most, 0)
            self._final[None] = batched(kernel, ring, [1], [max(ahead, 1, *most.values())])
            return
        if traits.many and most:
            limits = [most[window] for window in self._number]
            self._final[None] = batched(kernel, ring, [1] * len(most), limits)
        elif not traits.many:
            self._final |= {window: batched(kernel, ring, [1], [most[window]]) for window in self._number}
        if ahead:  # such a window lies ahead of the final ones, and these kernels cannot go back after it
            self._ahead = batched("b_int", ring, [1], [ahead])

    @property
    def steps(self) -> int:
        kernels = [*self._final.values(), *([self._ahead] if self._ahead else [])]
        return round(sum(kernel.operations for kernel in kernels) * self._ring.groups)

    def finals(self, asked: Asked) -> np.ndarray:
        """Answers to all windows asked for; takes all new slices in."""
        if None in self._final:
            found = self._final[None].advance(asked.dues([self._number[each] for each in asked.windows]))
        else:
            found = self._by_each(asked)
        if self._ahead is not None:
            self._ahead.advance(NONE_DUE)
        return found

    def _by_each(self, asked: Asked) -> np.ndarray:
        """By the kernel that each window has."""
        shape = len(self._ring.rows), len(asked), self._ring.groups
        found: np.ndarray = np.empty(shape, self._ring.rows.dtype)
        for window, kernel in self._final.items():
            if window is not None:
                at, dues = asked.dues_of(window)
                found[:, at] = kernel.advance(dues)
        return found

    def ahead(self, lows: np.ndarray) -> np.ndarray:
        """The aggregates of slices `low` to the newest, for lows in ascending order."""
        newest = np.full(len(lows), self._ring.next - 1)
        kernel = self._ahead or self._final[None]
        return kernel.advance(_dues(newest, lows, 0, np.arange(len(lows))))
