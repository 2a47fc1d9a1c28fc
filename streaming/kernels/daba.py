"""DABA: the de-amortised banker's aggregator, TwoStacks whose flip is spread over the slides.

operator   associative; order is kept
time       5 operations a slide, amortised; 8 worst; one query only
space      n + 2 rows beside the slices
published  Tangwongsan, Hirzel, Schneider: Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time.
           DEBS 2017
differs    empty lists take part in no operation, so counts stay a little below print's
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import jitable
from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import absorb, answer_join, answer_row, extend, prepend, take

TRAITS = Traits("daba", "DABA", many=False)

# Where the lists begin: front, left, right, accumulator, back, and the end; and the ring's first slice.
F, L, R, A, B, E, ORIGIN = range(7)


class Daba(NamedTuple):
    """Rows hold: F..L aggregates up to B · L..R up to R · R..A from R on · A..B up to B · B..E from B on."""

    traits = TRAITS
    at: np.ndarray  # F ≤ L ≤ R ≤ A ≤ B ≤ E, and ORIGIN
    span: int
    size: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(np.full(7, first, np.int64), spans[0], spans[0] + 2)

    def rows(self) -> int:
        return self.size

    def effort(self):
        return 6 * self.size  # a window that leaps evicts many at once

    def push(self, sink, number):
        at = self.at
        _evict_before(self, sink, number - self.span + 1)
        if at[B] == at[E]:
            take(sink, place(self, number), number)
        else:
            extend(sink, place(self, number), place(self, number - 1), number)
        at[E] = number + 1
        _fix_up(self, sink)

    def answer(self, sink, newest, low, query, out):
        at = self.at
        _evict_before(self, sink, low)
        if at[F] == at[B]:
            answer_row(sink, out, place(self, at[E] - 1))
        elif at[B] == at[E]:
            answer_row(sink, out, place(self, at[F]))
        else:
            answer_join(sink, out, place(self, at[F]), place(self, at[E] - 1))

    answer_every = answer_one_by_one
    amend = made_anew


@jitable
def place(daba, number):
    """The row of a slice, without a division: it is at most one round after the ring's beginning."""
    row = number - daba.at[ORIGIN]
    return row - daba.size if row >= daba.size else row


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
    at = daba.at
    if at[F] == at[B]:  # one slice at most is left: all of it is front
        at[L] = at[R] = at[A] = at[B] = at[E]
        return
    if at[L] == at[B]:  # flip: the back becomes the right list, an accumulator grows at its end
        at[L] = at[F]
        at[A] = at[E]
        at[B] = at[E]
    if at[L] == at[R]:  # shift: the accumulator's oldest is a front entry as it stands
        at[A] += 1
        at[R] += 1
        at[L] += 1
        return
    # shrink: a left entry comes to reach up to B, and the accumulator takes one of the right
    left = place(daba, at[L])
    if at[R] < at[A]:
        absorb(sink, left, place(daba, at[A] - 1))
    if at[A] < at[B]:
        absorb(sink, left, place(daba, at[A]))
    at[L] += 1
    newer = at[A]
    if newer == at[B]:
        take(sink, place(daba, newer - 1), newer - 1)
    else:
        prepend(sink, place(daba, newer - 1), newer - 1, place(daba, newer))
    at[A] -= 1
