"""FlatFAT: a flat binary tree over the slices; a new slice mends its path to the root.

operator   associative; order is kept
time       log n operations a slide, up to 2 log n an answer (none where it is the root); a late slice is
           mended in log n
space      2n rows where n is a power of two, up to 4n otherwise
published  Tangwongsan, Hirzel, Schneider, Wu: General Incremental Sliding-Window Aggregation.
           PVLDB 8(7), 2015
differs    places without a slice hold the identity instead of a marker; a window that wraps around is joined
           oldest first, and the root alone is the answer only where the operator commutes
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import jitable
from streaming.kernels.base import Traits, answer_one_by_one, push
from streaming.kernels.run.operations import absorb, answer_join, answer_row, join, take

TRAITS = Traits("flatfat", "FlatFAT", rewinds=True)


class FlatFat(NamedTuple):
    traits = TRAITS
    leaves: int  # a power of two; node i has children 2i and 2i + 1, leaf j is node leaves + j
    root_answers: bool  # a window over all leaves is the root, in whatever order it wrapped
    edge: np.ndarray  # nodes at the right edge of a window, found from the outside in

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls(1 << (max(spans) - 1).bit_length(), commutative, np.zeros(64, np.int64))

    def rows(self) -> int:
        return 2 * self.leaves + 2  # two more to gather an answer in

    def effort(self):
        return 160  # two logarithms, with room to spare

    def push(self, sink, number):
        node = self.leaves + number % self.leaves
        take(sink, node, number)
        node //= 2
        while node >= 1:
            join(sink, node, 2 * node, 2 * node + 1)
            node //= 2

    def answer(self, sink, newest, low, query, out):
        leaves = self.leaves
        first, last = low % leaves, newest % leaves
        if newest - low + 1 == leaves and (self.root_answers or first == 0):
            answer_row(sink, out, 1)
        elif first <= last:
            answer_row(sink, out, _gathered(self, sink, first, last, 2 * leaves))
        else:
            older = _gathered(self, sink, first, leaves - 1, 2 * leaves)
            answer_join(sink, out, older, _gathered(self, sink, 0, last, 2 * leaves + 1))

    answer_every = answer_one_by_one

    def amend(self, sink, number, newest):
        if newest - number < self.leaves:
            push(self, sink, number)
        return True


@jitable
def _gathered(tree, sink, first, last, row):
    """The row that holds leaves first to last: a node, or `row` with the fewest nodes that make it up."""
    left, right = tree.leaves + first, tree.leaves + last
    found, edges = -1, 0
    while left <= right:
        if left % 2 == 1:
            found = _with(sink, found, left, row)
            left += 1
        if right % 2 == 0:
            tree.edge[edges] = right
            edges += 1
            right -= 1
        left //= 2
        right //= 2
    for edge in range(edges - 1, -1, -1):
        found = _with(sink, found, tree.edge[edge], row)
    return found


@jitable
def _with(sink, found, node, row):
    """What was found, with one more node behind it."""
    if found < 0:
        return node
    if found != row:
        join(sink, row, found, node)
    else:
        absorb(sink, row, node)
    return row
