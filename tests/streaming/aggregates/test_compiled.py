"""Number states in compiled code, for columns of many groups: the same as one group in Python."""

import numpy as np
import pytest

from streaming.aggregates.base import Aggregate
from streaming.compiled import compiled
from streaming.kernels.run.operations import enter_slice, join, leave_slice, settle_row
from streaming.kernels.run.rows import rows_of
from tests.streaming.aggregates.samples import EVERY, few_of, fold, number_algebras, states_of

GROUPS = 37
NUMBERS = [
    name for name, aggregate in EVERY.items() if all(part.dtype is not object for part in aggregate.parts)
]


@compiled
def join_rows(rows):
    join(rows, 2, 0, 1)


@compiled
def run_rows(rows):
    """Slices 0 and 1 come, slice 0 goes."""
    enter_slice(rows, 0, 0)
    enter_slice(rows, 0, 1)
    leave_slice(rows, 0, 0)
    settle_row(rows, 0, 0, 1, 1)


def values_for(name, chance, count):
    if name == "exact_sum":
        return [int(value) << 40 for value in chance.integers(-(2**40), 2**40, count)]
    few = few_of(name)
    if isinstance(few[0], tuple):
        return [(float(value), float(i)) for i, value in enumerate(chance.integers(-3, 3, count))]
    return [float(value) for value in np.round(chance.normal(0, 3, count))]


def group_states(name, part, seed):
    """A state of each group; some hold nothing."""
    chance = np.random.default_rng(seed)
    algebra = EVERY[name].parts[part]
    return [
        fold(algebra, states_of(EVERY[name], values_for(name, chance, group % 5), part))
        for group in range(GROUPS)
    ]


def as_columns(algebra, states):
    return np.array(states, algebra.dtype).T.copy()


@pytest.mark.parametrize(("name", "part"), number_algebras())
def test_columns_combine_as_in_python(name, part):
    algebra = EVERY[name].parts[part]
    older, newer = group_states(name, part, 1), group_states(name, part, 2)
    width = len(algebra.identity)
    store = np.zeros((width, 3, GROUPS), algebra.dtype)
    store[:, 0], store[:, 1] = as_columns(algebra, older), as_columns(algebra, newer)
    nothing = np.zeros((width, 1, GROUPS), algebra.dtype)
    join_rows(rows_of(algebra, nothing, store, nothing))
    expected = [algebra.combine(one, other) for one, other in zip(older, newer)]
    np.testing.assert_array_equal(store[:, 2], as_columns(algebra, expected))


@pytest.mark.parametrize(("name", "part"), number_algebras())
def test_columns_run_as_in_python(name, part):
    algebra = EVERY[name].parts[part]
    if algebra.inverse == "none":
        return
    older, newer = group_states(name, part, 3), group_states(name, part, 4)
    slices = np.stack([as_columns(algebra, older), as_columns(algebra, newer)], axis=1)
    fresh = [algebra.running_identity] * GROUPS
    store = as_columns(algebra, fresh).reshape(-1, 1, GROUPS)
    answers = np.zeros((len(algebra.identity), 1, GROUPS), algebra.dtype)
    run_rows(rows_of(algebra, slices, store, answers))
    expected = []
    for one, other in zip(older, newer):
        running = algebra.leave(algebra.enter(algebra.enter(algebra.running_identity, one), other), one)
        expected.append(algebra.settle(running))
    np.testing.assert_array_equal(answers[:, 0], as_columns(algebra, expected))


def lowered_columns(aggregate: Aggregate, counts, states):
    return aggregate.lower(counts, *(tuple(as_columns(*part)) for part in zip(aggregate.parts, states)))


@pytest.mark.parametrize("name", NUMBERS)
def test_columns_are_lowered_as_numbers_are(name):
    aggregate = EVERY[name]
    counts = np.arange(GROUPS) % 5
    states = [group_states(name, part, 5) for part in range(len(aggregate.parts))]
    columns = lowered_columns(aggregate, counts, states)
    for group in range(GROUPS):
        one = aggregate.lower(int(counts[group]), *(part[group] for part in states))
        assert one == columns[group] or (one != one and columns[group] != columns[group])
        assert np.ndim(one) == 0
        assert not isinstance(one, np.ndarray)
