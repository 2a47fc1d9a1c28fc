"""van Herk block scan: behind a boundary aggregates that end at it, before it one that starts there.

operator   associative; order is kept
time       3 operations a slide and query, amortised (5 over rows, but fewer passes); n worst, once a window,
           when the boundary moves on
space      n + 1 rows a query beside the slices (n / 2 + 7 over rows of many groups)
published  van Herk: A Fast Algorithm for Local Minimum and Maximum Filters. Pattern Recognition Letters 13,
           1992; Gil, Werman: Computing 2-D Min, Median, and Max Filters. IEEE PAMI 15, 1993
differs    print cuts blocks of one fixed length; here the boundary moves when a window has passed it, so
           windows may span varying numbers of slices. Over rows of many groups only every fourth aggregate
           behind it is kept, and four answers are one pass that makes the others again: memory is what
           counts there, and each slice comes from it twice instead of being read three times and written once
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from streaming.compiled import jitable
from streaming.kernels.base import Traits, answer_one_by_one, made_anew
from streaming.kernels.run.operations import (
    CHUNK,
    answer_row,
    append_run,
    chunk_suffixes,
    chunk_totals,
    glide,
    move,
    suffixes,
    take,
)

TRAITS = Traits("van_herk", "van Herk block scan", apart=True)
WORTH_CHUNKS = 4 * CHUNK  # slices that a window holds at least for chunks to be worth it


class VanHerk(NamedTuple):
    """A query's rows: a ring of aggregates behind the boundary; with chunks one of their totals, and a row
    that holds nothing; then the aggregate that starts at the boundary; with chunks one to spare."""

    traits = TRAITS
    reach: np.ndarray  # by query, the last low that its boundary serves; with chunks this is the boundary
    folded: np.ndarray  # by query, the last slice in the aggregate that starts at the boundary
    whole: np.ndarray  # by query, the first chunk that has no total yet
    base: np.ndarray  # by query, its first row
    size: np.ndarray  # by query, of its rings
    front: np.ndarray  # by query, the row of the aggregate that starts at the boundary
    chunked: np.ndarray  # by query

    @classmethod
    def new(cls, spans: Sequence[int], first: int, commutative: bool, prefilled: bool = False) -> Self:
        return cls._with_chunks(spans, first, np.zeros(len(spans), np.bool_))

    @classmethod
    def for_rows(cls, spans: Sequence[int], first: int, commutative: bool) -> Self:
        return cls._with_chunks(spans, first, np.array(spans) >= WORTH_CHUNKS)

    @classmethod
    def _with_chunks(cls, spans: Sequence[int], first: int, chunked: np.ndarray) -> Self:
        size = np.where(chunked, np.array(spans) // CHUNK + 2, spans).astype(np.int64)
        rows = np.where(chunked, 2 * size + 3, size + 1)
        base = (np.cumsum(rows) - rows).astype(np.int64)
        before = np.full(len(spans), first - 1, np.int64)
        return cls(before, before.copy(), before // CHUNK, base, size, base + rows - 1 - chunked, chunked)

    def rows(self) -> int:
        return int(self.front[-1] + 1 + self.chunked[-1])

    def effort(self):
        return 6

    def push(self, sink, number):
        pass  # folded in together with the next answer

    def answer(self, sink, newest, low, query, out):
        front = self.front[query]
        moves = low > self.reach[query]  # all that is behind the boundary has left the window
        if self.chunked[query] and (moves or low % CHUNK == 1):
            _add_up_chunks(self, sink, newest, low, query)  # not between answers that are one pass
        if moves and not _move_boundary(self, sink, newest, low, query):
            take(sink, front, low)
            append_run(sink, front, low + 1, newest)
            answer_row(sink, out, front)
            return
        until, older = _behind(self, low, query)
        glide(sink, out, low, until, older, front, self.folded[query] + 1, newest)
        self.folded[query] = newest

    answer_every = answer_one_by_one
    amend = made_anew


@jitable
def _add_up_chunks(kernel, sink, newest, low, query):
    """Totals of chunks that have become whole, as far as they are in the window."""
    first = max(kernel.whole[query], _chunk_from(low))
    behind = (newest + 1) // CHUNK
    chunk_totals(sink, kernel.base[query] + kernel.size[query], kernel.size[query], first, behind - 1)
    kernel.whole[query] = behind


@jitable
def _move_boundary(kernel, sink, newest, low, query):
    """As far on as it goes; False: the window is too short to have one within."""
    base, size, front = kernel.base[query], kernel.size[query], kernel.front[query]
    if not kernel.chunked[query]:
        if low == newest:
            return False
        suffixes(sink, base, size, low, newest - 1)
        take(sink, front, newest)
        kernel.reach[query] = newest - 1
        kernel.folded[query] = newest
        return True
    boundary = newest - newest % CHUNK
    if low > boundary:
        return False
    if _chunk_from(low) * CHUNK < boundary:
        chunk_suffixes(sink, base, base + size, size, _chunk_from(low), boundary // CHUNK - 1)
    move(sink, front, base + 2 * size)
    append_run(sink, front, boundary, newest - 1)
    kernel.reach[query] = boundary
    kernel.folded[query] = newest - 1
    return True


@jitable
def _behind(kernel, low, query):
    """From which slice on a row has what is behind the boundary, and which row."""
    base, size = kernel.base[query], kernel.size[query]
    if not kernel.chunked[query]:
        return low, base + low % size
    chunk = _chunk_from(low)
    if chunk * CHUNK == kernel.reach[query]:
        return chunk * CHUNK, base + 2 * size  # nothing
    return chunk * CHUNK, base + chunk % size


@jitable
def _chunk_from(low):
    """The first chunk that starts with slice `low` or later."""
    return (low + CHUNK - 1) // CHUNK
