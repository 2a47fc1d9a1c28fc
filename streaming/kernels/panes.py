"""Panes: every answer is folded from its slices anew.

operator   associative; order is kept
time       n − 1 operations an answer, amortised and worst
space      one row beside the slices
published  Li, Maier, Tufte, Papadimos, Tucker: No Pane, No Gain. SIGMOD Record 34(1), 2005
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from streaming.kernels.base import Traits, answer_one_by_one
from streaming.kernels.run.operations import answer_row, append_run, take

TRAITS = Traits("panes", "Panes", rewinds=True)


class Panes(NamedTuple):
    traits = TRAITS
    folded: int  # the row that an answer grows in

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(0)

    def rows(self) -> int:
        return 1

    def effort(self):
        return 3

    def push(self, sink, number):
        pass

    def answer(self, sink, newest, low, query, out):
        take(sink, self.folded, low)
        append_run(sink, self.folded, low + 1, newest)
        answer_row(sink, out, self.folded)

    answer_every = answer_one_by_one

    def amend(self, sink, number, newest):
        return True  # nothing is kept
