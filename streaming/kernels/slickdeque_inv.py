"""SlickDeque (Inv): a running aggregate for each query; what enters is added, what leaves is taken off.

operator   invertible
time       2 operations a slide and query, amortised and worst; n where a sum has to be made anew
space      one row a query beside the slices
published  Shein, Chrysanthis, Labrinidis: SlickDeque. EDBT 2018
differs    each query keeps its own running aggregate, not each range, because windows of a shared tree span
           varying numbers of slices; running sums carry what rounding loses, and one that was broken by an
           overflow, an infinity, a NaN or lost digits is made anew from its slices (in print it poisons all
           later answers)
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import enter_slice, leave_slice, renew, settle_row, slide, slide_row

TRAITS = Traits("slickdeque_inv", "SlickDeque (Inv)", "invertible", running=True)


class SlickDequeInv(NamedTuple):
    traits = TRAITS
    low: np.ndarray  # by query, the first slice inside its running aggregate
    newest: np.ndarray  # by query, the last slice inside
    kept: np.ndarray  # one number: slices before this one may be gone
    span: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        lows = np.full(len(spans), first, np.int64)
        if prefilled:  # as in print: full windows that hold nothing, which then leave one by one
            lows -= np.array(spans, np.int64)
        return cls(
            lows,
            np.full(len(spans), first - 1, np.int64),
            np.full(1, first - max(spans), np.int64),
            max(spans),
        )

    def rows(self) -> int:
        return len(self.low)

    def effort(self):
        return 2 * self.span + 3

    def push(self, sink, number):
        pass  # a query takes slices in when it answers: each is entered once and left once all the same

    def answer(self, sink, newest, low, query, out):
        first, last = self.low[query], self.newest[query]
        self.low[query], self.newest[query] = low, newest
        if last + 1 == newest and first + 1 == low and first >= self.kept[0]:  # the usual case
            slide_row(sink, out, query, newest, first, low)
            return
        if first < self.kept[0] or low > last + 1:  # it lagged behind: what should leave may be gone
            renew(sink, query, low, newest)
        else:
            while last < newest and first < low:
                last += 1
                slide(sink, query, last, first)
                first += 1
            while last < newest:
                last += 1
                enter_slice(sink, query, last)
            while first < low:
                leave_slice(sink, query, first)
                first += 1
        settle_row(sink, out, query, low, newest)

    def forget(self, oldest):
        self.kept[0] = oldest

    answer_every = answer_one_by_one
    amend = made_anew
