"""A tape of row operations: recorded by a kernel, then carried out for all groups of a shard.

Recording apart from carrying out keeps compiled code small: a kernel is compiled once for all algebras, and
an algebra once for all kernels. Per row of a thousand groups the tape costs next to nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from streaming.compiled import compiled
from streaming.kernels.run.operations import (
    CHUNK,
    absorb,
    answer_join,
    answer_none,
    answer_row,
    answer_rows,
    append,
    append_each,
    append_run,
    chunk_suffixes,
    chunk_totals,
    difference,
    enter_slice,
    extend,
    glide,
    glide_four,
    join,
    leave_slice,
    move,
    prepend,
    renew,
    settle_row,
    slide,
    slide_row,
    suffixes,
    sweep,
    take,
)

TAKE, MOVE, APPEND, EXTEND, PREPEND, JOIN, ABSORB, APPEND_RUN, SUFFIXES, APPEND_EACH, SWEEP = range(11)
ANSWER_NONE, ANSWER_ROW, ANSWER_ROWS, ANSWER_JOIN, GLIDE = range(11, 16)
ENTER_SLICE, LEAVE_SLICE, SLIDE, SLIDE_ROW, SETTLE_ROW, DIFFERENCE, RENEW = range(16, 23)
CHUNK_TOTALS, CHUNK_SUFFIXES = range(23, 25)

FIELDS = 8  # the operation and up to seven operands


class Tape(NamedTuple):
    entries: np.ndarray  # (room, FIELDS)
    used: np.ndarray  # how many entries, and how many operations of the algebra they stand for

    def room(self):
        return len(self.entries) - self.used[0]

    def take(self, target, number):
        _record(self, 0, TAKE, target, number, 0, 0)

    def move(self, target, row):
        _record(self, 0, MOVE, target, row, 0, 0)

    def append(self, target, number):
        _record(self, 1, APPEND, target, number, 0, 0)

    def extend(self, target, row, number):
        _record(self, 1, EXTEND, target, row, number, 0)

    def prepend(self, target, number, row):
        _record(self, 1, PREPEND, target, number, row, 0)

    def join(self, target, older, newer):
        _record(self, 1, JOIN, target, older, newer, 0)

    def absorb(self, target, newer):
        _record(self, 1, ABSORB, target, newer, 0, 0)

    def append_run(self, target, first, last):
        if last >= first:
            _record(self, last - first + 1, APPEND_RUN, target, first, last, 0)

    def suffixes(self, base, size, first, last):
        _record(self, last - first, SUFFIXES, base, size, first, last)

    def chunk_totals(self, base, size, first, last):
        if last >= first:
            _record(self, (last - first + 1) * (CHUNK - 1), CHUNK_TOTALS, base, size, first, last)

    def chunk_suffixes(self, base, totals, size, first, last):
        entry = self.entries[self.used[0]]
        _record(self, last - first, CHUNK_SUFFIXES, base, totals, size, first)
        entry[5] = last

    def append_each(self, target, count, number):
        _record(self, count, APPEND_EACH, target, count, number, 0)

    def sweep(self, out, target, count, number):
        _record(self, count, SWEEP, out, target, count, number)

    def answer_none(self, out):
        _record(self, 0, ANSWER_NONE, out, 0, 0, 0)

    def answer_row(self, out, row):
        _record(self, 0, ANSWER_ROW, out, row, 0, 0)

    def answer_rows(self, out, row, count):
        _record(self, 0, ANSWER_ROWS, out, row, count, 0)

    def answer_join(self, out, older, newer):
        _record(self, 1, ANSWER_JOIN, out, older, newer, 0)

    def glide(self, out, low, until, older, running, first, last):
        entry = self.entries[self.used[0]]
        _record(self, last - first + 1 + until - low + 1, GLIDE, out, low, until, older)
        entry[5] = running
        entry[6] = first
        entry[7] = last

    def enter_slice(self, running, number):
        _record(self, 1, ENTER_SLICE, running, number, 0, 0)

    def leave_slice(self, running, number):
        _record(self, 1, LEAVE_SLICE, running, number, 0, 0)

    def slide(self, running, entering, leaving):
        _record(self, 2, SLIDE, running, entering, leaving, 0)

    def slide_row(self, out, running, entering, leaving, first):
        # The window starts behind the slice that leaves, so four operands are enough.
        _record(self, 2, SLIDE_ROW, out, running, entering, leaving)

    def renew(self, running, first, last):
        _record(self, last - first + 1, RENEW, running, first, last, 0)

    def settle_row(self, out, running, first, last):
        _record(self, 0, SETTLE_ROW, out, running, first, last)

    def difference(self, out, newer, older):
        _record(self, 1, DIFFERENCE, out, newer, older, 0)


@compiled
def _record(tape, operations, code, a, b, c, d):
    entry = tape.entries[tape.used[0]]
    entry[0] = code
    entry[1] = a
    entry[2] = b
    entry[3] = c
    entry[4] = d
    tape.used[0] += 1
    tape.used[1] += operations


@compiled
def play(tape, rows):
    """Carry all operations of a tape out, and wind it back."""
    at = 0
    while at < tape.used[0]:
        entry = tape.entries[at]
        code, a, b, c, d = entry[0], entry[1], entry[2], entry[3], entry[4]
        if code == TAKE:
            take(rows, a, b)
        elif code == MOVE:
            move(rows, a, b)
        elif code == APPEND:
            append(rows, a, b)
        elif code == EXTEND:
            extend(rows, a, b, c)
        elif code == PREPEND:
            prepend(rows, a, b, c)
        elif code == JOIN:
            join(rows, a, b, c)
        elif code == ABSORB:
            absorb(rows, a, b)
        elif code == APPEND_RUN:
            append_run(rows, a, b, c)
        elif code == SUFFIXES:
            suffixes(rows, a, b, c, d)
        elif code == APPEND_EACH:
            append_each(rows, a, b, c)
        elif code == SWEEP:
            sweep(rows, a, b, c, d)
        elif code == ANSWER_NONE:
            answer_none(rows, a)
        elif code == ANSWER_ROW:
            answer_row(rows, a, b)
        elif code == ANSWER_ROWS:
            answer_rows(rows, a, b, c)
        elif code == ANSWER_JOIN:
            answer_join(rows, a, b, c)
        elif code == GLIDE:
            if _four_glides(tape, at):
                total = _total_of(tape, at + CHUNK, entry[6])
                spare = entry[5] + 1
                stride = tape.entries[at + 1][1] - a
                glide_four(rows, a, stride, c, d, entry[5], entry[6], spare if total < 0 else total)
                at += CHUNK - 1 + (total >= 0)
            else:
                glide(rows, a, b, c, d, entry[5], entry[6], entry[7])
        elif code == CHUNK_TOTALS:
            chunk_totals(rows, a, b, c, d)
        elif code == CHUNK_SUFFIXES:
            chunk_suffixes(rows, a, b, c, d, entry[5])
        at += 1
    tape.used[0] = 0


@compiled
def _four_glides(tape, at):
    """Whether the next four entries are glides of one query through a chunk, one slice each."""
    one = tape.entries[at]
    if at + CHUNK > tape.used[0] or one[2] != one[3] - CHUNK + 1 or one[6] != one[7]:
        return False
    stride = tape.entries[at + 1][1] - one[1]
    for i in range(1, CHUNK):
        next_ = tape.entries[at + i]
        if (
            next_[0] != GLIDE
            or next_[1] != one[1] + i * stride
            or next_[2] != one[2] + i
            or next_[3] != one[3]
            or next_[4] != one[4]
            or next_[5] != one[5]
            or next_[6] != one[6] + i
            or next_[7] != one[7] + i
        ):
            return False
    return stride > 0


@compiled
def _total_of(tape, at, first):
    """Where the total of the chunk that starts with this slice goes, if that is the entry; else −1."""
    entry = tape.entries[at]
    if at == tape.used[0] or entry[0] != CHUNK_TOTALS or entry[3] != entry[4] or entry[3] * CHUNK != first:
        return -1
    return entry[1] + entry[3] % entry[2]


@compiled
def play_running(tape, rows):
    """The same for the tapes of kernels that keep running states and use the inverse."""
    for at in range(tape.used[0]):
        entry = tape.entries[at]
        code, a, b, c, d = entry[0], entry[1], entry[2], entry[3], entry[4]
        if code == ENTER_SLICE:
            enter_slice(rows, a, b)
        elif code == LEAVE_SLICE:
            leave_slice(rows, a, b)
        elif code == SLIDE:
            slide(rows, a, b, c)
        elif code == SLIDE_ROW:
            slide_row(rows, a, b, c, d, d + 1)
        elif code == RENEW:
            renew(rows, a, b, c)
        elif code == SETTLE_ROW:
            settle_row(rows, a, b, c, d)
        elif code == ANSWER_NONE:
            answer_none(rows, a)
        elif code == EXTEND:
            extend(rows, a, b, c)
        elif code == TAKE:
            take(rows, a, b)
        elif code == DIFFERENCE:
            difference(rows, a, b, c)
        elif code == ANSWER_ROW:
            answer_row(rows, a, b)
    tape.used[0] = 0


def new_tape(room: int) -> Tape:
    return Tape(np.empty((room, FIELDS), np.int64), np.zeros(2, np.int64))


Sink = Any  # whatever carries row operations out
