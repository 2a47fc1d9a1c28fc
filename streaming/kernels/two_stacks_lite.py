"""TwoStacks Lite: the front keeps aggregates, the back its slices and one aggregate of them all.

operator   associative; order is kept
time       3 operations a slide, amortised; n worst; one query only
space      n + 1 rows beside the slices (n + 1 in all in print, where a flip overwrites slices)
published  Tangwongsan, Hirzel, Schneider: In-Order Sliding-Window Aggregation in Worst-Case Constant Time.
           VLDB Journal 30, 2021
differs    slices are kept for all kernels alike, so the aggregates have rows of their own
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import answer_join, answer_row, append, suffixes, take

TRAITS = Traits("two_stacks_lite", "TwoStacks Lite", many=False)


class TwoStacksLite(NamedTuple):
    traits = TRAITS
    back: np.ndarray  # one number: the first slice of the back
    size: int  # of the front; the back's aggregate is the row behind it

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(np.array([first], np.int64), spans[0])

    def rows(self) -> int:
        return self.size + 1

    def effort(self):
        return 4

    def push(self, sink, number):
        if number == self.back[0]:
            take(sink, self.size, number)
        else:
            append(sink, self.size, number)

    def answer(self, sink, newest, low, query, out):
        if low >= self.back[0]:
            suffixes(sink, 0, self.size, low, newest)
            self.back[0] = newest + 1
        if self.back[0] > newest:
            answer_row(sink, out, low % self.size)
        else:
            answer_join(sink, out, low % self.size, self.size)

    answer_every = answer_one_by_one
    amend = made_anew
