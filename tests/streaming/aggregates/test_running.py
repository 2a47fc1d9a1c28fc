"""Running states over long times: no drift, no trace of what has left, and a way back from NaN."""

import math
import statistics

import numpy as np
import pytest

from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import identity_rows, running_rows
from streaming.aggregates.exact_sum import ExactSum
from streaming.aggregates.product import Product
from streaming.aggregates.variance import Moments
from streaming.compiled import compiled
from streaming.kernels.run.operations import enter_slice, leave_slice, settle_row
from streaming.kernels.run.rows import rows_of
from tests.streaming.aggregates.samples import fold, states_of

WINDOW = 100


@compiled
def slide_all(rows, slides, window):
    """Enter every slice, and let each go again a window later."""
    for number in range(slides):
        enter_slice(rows, 0, number)
        if number >= window:
            leave_slice(rows, 0, number - window)
    settle_row(rows, 0, 0, slides - window, slides - 1)


def slid(name, values, slides):
    """The answer of the last window after the values have slid through again and again; two groups alike."""
    aggregate = AGGREGATES[name]
    (algebra,) = aggregate.parts
    columns = np.array(states_of(aggregate, values.tolist()), algebra.dtype).T
    slices = np.ascontiguousarray(np.stack([columns, columns], axis=2))
    answers = identity_rows(algebra, 1, 2)
    slide_all(rows_of(algebra, slices, running_rows(algebra, 1, 2), answers), slides, WINDOW)
    one, other = aggregate.lower(np.full(2, WINDOW), tuple(answers[:, 0]))
    assert one == other
    return one


def test_products_do_not_drift():
    values = np.random.default_rng(1).lognormal(0, 2, 10_000)
    values[5::1000] = 0.0  # a zero passes every ten windows
    expected = math.prod(values[-WINDOW:].tolist())
    assert slid("product", values, 1_000_000) == pytest.approx(expected, rel=1e-12)


def test_geometric_means_do_not_drift():
    values = np.random.default_rng(2).lognormal(0, 2, 10_000)
    values[5::1000] = 0.0
    values[500::1000] = -1.0
    expected = statistics.geometric_mean(values[-WINDOW:])
    assert slid("geometric_mean", values, 1_000_000) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("outlier", [1e18, -1e300, math.inf, math.nan])
def test_sums_keep_no_trace_of_outliers(outlier):
    values = np.random.default_rng(3).normal(0, 1, 10_000)
    values[5::1000] = outlier
    expected = math.fsum(values[-WINDOW:])
    assert slid("sum", values, 1_000_000) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["product", "geometric_mean"])
@pytest.mark.parametrize("outlier", [1e300, math.inf, math.nan])
def test_products_keep_no_trace_of_outliers(name, outlier):
    values = np.random.default_rng(4).lognormal(0, 0.1, 10_000)
    expected = math.prod(values[-WINDOW:].tolist())
    values[5::1000] = outlier
    got = slid(name, values, 20_000)
    assert (got if name == "product" else got**WINDOW) == pytest.approx(expected, rel=1e-9)


def without(whole, gone):
    """Moments with some taken off, as textbooks have it."""
    count = whole[0] - gone[0]
    mean = (whole[0] * whole[1] - gone[0] * gone[1]) / count
    return (count, mean, whole[2] - gone[2] - (gone[1] - mean) ** 2 * gone[0] * count / whole[0])


def test_moments_would_keep_an_outliers_trace():
    """Why there is no inverse: what remains is far from the variance of the values that remain."""
    rest = [1.0, 2.0, 3.0, 4.0]
    outlier, *states = states_of(AGGREGATES["variance"], [1e12, *rest])
    left = without(fold(Moments(), [outlier, *states]), outlier)
    assert abs(left[2] / 3 - np.var(rest, ddof=1)) > 1


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["sum", "product", "geometric_mean"])
def test_states_past_mending_say_so(name, odd):
    """While it is inside the answer says so; afterwards the state is not intact, and a fresh one is."""
    aggregate = AGGREGATES[name]
    (algebra,) = aggregate.parts
    odd_state, *states = states_of(aggregate, [odd, 2.0, 3.0])
    running = algebra.running_identity
    for state in (odd_state, *states):
        running = algebra.enter(running, state)
    inside = aggregate.lower(3, algebra.settle(running))
    if name == "geometric_mean" and odd < 0:
        assert math.isnan(inside)  # a negative value is only counted, and nothing has to be mended
        assert algebra.intact(algebra.leave(running, odd_state))
        return
    assert inside == odd or (math.isnan(inside) and math.isnan(odd))
    assert not algebra.intact(running)
    assert not algebra.intact(algebra.leave(running, odd_state))
    assert algebra.intact(algebra.enter(algebra.running_identity, states[0]))


def test_zeros_enter_and_leave():
    product = Product()
    states = states_of(AGGREGATES["product"], [0.0, 3.0, 0.0, 5.0])
    running = product.running_identity
    answers = []
    for state in states:
        running = product.enter(running, state)
    for state in states[:3]:
        running = product.leave(running, state)
        answers.append(float(AGGREGATES["product"].lower(1, product.settle(running))))
    assert answers == [0.0, 0.0, 5.0]


def test_exact_sums_let_go_exactly():
    total = ExactSum()
    chance = np.random.default_rng(4)
    values = [
        int(sign) * int(size) << 50
        for sign, size in zip(chance.choice([-1, 1], 500), chance.integers(0, 2**62, 500))
    ]
    states = states_of(AGGREGATES["exact_sum(0)"], values)
    running = total.running_identity
    for i, state in enumerate(states):
        running = total.enter(running, state)
        if i >= WINDOW:
            running = total.leave(running, states[i - WINDOW])
    assert AGGREGATES["exact_sum(0)"].lower(WINDOW, total.settle(running)) == sum(values[-WINDOW:])
