"""B-Int: base intervals, the aggregates of 1, 2, 4, 8, … slices at multiples of their length.

operator   associative; order is kept
time       1 operation a slide, amortised (log n worst: an interval is made when its last slice is in), and
           up to 2 log n an answer
space      2n rows beside the slices
published  Arasu, Widom: Resource Sharing in Continuous Sliding-Window Aggregates. VLDB 2004
differs    only whole intervals are kept; an answer takes the longest ones that fit, oldest first
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import jitable
from streaming.kernels.base import Traits, answer_one_by_one
from streaming.kernels.run.operations import absorb, answer_row, join, take

TRAITS = Traits("b_int", "B-Int", rewinds=True)


class BInt(NamedTuple):
    traits = TRAITS
    base: np.ndarray  # by level, the row of its first interval
    size: np.ndarray  # by level, how many intervals are kept, in a ring
    gather: int  # the row that an answer grows in

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        widest = max(spans)
        levels = widest.bit_length()
        size = np.array([-(-widest // 2**level) + 1 for level in range(levels)], np.int64)
        base = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        return cls(base[:-1], size, int(base[-1]))

    def rows(self) -> int:
        return self.gather + 1

    def effort(self):
        return 4 * len(self.base) + 4

    def push(self, sink, number):
        take(sink, number % self.size[0], number)
        end = number + 1
        for level in range(1, len(self.base)):
            if end & ((1 << level) - 1) != 0:
                break
            place = (end >> level) - 1
            below, size = self.base[level - 1], self.size[level - 1]
            join(
                sink,
                self.base[level] + place % self.size[level],
                below + (2 * place) % size,
                below + (2 * place + 1) % size,
            )

    def answer(self, sink, newest, low, query, out):
        found = -1
        while low <= newest:
            level = _longest(low, newest + 1 - low, len(self.base))
            row = self.base[level] + (low >> level) % self.size[level]
            if found < 0:
                found = row
            elif found != self.gather:
                join(sink, self.gather, found, row)
                found = self.gather
            else:
                absorb(sink, self.gather, row)
            low += 1 << level
        answer_row(sink, out, found)

    answer_every = answer_one_by_one

    def amend(self, sink, number, newest):
        oldest = newest + 2 - self.size[0]  # of the widest window; what is older has been overwritten
        if number < oldest:
            return True
        take(sink, number % self.size[0], number)
        for level in range(1, len(self.base)):
            place = number >> level
            if (place + 1) << level > newest + 1 or place << level < oldest:
                continue
            below, size = self.base[level - 1], self.size[level - 1]
            join(
                sink,
                self.base[level] + place % self.size[level],
                below + (2 * place) % size,
                below + (2 * place + 1) % size,
            )
        return True


@jitable
def _longest(low, left, levels):
    """The level of the longest interval that starts at `low` and holds no more than `left` slices."""
    level = 0
    while level + 1 < levels and low & ((2 << level) - 1) == 0 and 2 << level <= left:
        level += 1
    return level
