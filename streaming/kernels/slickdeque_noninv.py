"""SlickDeque (Non-Inv): per group a deque of the slices that can still be an answer, best first.

Needs a selective operator (the result is one of the operands: max, min). Fewer than two operations per
slide, amortised; n in the worst case. First published: Shein, Chrysanthis, Labrinidis, EDBT 2018.
Differs from print: the start of a range is `newest − range + 1` (print admits one slice too many), and a
slice without a value for a group is not entered.
"""

import numpy as np
from numba import njit

from streaming.aggregates import IDENTITY, Family
from streaming.kernels.base import Rows


class SlickDequeNonInv:
    def __init__(self, rows: Rows, family: Family) -> None:
        self._sign = 1.0 if family == "max" else -1.0  # min is max of the negated
        self._identity = IDENTITY[family]
        self._slices = np.zeros((0, 8), np.int64)
        self._values = np.zeros((0, 8))
        self._first = np.zeros(0, np.int64)  # of each group's deque, as a position in its ring
        self._length = np.zeros(0, np.int64)
        self.steps = 0

    def push(self, number: int, row: np.ndarray) -> None:
        self._widen(len(row))
        if len(row) and self._length[: len(row)].max() >= self._slices.shape[1]:
            self._deepen()
        self.steps += _push(self._slices, self._values, self._first, self._length, number, self._sign * row)

    def answer(self, query: str, low: int, width: int) -> np.ndarray:
        self._widen(width)
        out = np.full(width, self._identity)
        self.steps += width
        _answer(self._slices, self._values, self._first, self._length, low, self._sign, out)
        return out

    peek = answer  # answering moves nothing

    def evict(self, low: int) -> None:
        _evict(self._slices, self._first, self._length, low)

    def _widen(self, width: int) -> None:
        missing = width - len(self._first)
        if missing > 0:
            missing = max(missing, len(self._first))
            depth = self._slices.shape[1]
            self._slices = np.concatenate([self._slices, np.zeros((missing, depth), np.int64)])
            self._values = np.concatenate([self._values, np.zeros((missing, depth))])
            self._first = np.concatenate([self._first, np.zeros(missing, np.int64)])
            self._length = np.concatenate([self._length, np.zeros(missing, np.int64)])

    def _deepen(self) -> None:
        """Double the room of every deque, unrolled so that each starts at position 0 again."""
        groups, depth = self._slices.shape
        order = (self._first[:, None] + np.arange(depth)) % depth
        at = np.arange(groups)[:, None]
        self._slices = np.concatenate([self._slices[at, order], np.zeros((groups, depth), np.int64)], axis=1)
        self._values = np.concatenate([self._values[at, order], np.zeros((groups, depth))], axis=1)
        self._first[:] = 0


@njit(cache=True, nogil=True)
def _push(slices, values, first, length, number, row):  # type: ignore[no-untyped-def]
    depth = slices.shape[1]
    steps = 0
    for g in range(len(row)):
        v = row[g]
        if v == -np.inf:
            continue
        n = length[g]
        while n > 0:
            steps += 1
            if values[g, (first[g] + n - 1) % depth] > v:
                break
            n -= 1
        at = (first[g] + n) % depth
        slices[g, at] = number
        values[g, at] = v
        length[g] = n + 1
    return steps


@njit(cache=True, nogil=True)
def _answer(slices, values, first, length, low, sign, out):  # type: ignore[no-untyped-def]
    """The first entry not older than `low` is the best of the range: entries are sorted both ways."""
    depth = slices.shape[1]
    for g in range(len(out)):
        left, right = 0, length[g]
        while left < right:
            middle = (left + right) // 2
            if slices[g, (first[g] + middle) % depth] < low:
                left = middle + 1
            else:
                right = middle
        if left < length[g]:
            out[g] = sign * values[g, (first[g] + left) % depth]


@njit(cache=True, nogil=True)
def _evict(slices, first, length, low):  # type: ignore[no-untyped-def]
    depth = slices.shape[1]
    for g in range(len(first)):
        while length[g] > 0 and slices[g, first[g]] < low:
            first[g] = (first[g] + 1) % depth
            length[g] -= 1
