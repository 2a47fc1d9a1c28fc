"""FlatFIT: every slice keeps an aggregate and how far it reaches; answering shortens the way for the next.

Needs an associative operator only. Three operations per slide, amortised; n in the worst case; one row per
slice. First published: Shein, Chrysanthis, Labrinidis, SSDBM 2017.
Differs from print: operands are combined oldest first (print reverses them, which is wrong for operators
that do not commute), and a chain of one slice needs no stack. The pointers depend on positions alone, so
all groups of a shard share them and only the aggregates are per group.
"""

import numpy as np
from numba import njit

from streaming.aggregates import IDENTITY, Family
from streaming.kernels.base import Rows


class FlatFit:
    def __init__(self, rows: Rows, family: Family) -> None:
        self._family = family
        self._identity = IDENTITY[family]
        self._aggregates: dict[int, np.ndarray] = {}  # of slices `number` to `reach − 1`
        self._reach: dict[int, int] = {}
        self._next = 0
        self.steps = 0

    def push(self, number: int, row: np.ndarray) -> None:
        self._aggregates[number] = row.copy()
        self._reach[number] = self._next = number + 1

    def answer(self, query: str, low: int, width: int) -> np.ndarray:
        if low >= self._next:
            return np.full(width, self._identity)
        chain = [low]
        while self._reach[chain[-1]] < self._next:
            chain.append(self._reach[chain[-1]])
        newest = self._wide(chain.pop(), width)
        for number in reversed(chain):
            aggregate = self._wide(number, width)
            _combine(self._family == "max", self._family == "min", aggregate, newest)
            self._reach[number] = self._next
            newest = aggregate
            self.steps += width
        return newest.copy()

    peek = answer  # shortening the way changes no answer

    def evict(self, low: int) -> None:
        for number in [number for number in self._reach if number < low]:
            del self._reach[number], self._aggregates[number]

    def _wide(self, number: int, width: int) -> np.ndarray:
        """The aggregate of a slice, widened for groups that appeared after it."""
        row = self._aggregates[number]
        if len(row) < width:
            row = np.concatenate([row, np.full(width - len(row), self._identity)])
            self._aggregates[number] = row
        return row


@njit(cache=True, nogil=True)
def _combine(is_max, is_min, older, newer):  # type: ignore[no-untyped-def]
    """older ⊕= newer"""
    for i in range(len(older)):
        if is_max:
            older[i] = max(older[i], newer[i])
        elif is_min:
            older[i] = min(older[i], newer[i])
        else:
            older[i] += newer[i]
