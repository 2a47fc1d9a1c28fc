"""Prefix difference: an answer is the aggregate of all slices so far without that of those before the window.

operator   exactly invertible (counts, integers, decimals): rounding errors would grow for ever
time       1 operation a slide, 1 an answer, amortised and worst
space      n + 1 rows
published  folklore; as summed-area tables in Crow: Summed-Area Tables for Texture Mapping. SIGGRAPH 1984
differs    prefixes start over with every kernel that is made, and integers wrap around without harm
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import difference, extend

TRAITS = Traits("prefix_difference", "prefix difference", "exactly invertible", running=True, rewinds=True)


class PrefixDifference(NamedTuple):
    traits = TRAITS
    size: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(max(spans) + 1)

    def rows(self) -> int:
        return self.size

    def effort(self):
        return 2

    def push(self, sink, number):
        extend(sink, number % self.size, (number - 1) % self.size, number)

    def answer(self, sink, newest, low, query, out):
        difference(sink, out, newest % self.size, (low - 1) % self.size)

    answer_every = answer_one_by_one
    amend = made_anew
