"""Answers against numpy, the statistics module and plain Python, however values were bracketed."""

import math
import statistics
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.aggregates import AGGREGATES
from streaming.aggregates.bounded import Bounded
from streaming.aggregates.collect import collect
from streaming.aggregates.collect_distinct import collect_distinct
from streaming.aggregates.concat import concat
from streaming.aggregates.exact_sum import exact_sum
from streaming.aggregates.first_n import first_n
from streaming.aggregates.last_n import last_n
from streaming.aggregates.percentile import percentile
from streaming.aggregates.top_k import top_k
from tests.streaming.aggregates.references import NAN, REFERENCES
from tests.streaming.aggregates.samples import answer, values_of

COUNTS = {"count", "distinct_count", "approx_distinct_count"}  # of nothing: 0
ROUNDED = {"sum", "mean", "product", "geometric_mean", "sum_of_squares"}
PERCENTILES = {"percentile", "p50", "p95", "p99"}
SPREADS = {"variance", "variance_population", "stddev", "stddev_population"}


def test_every_aggregate_has_a_reference():
    assert REFERENCES.keys() == AGGREGATES.keys()


@pytest.mark.parametrize("name", AGGREGATES)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_answers(name, data):
    values = data.draw(st.lists(values_of(name), min_size=1, max_size=20))
    got = answer(AGGREGATES[name], values, data.draw(st.integers(0, 99)))
    expected = REFERENCES[name](values)
    if name in ROUNDED | PERCENTILES:
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-8, nan_ok=True)
    elif name in SPREADS:
        size = max(1.0, *map(abs, values))
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9 * size, nan_ok=True)
    else:
        assert got == expected


@pytest.mark.parametrize("name", AGGREGATES)
def test_no_values_no_answer(name):
    aggregate = AGGREGATES[name]
    got = aggregate.lower(0, *(algebra.identity for algebra in aggregate.parts))
    if name in COUNTS:
        assert got == 0
    else:
        assert got is None or math.isnan(got)


def test_one_value_is_no_sample():
    assert math.isnan(answer(AGGREGATES["variance"], [5.0]))
    assert math.isnan(answer(AGGREGATES["stddev"], [5.0]))
    assert answer(AGGREGATES["variance_population"], [5.0]) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_variance_far_from_zero(seed):
    """A spread of 0.1 beside an offset of 10⁹: squares of the values themselves would have no digit left."""
    values = np.random.default_rng(seed).normal(1e9, 0.1, 2000)
    got = answer(AGGREGATES["variance"], values.tolist(), seed)
    assert got == pytest.approx(statistics.variance(values.tolist()), rel=1e-6)


ORDERING = ["min", "max", "range", "min_count", "max_count", "top_k", "percentile"]


@pytest.mark.parametrize("name", ORDERING)
def test_orders_pass_nan_over(name):
    aggregate = AGGREGATES[name]
    values = [3.0, 1.0, 1.0, 4.0]
    assert answer(aggregate, [NAN, 3.0, NAN, 1.0, 1.0, 4.0, NAN], 1) == answer(aggregate, values, 1)
    nothing = answer(aggregate, [NAN, NAN])
    assert nothing is None or math.isnan(nothing)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_arguments_pass_nan_over(name):
    aggregate = AGGREGATES[name]
    assert answer(aggregate, [(NAN, 1.0), (5.0, 2.0), (NAN, 3.0)]) == 2.0
    assert math.isnan(answer(aggregate, [(NAN, 1.0)]))


def test_arguments_of_infinite_values():
    assert answer(AGGREGATES["argmax"], [(-math.inf, 7.0), (-math.inf, 8.0)]) == 7.0
    assert answer(AGGREGATES["argmin"], [(math.inf, 7.0), (math.inf, 8.0)]) == 7.0
    assert answer(AGGREGATES["max_count"], [-math.inf, -math.inf]) == 2


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_infinities_alone_are_infinite(name, infinite):
    assert answer(AGGREGATES[name], [infinite, NAN, infinite]) == infinite
    assert AGGREGATES[name].lower(0, AGGREGATES[name].parts[0].identity) != infinite


@pytest.mark.parametrize("name", [*sorted(ROUNDED), *sorted(SPREADS)])
def test_sums_of_nan_are_nan(name):
    assert math.isnan(answer(AGGREGATES[name], [1.0, NAN, 2.0]))


def test_products_beyond_floats():
    product = AGGREGATES["product"]
    assert answer(product, [1e300] * 5 + [1e-300] * 5, 3) == pytest.approx(1.0, rel=1e-12)
    assert answer(product, [1e300, 1e300]) == math.inf
    assert answer(product, [-1e300, 1e300]) == -math.inf
    assert answer(product, [1e-300, 1e-300]) == 0.0
    assert answer(product, [math.inf, -2.0, 0.5]) == -math.inf
    assert math.isnan(answer(product, [math.inf, 0.0]))
    assert answer(product, [5e-324, 2.0]) == 1e-323


def test_geometric_means_of_zeros_and_negatives():
    mean = AGGREGATES["geometric_mean"]
    assert answer(mean, [1.0, 0.0, 4.0]) == 0.0
    assert math.isnan(answer(mean, [1.0, -1.0, 0.0]))
    assert answer(mean, [1.0, math.inf]) == math.inf
    assert answer(mean, [1e300] * 9) == pytest.approx(1e300, rel=1e-12)


def test_exact_sums_beyond_64_bits():
    values = [2**63, 2**100, -1, 10**30, -(2**99), 2**120]
    assert answer(exact_sum(), values, 2) == sum(values)
    cents = [Decimal("0.01"), 3, Decimal("99999999999999999999999999999999.99"), Decimal("-0.5"), 2.0]
    assert answer(exact_sum(scale=2), cents, 2) == Decimal("100000000000000000000000000000004.50")
    assert isinstance(answer(exact_sum(), [1, 2]), int)
    assert str(answer(exact_sum(scale=2), [1, 2])) == "3.00"
    assert answer(exact_sum(), [np.int64(2**62)] * 4) == 2**64
    assert answer(exact_sum(9), [1.11, 2.22]) == Decimal("3.33")


@pytest.mark.parametrize(
    "value", [0.123, 0.1 + 0.2, NAN, Decimal("0.001"), Decimal("Infinity"), Decimal("NaN"), 2**121]
)
def test_exact_sums_refuse_what_they_cannot_hold(value):
    with pytest.raises(ValueError, match="exact_sum"):
        exact_sum(scale=2).lift(value)


WRITTEN = st.builds(
    lambda units, places: units / 10**places, st.integers(-(10**15), 10**15), st.integers(0, 9)
)


@given(st.lists(WRITTEN | st.integers(-(2**53) + 1, 2**53 - 1).map(float), max_size=30))
def test_floats_at_once_are_the_decimals_that_they_were_written_as(values):
    aggregate = exact_sum(9)
    try:
        [columns] = aggregate.lift_column(np.array(values), np.zeros(len(values)))
    except ValueError:  # more digits than 53 bits: one by one they are lifted, or refused
        return
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        aggregate.lift(value)[0] for value in values
    ]


@given(st.lists(st.integers(-(10**36) + 1, 10**36 - 1), min_size=1, max_size=30))
def test_decimals_at_once_are_what_they_are_one_by_one(values):
    aggregate = exact_sum(0)
    bits = np.frombuffer(b"".join(value.to_bytes(16, "little", signed=True) for value in values), np.int64)
    [columns] = aggregate.lift_units(bits.reshape(-1, 2).T[::-1], 0)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
        aggregate.lift(value)[0] for value in values
    ]


def test_bounded_answers_say_that_they_were_cut():
    assert answer(collect(3), [1, 2, 3]) == Bounded((1, 2, 3), False)
    assert answer(collect(3), [1, 2, 3, 4], 1) == Bounded((1, 2, 3), True)
    assert answer(collect_distinct(2), [1, 2, 1, 2, 2]) == Bounded((1, 2), False)
    assert answer(collect_distinct(2), [1, 2, 1, 3], 1) == Bounded((1, 2), True)
    assert answer(concat("-", 5), ["a", "", "b"]) == Bounded("a--b", False)
    assert answer(concat("-", 5), ["ab", "cd", "e"], 1) == Bounded("ab-cd", True)
    assert answer(concat("-", 5), ["too long"]) == Bounded("too l", True)
    assert answer(collect(), range(1001)).cut
    assert answer(concat(), ["x" * 100] * 100).cut


def test_numbers_of_values_to_keep():
    values = [5, 1, 4, 2, 3]
    assert answer(first_n(2), values) == (5, 1)
    assert answer(last_n(2), values) == (2, 3)
    assert answer(top_k(2), values) == (5, 4)
    for of_none in (first_n, last_n, top_k, collect, collect_distinct, lambda limit: concat(limit=limit)):
        with pytest.raises(ValueError, match="at least one"):
            of_none(0)
    with pytest.raises(ValueError, match="from 0 to 1"):
        percentile(95)


def test_equal_values_are_one():
    for name in ("distinct_count", "approx_distinct_count"):
        assert answer(AGGREGATES[name], [1, 1.0, True, Decimal("1.00")]) == 1
        assert answer(AGGREGATES[name], [1, np.int64(1), np.float64(1.0)]) == 1
        assert answer(AGGREGATES[name], [NAN, float("nan"), np.nan]) == 1
        assert answer(AGGREGATES[name], [-1, -2, 0.5, "1", 2**70, Decimal("0.1")]) == 6
    distinct = answer(AGGREGATES["collect_distinct"], [NAN, 1.0, float("nan")]).items
    assert math.isnan(distinct[0])
    assert distinct[1:] == (1.0,)


def test_approximate_ones_say_so():
    approximate = {name for name, aggregate in AGGREGATES.items() if not aggregate.exact}
    assert approximate == {"approx_distinct_count", "percentile", "p50", "p95", "p99"}
