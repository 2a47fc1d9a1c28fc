"""TwoStacks: a queue of two stacks, each entry with the aggregate of all below it.

operator   associative; order is kept
time       3 operations a slide, amortised; n worst, when the back is flipped onto the front; one query only
space      n rows beside the slices
published  Tangwongsan, Hirzel, Schneider: Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time.
           DEBS 2017 (from a trick of functional programming)
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import answer_join, answer_row, extend, suffixes, take

TRAITS = Traits("two_stacks", "TwoStacks", many=False)


class TwoStacks(NamedTuple):
    traits = TRAITS
    back: np.ndarray  # one number: the first slice of the back stack
    size: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(np.array([first], np.int64), spans[0] + 1)

    def rows(self) -> int:
        return self.size

    def effort(self):
        return 4

    def push(self, sink, number):
        if number == self.back[0]:
            take(sink, number % self.size, number)
        else:
            extend(sink, number % self.size, (number - 1) % self.size, number)

    def answer(self, sink, newest, low, query, out):
        if low >= self.back[0]:  # the front is used up: flip
            suffixes(sink, 0, self.size, low, newest)
            self.back[0] = newest + 1
        if self.back[0] > newest:
            answer_row(sink, out, low % self.size)
        else:
            answer_join(sink, out, low % self.size, newest % self.size)

    answer_every = answer_one_by_one
    amend = made_anew
