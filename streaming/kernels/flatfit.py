"""FlatFIT: every slice keeps an aggregate and how far it reaches; answering shortens the way for the next.

operator   associative; order is kept
time       3 operations a slide, amortised; n worst. With every range asked for about one an answer
space      n rows beside the slices, and n pointers
published  Shein, Chrysanthis, Labrinidis: FlatFIT. SSDBM 2017
differs    aggregates are combined oldest first (print reverses them: wrong where the operator does not
           commute), a chain of one slice needs no stack (print pops an empty one), and pointers are numbers
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import absorb, answer_join, answer_row, take

TRAITS = Traits("flatfit", "FlatFIT", rewinds=True)


class FlatFit(NamedTuple):
    traits = TRAITS
    reach: np.ndarray  # by place, the slice that follows what its aggregate holds
    chain: np.ndarray  # places that are being followed (print's stack)

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        size = max(spans)
        before = np.arange(first - size, first)
        reach = np.empty(size, np.int64)
        reach[before % size] = before + 1
        return cls(reach, np.zeros(size + 1, np.int64))

    def rows(self) -> int:
        return len(self.reach)

    def effort(self):
        return len(self.reach) + 2

    def push(self, sink, number):
        place = number % len(self.reach)
        take(sink, place, number)
        self.reach[place] = number + 1

    def answer(self, sink, newest, low, query, out):
        size = len(self.reach)
        links, at, place = 0, low, low % size
        while at <= newest:
            self.chain[links] = place
            links += 1
            place += self.reach[place] - at  # a step is shorter than the ring: no division on the way
            at = self.reach[self.chain[links - 1]]
            if place >= size:
                place -= size
        for link in range(links - 2, 0, -1):
            absorb(sink, self.chain[link], self.chain[link + 1])
            self.reach[self.chain[link]] = newest + 1
        if links == 1:
            answer_row(sink, out, self.chain[0])
        else:
            answer_join(sink, out, self.chain[0], self.chain[1])

    answer_every = answer_one_by_one
    amend = made_anew
