"""SlickDeque (Inv): one running aggregate per query; what enters is added, what leaves is subtracted.

Needs an invertible operator (sum, count). Two operations per slide, amortised and worst; space one row per
query beside the slices. First published: Shein, Chrysanthis, Labrinidis, EDBT 2018.
Differs from print: the sum is compensated (a second row keeps what rounding lost), because a plain running
sum drifts and keeps the error of one huge value for good; and each query keeps its own running aggregate,
because windows of a shared tree span varying numbers of slices.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from streaming.kernels.base import Rows


@dataclass
class _Running:
    low: int  # first slice inside
    total: np.ndarray
    error: np.ndarray


class SlickDequeInv:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._next = 0
        self._running: dict[str, _Running] = {}
        self.steps = 0

    def push(self, number: int, row: np.ndarray) -> None:
        for running in self._running.values():
            _widen(running, len(row))
            _add(running.total, running.error, row)
            self.steps += len(row)
        self._next = number + 1

    def answer(self, query: str, low: int, width: int) -> np.ndarray:
        running = self._running.get(query)
        if running is None:
            running = self._running[query] = self._sum_of(low, width)
        _widen(running, width)
        self._move(running, low)
        return _settled(running, self._rows, self._next)

    def peek(self, query: str, low: int, width: int) -> np.ndarray:
        running = self._running.get(query)
        if running is None or running.low > low:
            ahead = self._sum_of(low, width)
        else:
            ahead = _Running(running.low, running.total.copy(), running.error.copy())
            _widen(ahead, width)
            self._move(ahead, low)
        return _settled(ahead, self._rows, self._next)

    def evict(self, low: int) -> None:
        for running in self._running.values():
            self._move(running, low)  # a query that had nothing to answer for long lags behind

    def _sum_of(self, low: int, width: int) -> _Running:
        running = _Running(low, np.zeros(width), np.zeros(width))
        for number in range(low, self._next):
            row = self._rows(number)
            _add(running.total, running.error, row)
            self.steps += len(row)
        return running

    def _move(self, running: _Running, low: int) -> None:
        for number in range(running.low, min(low, self._next)):
            row = self._rows(number)
            _subtract(running.total, running.error, row)
            self.steps += len(row)
        running.low = max(running.low, low)


def _settled(running: _Running, rows: Rows, newest: int) -> np.ndarray:
    """Total and error as one number; a total that overflowed once is summed anew from its slices."""
    answer = running.total + running.error
    if not np.isfinite(answer).all():
        running.total[:] = 0
        running.error[:] = 0
        for number in range(running.low, newest):
            _add(running.total, running.error, rows(number))
        with np.errstate(invalid="ignore"):  # a total that overflows for real has no error term
            answer = np.where(np.isfinite(running.total), running.total + running.error, running.total)
    return answer


def _widen(running: _Running, width: int) -> None:
    missing = width - len(running.total)
    if missing > 0:
        running.total = np.concatenate([running.total, np.zeros(missing)])
        running.error = np.concatenate([running.error, np.zeros(missing)])


@njit(cache=True, nogil=True)
def _add(total, error, row):  # type: ignore[no-untyped-def]
    for i in range(len(row)):
        before, v = total[i], row[i]
        after = before + v
        part = after - before
        total[i] = after
        error[i] += (before - (after - part)) + (v - part)


@njit(cache=True, nogil=True)
def _subtract(total, error, row):  # type: ignore[no-untyped-def]
    for i in range(len(row)):
        before, v = total[i], -row[i]
        after = before + v
        part = after - before
        total[i] = after
        error[i] += (before - (after - part)) + (v - part)
