"""DABA Lite: DABA with one aggregate of the right half in place of one for each of its slices.

operator   associative; order is kept
time       4 operations a slide, amortised; 6 worst; one query only
space      n + 4 rows beside the slices (n + 2 in all in print)
published  Tangwongsan, Hirzel, Schneider: In-Order Sliding-Window Aggregation in Worst-Case Constant Time.
           VLDB Journal 30, 2021
differs    slices are kept for all kernels alike, so the aggregates have rows of their own
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import jitable
from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.daba import ORIGIN, A, B, E, F, L, R, place
from streaming.kernels.run.operations import absorb, answer_join, answer_row, append, move, prepend, take

TRAITS = Traits("daba_lite", "DABA Lite", many=False)


class DabaLite(NamedTuple):
    """Rows hold: F..L aggregates up to B · L..R up to R · A..B up to B; then one of R..B and one of B..E."""

    traits = TRAITS
    at: np.ndarray  # F ≤ L ≤ R ≤ A ≤ B ≤ E, and ORIGIN
    span: int
    size: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(np.full(7, first, np.int64), spans[0], spans[0] + 2)

    def rows(self) -> int:
        return self.size + 2

    def effort(self):
        return 6 * self.size

    def push(self, sink, number):
        at, back = self.at, self.size + 1
        _evict_before(self, sink, number - self.span + 1)
        if at[B] == at[E]:
            take(sink, back, number)
        else:
            append(sink, back, number)
        at[E] = number + 1
        _fix_up(self, sink)

    def answer(self, sink, newest, low, query, out):
        at, back = self.at, self.size + 1
        _evict_before(self, sink, low)
        if at[F] == at[B]:
            answer_row(sink, out, back)
        elif at[B] == at[E]:
            answer_row(sink, out, place(self, at[F]))
        else:
            answer_join(sink, out, place(self, at[F]), back)

    answer_every = answer_one_by_one
    amend = made_anew


@jitable
def _evict_before(daba, sink, low):
    while daba.at[F] < min(low, daba.at[E]):
        daba.at[F] += 1
        if daba.at[F] == daba.at[ORIGIN] + daba.size:
            daba.at[ORIGIN] = daba.at[F]
        _fix_up(daba, sink)


@jitable
def _fix_up(daba, sink):
    """One step of the flip that is under way."""
    at, size = daba.at, daba.size
    right, back = size, size + 1
    if at[F] == at[B]:  # one slice at most is left: all of it is front
        if at[E] > at[F]:
            take(sink, place(daba, at[F]), at[F])
        at[L] = at[R] = at[A] = at[B] = at[E]
        return
    if at[L] == at[B]:  # flip
        at[L] = at[F]
        at[A] = at[E]
        at[B] = at[E]
        move(sink, right, back)
    if at[L] == at[R]:  # shift
        at[A] += 1
        at[R] += 1
        at[L] += 1
        return
    absorb(sink, place(daba, at[L]), right)  # shrink
    at[L] += 1
    newer = at[A]
    if newer == at[B]:
        take(sink, place(daba, newer - 1), newer - 1)
    else:
        prepend(sink, place(daba, newer - 1), newer - 1, place(daba, newer))
    at[A] -= 1
