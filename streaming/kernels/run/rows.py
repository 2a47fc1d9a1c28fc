"""Rows: operations carried out at once, for all groups of a shard or for a single one.

Arrays are `(columns, rows, groups)`, seen as flat here: `size` numbers to a column, `groups` to a row.
Operations run over contiguous numbers without branches, so that LLVM vectorises them. It does not where a
target may be one of the operands, hence `append` beside `extend` and `absorb` beside `join`.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from streaming.aggregates.algebra import Algebra, combine, enter, intact, leave, settle
from streaming.compiled import compiled, jitable
from streaming.kernels.run.operations import (
    CHUNK,
    answer_join,
    append,
    enter_slice,
    groups_of,
    move,
    settle_row,
)

U = np.uint64  # with signed indexes numba looks for negative ones, and LLVM does not vectorise


class Flat(NamedTuple):
    """An array of rows, seen as flat."""

    numbers: np.ndarray
    size: Any  # numbers to a column
    depth: Any  # rows


def flat(rows: np.ndarray) -> Flat:
    if not rows.flags.c_contiguous:  # a copy would take the writes
        raise ValueError("Rows must lie in memory one after the other.")
    return Flat(rows.reshape(-1), U(rows.shape[1] * rows.shape[2]), rows.shape[1])


def load(self, rows, at):
    """The state at a place of flat rows."""
    raise NotImplementedError("Only compiled code loads states.")


def save(self, rows, at, state):
    """Write a state to a place of flat rows."""
    raise NotImplementedError("Only compiled code saves states.")


def same(self, one, other):
    """Whether two states are equal; a NaN equals another."""
    raise NotImplementedError("Only compiled code compares states of numbers.")


def load_running(self, rows, at):
    raise NotImplementedError("Only compiled code loads states.")


def save_running(self, rows, at, state):
    raise NotImplementedError("Only compiled code saves states.")


def _load_1(self, rows, at):
    return (rows.numbers[at],)


def _load_2(self, rows, at):
    return (rows.numbers[at], rows.numbers[at + rows.size])


def _load_3(self, rows, at):
    numbers, size = rows.numbers, rows.size
    return (numbers[at], numbers[at + size], numbers[at + size + size])


def _load_4(self, rows, at):
    numbers, size = rows.numbers, rows.size
    two = size + size
    return (numbers[at], numbers[at + size], numbers[at + two], numbers[at + two + size])


def _load_5(self, rows, at):
    numbers, size = rows.numbers, rows.size
    two = size + size
    four = two + two
    return (numbers[at], numbers[at + size], numbers[at + two], numbers[at + two + size], numbers[at + four])


def _save_1(self, rows, at, state):
    rows.numbers[at] = state[0]


def _save_2(self, rows, at, state):
    rows.numbers[at] = state[0]
    rows.numbers[at + rows.size] = state[1]


def _save_3(self, rows, at, state):
    numbers, size = rows.numbers, rows.size
    numbers[at] = state[0]
    numbers[at + size] = state[1]
    numbers[at + size + size] = state[2]


def _save_4(self, rows, at, state):
    numbers, size = rows.numbers, rows.size
    two = size + size
    numbers[at] = state[0]
    numbers[at + size] = state[1]
    numbers[at + two] = state[2]
    numbers[at + two + size] = state[3]


def _save_5(self, rows, at, state):
    numbers, size = rows.numbers, rows.size
    two = size + size
    numbers[at] = state[0]
    numbers[at + size] = state[1]
    numbers[at + two] = state[2]
    numbers[at + two + size] = state[3]
    numbers[at + two + two] = state[4]


@jitable
def _number(one, other):
    return one == other or (one != one and other != other)


def _same_1(self, one, other):
    return _number(one[0], other[0])


def _same_2(self, one, other):
    return _number(one[0], other[0]) and _number(one[1], other[1])


def _same_3(self, one, other):
    return _number(one[0], other[0]) and _number(one[1], other[1]) and _number(one[2], other[2])


_SAMES = {1: _same_1, 2: _same_2, 3: _same_3}
_LOADS = {1: _load_1, 2: _load_2, 3: _load_3, 4: _load_4, 5: _load_5}
_SAVES = {1: _save_1, 2: _save_2, 3: _save_3, 4: _save_4, 5: _save_5}


@overload(load)
def _compiled_load(self, rows, at):
    return _LOADS[len(self.instance_class.identity)]


@overload(save)
def _compiled_save(self, rows, at, state):
    return _SAVES[len(self.instance_class.identity)]


@overload(same)
def _compiled_same(self, one, other):
    return _SAMES[len(self.instance_class.identity)]


@overload(load_running)
def _compiled_load_running(self, rows, at):
    return _LOADS[len(self.instance_class.running_identity)]


@overload(save_running)
def _compiled_save_running(self, rows, at, state):
    return _SAVES[len(self.instance_class.running_identity)]


@jitable
def _place(slices, number):
    """Where a slice is in the ring; divides, which is dear with a single group, only once it went round."""
    return U(number) if 0 <= number < slices.depth else U(number % slices.depth)


class Rows(NamedTuple):
    """Operations on rows of many groups."""

    algebra: Any
    slices: Flat
    store: Flat
    answers: Flat
    empty: Any  # the identity
    fresh: Any  # a running state that holds nothing
    groups: Any

    def groups_of(self):
        return U(self.groups)

    def room(self):
        return 1 << 60

    def take(self, target, number):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at = U(target) * groups, _place(slices, number) * groups
        for i in range(groups):
            save(op, store, to + i, load(op, slices, at + i))

    def move(self, target, row):
        groups, op, store = groups_of(self), self.algebra, self.store
        to, at = U(target) * groups, U(row) * groups
        for i in range(groups):
            save(op, store, to + i, load(op, store, at + i))

    def append(self, target, number):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at = U(target) * groups, _place(slices, number) * groups
        for i in range(groups):
            save(op, store, to + i, combine(op, load(op, store, to + i), load(op, slices, at + i)))

    def extend(self, target, row, number):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, one, at = U(target) * groups, U(row) * groups, _place(slices, number) * groups
        for i in range(groups):
            save(op, store, to + i, combine(op, load(op, store, one + i), load(op, slices, at + i)))

    def prepend(self, target, number, row):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at, one = U(target) * groups, _place(slices, number) * groups, U(row) * groups
        for i in range(groups):
            save(op, store, to + i, combine(op, load(op, slices, at + i), load(op, store, one + i)))

    def join(self, target, older, newer):
        groups, op, store = groups_of(self), self.algebra, self.store
        to, one, other = U(target) * groups, U(older) * groups, U(newer) * groups
        for i in range(groups):
            save(op, store, to + i, combine(op, load(op, store, one + i), load(op, store, other + i)))

    def absorb(self, target, newer):
        groups, op, store = groups_of(self), self.algebra, self.store
        to, other = U(target) * groups, U(newer) * groups
        for i in range(groups):
            save(op, store, to + i, combine(op, load(op, store, to + i), load(op, store, other + i)))

    def append_run(self, target, first, last):
        for number in range(first, last + 1):
            append(self, target, number)

    def suffixes(self, base, size, first, last):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at = U(base + last % size) * groups, _place(slices, last) * groups
        for i in range(groups):
            save(op, store, to + i, load(op, slices, at + i))
        for back in range(last - first):
            number = last - 1 - back
            newer = to
            to, at = U(base + number % size) * groups, _place(slices, number) * groups
            for i in range(groups):
                save(op, store, to + i, combine(op, load(op, slices, at + i), load(op, store, newer + i)))

    def chunk_totals(self, base, size, first, last):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        for chunk in range(first, last + 1):
            to = U(base + chunk % size) * groups
            one, two, three, four = _four_rows(self, chunk * CHUNK)
            for i in range(groups):
                older = combine(op, load(op, slices, one + i), load(op, slices, two + i))
                newer = combine(op, load(op, slices, three + i), load(op, slices, four + i))
                save(op, store, to + i, combine(op, older, newer))

    def chunk_suffixes(self, base, totals, size, first, last):
        groups, op, store = groups_of(self), self.algebra, self.store
        move(self, base + last % size, totals + last % size)
        for older in range(last - 1, first - 1, -1):
            to, newer = U(base + older % size) * groups, U(base + (older + 1) % size) * groups
            at = U(totals + older % size) * groups
            for i in range(groups):
                save(op, store, to + i, combine(op, load(op, store, at + i), load(op, store, newer + i)))

    def append_each(self, target, count, number):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at = U(target) * groups, _place(slices, number) * groups
        if groups == U(1):  # along the rows instead: they are contiguous too
            partial = load(op, slices, at)
            for i in range(U(count)):
                save(op, store, to + i, combine(op, load(op, store, to + i), partial))
            return
        for _ in range(count):
            for i in range(groups):
                save(op, store, to + i, combine(op, load(op, store, to + i), load(op, slices, at + i)))
            to += groups

    def sweep(self, out, target, count, number):
        groups, op, store = groups_of(self), self.algebra, self.store
        slices, answers = self.slices, self.answers
        to, at, own = U(out) * groups, _place(slices, number) * groups, U(target) * groups
        if groups == U(1):
            partial = load(op, slices, at)
            for i in range(U(count)):
                state = combine(op, load(op, store, own + i), partial)
                save(op, store, own + i, state)
                save(op, answers, to + i, state)
            return
        for _ in range(count):
            for i in range(groups):
                state = combine(op, load(op, store, own + i), load(op, slices, at + i))
                save(op, store, own + i, state)
                save(op, answers, to + i, state)
            own += groups
            to += groups

    def answer_none(self, out):
        groups, op, answers = groups_of(self), self.algebra, self.answers
        to = U(out) * groups
        for i in range(groups):
            save(op, answers, to + i, self.empty)

    def answer_row(self, out, row):
        groups, op, store, answers = groups_of(self), self.algebra, self.store, self.answers
        to, at = U(out) * groups, U(row) * groups
        for i in range(groups):
            save(op, answers, to + i, load(op, store, at + i))

    def answer_rows(self, out, row, count):
        groups, op, store, answers = groups_of(self), self.algebra, self.store, self.answers
        to, at = U(out) * groups, U(row) * groups
        for i in range(U(count) * groups):
            save(op, answers, to + i, load(op, store, at + i))

    def answer_join(self, out, older, newer):
        groups, op, store, answers = groups_of(self), self.algebra, self.store, self.answers
        to, one, other = U(out) * groups, U(older) * groups, U(newer) * groups
        for i in range(groups):
            save(op, answers, to + i, combine(op, load(op, store, one + i), load(op, store, other + i)))

    def glide(self, out, low, until, older, running, first, last):
        for number in range(first, last):
            append(self, running, number)
        if low < until:
            _glide_within_a_chunk(self, out, low, until, older, running, first, last)
        elif first > last:
            answer_join(self, out, older, running)
        else:
            _glide_on(self, out, older, running, last)

    def glide_four(self, out, stride, until, older, running, first, total):
        groups, op, store = groups_of(self), self.algebra, self.store
        slices, answers = self.slices, self.answers
        behind, newest, added = U(older) * groups, U(running) * groups, U(total) * groups
        _, left_1, left_2, left_3 = _four_rows(self, until - CHUNK)
        new_1, new_2, new_3, new_4 = _four_rows(self, first)
        step = U(stride) * groups
        to_1 = U(out) * groups
        to_2 = to_1 + step
        to_3 = to_2 + step
        to_4 = to_3 + step
        for i in range(groups):
            behind_4 = load(op, store, behind + i)
            behind_3 = combine(op, load(op, slices, left_3 + i), behind_4)
            behind_2 = combine(op, load(op, slices, left_2 + i), behind_3)
            behind_1 = combine(op, load(op, slices, left_1 + i), behind_2)
            slice_1, slice_2 = load(op, slices, new_1 + i), load(op, slices, new_2 + i)
            slice_3, slice_4 = load(op, slices, new_3 + i), load(op, slices, new_4 + i)
            older_two, newer_two = combine(op, slice_1, slice_2), combine(op, slice_3, slice_4)
            save(op, store, added + i, combine(op, older_two, newer_two))
            sum_1 = combine(op, load(op, store, newest + i), slice_1)
            sum_2 = combine(op, sum_1, slice_2)
            sum_3 = combine(op, sum_2, slice_3)
            sum_4 = combine(op, sum_3, slice_4)
            save(op, store, newest + i, sum_4)
            save(op, answers, to_1 + i, combine(op, behind_1, sum_1))
            save(op, answers, to_2 + i, combine(op, behind_2, sum_2))
            save(op, answers, to_3 + i, combine(op, behind_3, sum_3))
            save(op, answers, to_4 + i, combine(op, behind_4, sum_4))

    def enter_slice(self, running, number):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at = U(running) * groups, _place(slices, number) * groups
        for i in range(groups):
            save_running(
                op, store, to + i, enter(op, load_running(op, store, to + i), load(op, slices, at + i))
            )

    def leave_slice(self, running, number):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to, at = U(running) * groups, _place(slices, number) * groups
        for i in range(groups):
            left = leave(op, load_running(op, store, to + i), load(op, slices, at + i))
            save_running(op, store, to + i, left)

    def slide(self, running, entering, leaving):
        groups, op, store, slices = groups_of(self), self.algebra, self.store, self.slices
        to = U(running) * groups
        new, old = _place(slices, entering) * groups, _place(slices, leaving) * groups
        for i in range(groups):
            entered = enter(op, load_running(op, store, to + i), load(op, slices, new + i))
            save_running(op, store, to + i, leave(op, entered, load(op, slices, old + i)))

    def slide_row(self, out, running, entering, leaving, first):
        groups, op, store = groups_of(self), self.algebra, self.store
        slices, answers = self.slices, self.answers
        to, at = U(out) * groups, U(running) * groups
        new, old = _place(slices, entering) * groups, _place(slices, leaving) * groups
        broken = 0
        for i in range(groups):
            entered = enter(op, load_running(op, store, at + i), load(op, slices, new + i))
            state = leave(op, entered, load(op, slices, old + i))
            save_running(op, store, at + i, state)
            broken += 0 if intact(op, state) else 1
            save(op, answers, to + i, settle(op, state))
        if broken > 0:
            settle_row(self, out, running, first, entering)

    def renew(self, running, first, last):
        groups, op, store = groups_of(self), self.algebra, self.store
        to = U(running) * groups
        for i in range(groups):
            save_running(op, store, to + i, self.fresh)
        for number in range(first, last + 1):
            enter_slice(self, running, number)

    def settle_row(self, out, running, first, last):
        groups, op, store, answers = groups_of(self), self.algebra, self.store, self.answers
        to, at = U(out) * groups, U(running) * groups
        broken = 0
        for i in range(groups):
            state = load_running(op, store, at + i)
            broken += 0 if intact(op, state) else 1
            save(op, answers, to + i, settle(op, state))
        if broken > 0:
            _renew_broken(self, running, first, last)
            for i in range(groups):
                save(op, answers, to + i, settle(op, load_running(op, store, at + i)))

    def difference(self, out, newer, older):
        groups, op, store, answers = groups_of(self), self.algebra, self.store, self.answers
        to, one, other = U(out) * groups, U(newer) * groups, U(older) * groups
        for i in range(groups):
            left = leave(op, load_running(op, store, one + i), load(op, store, other + i))
            save(op, answers, to + i, settle(op, left))


@jitable
def _four_rows(rows, number):
    """Where four slices from this one on begin."""
    groups, slices = groups_of(rows), rows.slices
    return (
        _place(slices, number) * groups,
        _place(slices, number + 1) * groups,
        _place(slices, number + 2) * groups,
        _place(slices, number + 3) * groups,
    )


@compiled
def _glide_on(rows, out, older, running, number):
    """A glide by one slice whose window starts with a row of the store."""
    groups, op, store = groups_of(rows), rows.algebra, rows.store
    slices, answers = rows.slices, rows.answers
    to, behind = U(out) * groups, U(older) * groups
    sum_, at = U(running) * groups, _place(slices, number) * groups
    for i in range(groups):
        newest = combine(op, load(op, store, sum_ + i), load(op, slices, at + i))
        save(op, store, sum_ + i, newest)
        save(op, answers, to + i, combine(op, load(op, store, behind + i), newest))


@compiled
def _glide_within_a_chunk(rows, out, low, until, older, running, first, last):
    """A glide whose window starts within a chunk; combines in the same order as a glide of four."""
    groups, op, store = groups_of(rows), rows.algebra, rows.store
    slices, answers = rows.slices, rows.answers
    if first <= last:
        append(rows, running, last)
    to, behind, newest = U(out) * groups, U(older) * groups, U(running) * groups
    at = _place(slices, until - 1) * groups
    for i in range(groups):
        save(op, answers, to + i, combine(op, load(op, slices, at + i), load(op, store, behind + i)))
    for number in range(until - 2, low - 1, -1):
        at = _place(slices, number) * groups
        for i in range(groups):
            save(op, answers, to + i, combine(op, load(op, slices, at + i), load(op, answers, to + i)))
    for i in range(groups):
        save(op, answers, to + i, combine(op, load(op, answers, to + i), load(op, store, newest + i)))


@compiled
def _renew_broken(rows, running, first, last):
    """Make running states anew that an inverse could not mend: after an overflow, an infinity or a NaN."""
    groups, op, store, slices = groups_of(rows), rows.algebra, rows.store, rows.slices
    to = U(running) * groups
    for i in range(groups):
        if not intact(op, load_running(op, store, to + i)):
            save_running(op, store, to + i, rows.fresh)
            for number in range(first, last + 1):
                partial = load(op, slices, _place(slices, number) * groups + i)
                save_running(op, store, to + i, enter(op, load_running(op, store, to + i), partial))


class OneGroup(NamedTuple):
    """The same operations where there is one group only."""

    algebra: Any
    slices: Flat
    store: Flat
    answers: Flat
    empty: Any
    fresh: Any
    groups: Any

    def groups_of(self):
        return U(1)


for _name, _operation in vars(Rows).items():
    if callable(_operation) and not _name.startswith("_") and _name not in vars(OneGroup):
        setattr(OneGroup, _name, _operation)


def rows_of(algebra: Algebra, slices: np.ndarray, store: np.ndarray, answers: np.ndarray) -> Rows:
    """Operations on these arrays, which are contiguous."""
    number = np.dtype(algebra.dtype).type
    empty = tuple(number(value) for value in algebra.identity)
    fresh = tuple(number(value) for value in algebra.running_identity)
    return Rows(algebra, flat(slices), flat(store), flat(answers), empty, fresh, slices.shape[2])


def one_group_of(algebra: Algebra, slices: np.ndarray, store: np.ndarray, answers: np.ndarray) -> OneGroup:
    """The same for a single group, to be driven by a kernel directly: no tape, all compiled into one."""
    return OneGroup(*rows_of(algebra, slices, store, answers))
