"""Per-start accumulators: an aggregate for every start of a window; each slice goes into all of them.

operator   associative; order is kept
time       n − 1 operations a slide, none an answer, amortised and worst; with every range asked for about
           one an answer
space      2n rows
published  folklore: the naive plan turned around, which vectorises along starts as well as along groups
differs    rows are a line that moves on, not a ring, so that all starts are one run of memory
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import jitable
from streaming.kernels.base import Traits, made_anew
from streaming.kernels.run.operations import answer_row, answer_rows, append_each, move, sweep, take

TRAITS = Traits("accumulators", "per-start accumulators", rewinds=True)

ROW_0, FIRST, FOLDED = range(3)


class Accumulators(NamedTuple):
    traits = TRAITS
    size: int  # starts that are kept
    line: np.ndarray  # the slice of row 0, the first that is kept, the last that went into all starts

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        size = max(spans)
        return cls(size, np.array([first - size, first - size, first - 1], np.int64))

    def rows(self) -> int:
        return 2 * self.size

    def effort(self):
        return self.size + 4

    def push(self, sink, number):
        _fold(self, sink, number - 1)
        if number - self.line[ROW_0] == 2 * self.size:  # the line's end: start over with what is kept
            for i in range(self.size - 1):
                move(sink, i, i + self.size + 1)
            self.line[ROW_0] = number - self.size + 1
        self.line[FIRST] = max(self.line[FIRST], number - self.size + 1)
        take(sink, number - self.line[ROW_0], number)

    def answer(self, sink, newest, low, query, out):
        _fold(self, sink, newest)
        answer_row(sink, out, low - self.line[ROW_0])

    def answer_every(self, sink, newest, low, count, query, out):
        older = newest - low
        if self.line[FOLDED] == newest or low != self.line[FIRST] or count <= older:  # not all, or not new
            _fold(self, sink, newest)
            answer_rows(sink, out, low - self.line[ROW_0], count)
            return
        sweep(sink, out, low - self.line[ROW_0], older, newest)  # fold and answer in one pass
        answer_row(sink, out + older, newest - self.line[ROW_0])
        self.line[FOLDED] = newest

    amend = made_anew


@jitable
def _fold(kernel, sink, newest):
    """Let the newest slice go into all starts before it, unless it has."""
    line = kernel.line
    if line[FOLDED] < newest:
        if newest > line[FIRST]:
            append_each(sink, line[FIRST] - line[ROW_0], newest - line[FIRST], newest)
        line[FOLDED] = newest
