"""Sparse table: aggregates of the last 1, 2, 4, 8, … slices; two that overlap make any answer.

operator   idempotent (max, min and the like); order is kept
time       log n operations a slide, one an answer, amortised and worst
space      n log n rows
published  Bender, Farach-Colton: The LCA Problem Revisited. LATIN 2000, for arrays that do not change
differs    a ring of slices: each level keeps what ends at the last n of them
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import answer_join, answer_row, join, take

TRAITS = Traits("sparse_table", "sparse table", "idempotent", rewinds=True)


class SparseTable(NamedTuple):
    traits = TRAITS
    size: int  # of every level's ring
    levels: int

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(max(spans), max(spans).bit_length())

    def rows(self) -> int:
        return self.size * self.levels

    def effort(self):
        return self.levels + 3

    def push(self, sink, number):
        size = self.size
        take(sink, number % size, number)
        for level in range(1, self.levels):
            below = (level - 1) * size
            older = below + (number - (1 << (level - 1))) % size
            join(sink, level * size + number % size, older, below + number % size)

    def answer(self, sink, newest, low, query, out):
        length = newest - low + 1
        level = 0
        while 2 << level <= length:
            level += 1
        base = level * self.size
        if length == 1 << level:
            answer_row(sink, out, base + newest % self.size)
        else:
            answer_join(sink, out, base + (low + (1 << level) - 1) % self.size, base + newest % self.size)

    answer_every = answer_one_by_one
    amend = made_anew
