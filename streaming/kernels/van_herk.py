"""van Herk block scan: behind a boundary aggregates that end at it, before it one that starts there.

operator   associative; order is kept
time       3 operations a slide and query, amortised; n worst, once a window, when the boundary moves on
space      n + 1 rows a query beside the slices
published  van Herk: A Fast Algorithm for Local Minimum and Maximum Filters. Pattern Recognition Letters 13,
           1992; Gil, Werman: Computing 2-D Min, Median, and Max Filters. IEEE PAMI 15, 1993
differs    print cuts blocks of one fixed length; here the boundary moves when a window has passed it, so
           windows may span varying numbers of slices; fold and answer are one pass over a row
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import answer_join, answer_row, append_run, scan, suffixes, take

TRAITS = Traits("van_herk", "van Herk block scan")


class VanHerk(NamedTuple):
    traits = TRAITS
    boundary: np.ndarray  # by query, the first slice that is not behind its boundary
    folded: np.ndarray  # by query, the last slice in the aggregate that starts at the boundary
    base: np.ndarray  # by query, its first row; its aggregates behind the boundary are a ring
    size: np.ndarray  # by query, of that ring; the row behind it is the aggregate that starts at the boundary

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        size = np.array(spans, np.int64)
        base = np.concatenate([[0], np.cumsum(size + 1)[:-1]]).astype(np.int64)
        boundary = np.full(len(spans), first, np.int64)
        return cls(boundary, boundary - 1, base, size)

    def rows(self) -> int:
        return int(self.size.sum()) + len(self.size)

    def effort(self):
        return 6

    def push(self, sink, number):
        pass  # folded in together with the next answer

    def answer(self, sink, newest, low, query, out):
        base, size = self.base[query], self.size[query]
        if low >= self.boundary[query]:  # all that is behind the boundary has left the window
            suffixes(sink, base, size, low, newest)
            self.boundary[query] = newest + 1
            self.folded[query] = newest
            answer_row(sink, out, base + low % size)
            return
        front = base + size
        first = self.folded[query] + 1
        if first == self.boundary[query]:
            take(sink, front, first)
            first += 1
        if first <= newest:
            append_run(sink, front, first, newest - 1)
            scan(sink, out, base + low % size, front, newest)
        else:
            answer_join(sink, out, base + low % size, front)
        self.folded[query] = newest

    answer_every = answer_one_by_one
    amend = made_anew
