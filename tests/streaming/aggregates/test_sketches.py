"""Sketches keep to the errors that they state, and merging leaves what was merged as it was."""

import numpy as np
import pytest
from datasketches import cpc_sketch, kll_doubles_sketch

from streaming.aggregates import AGGREGATES
from streaming.aggregates.approx_distinct_count import LG_K, DistinctSketch, _union
from streaming.aggregates.percentile import K, QuantileSketch
from tests.streaming.aggregates.samples import fold, states_of

VALUES = 100_000
PIECE = 500  # of values to a slice


def quantile_slices(values):
    """A state for each slice, made at once: one merge for each value would take long."""
    for start in range(0, len(values), PIECE):
        sketch = kll_doubles_sketch(K)
        sketch.update(values[start : start + PIECE])
        yield sketch.serialize()


def distinct_slices(values):
    for start in range(0, len(values), PIECE):
        sketch = cpc_sketch(LG_K)
        for value in values[start : start + PIECE].tolist():
            sketch.update(value)
        yield _union(sketch)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_percentiles_are_within_their_error(draw):
    values = getattr(np.random.default_rng(1), draw)(size=VALUES)
    state = fold(QuantileSketch(), list(quantile_slices(values)))
    for name, fraction in (("p50", 0.50), ("p95", 0.95), ("p99", 0.99)):
        got = AGGREGATES[name].lower(VALUES, state)
        assert abs(np.mean(values <= got) - fraction) < 0.007
    assert len(state) < 12_000


def test_the_stated_error_of_percentiles_is_the_librarys():
    assert kll_doubles_sketch(K).normalized_rank_error(False) < 0.007
    assert "0.7 %" in AGGREGATES["p50"].error
    assert str(K) in AGGREGATES["p50"].error


def test_percentiles_share_one_state():
    p50, p99 = AGGREGATES["p50"], AGGREGATES["p99"]
    assert p50.lift is p99.lift
    assert p50.parts == p99.parts


@pytest.mark.parametrize("distinct", [100, 5_000, VALUES])
def test_distinct_counts_are_within_their_error(distinct):
    values = np.random.default_rng(2).permutation(np.arange(VALUES) % distinct)
    state = fold(DistinctSketch(), list(distinct_slices(values)))
    got = AGGREGATES["approx_distinct_count"].lower(VALUES, state)
    assert abs(got / distinct - 1) < 0.033
    assert len(state) < 3_000


def test_the_stated_error_of_distinct_counts_is_the_librarys():
    state = fold(DistinctSketch(), list(distinct_slices(np.arange(VALUES))))
    sketch = cpc_sketch.deserialize(state)
    for deviations, stated in ((1, 1.1), (2, 2.2), (3, 3.3)):
        assert sketch.get_upper_bound(deviations) / sketch.get_estimate() - 1 < stated / 100
        assert f"{stated} %" in AGGREGATES["approx_distinct_count"].error


@pytest.mark.parametrize(
    ("name", "slices"), [("p50", quantile_slices), ("approx_distinct_count", distinct_slices)]
)
def test_merging_changes_no_operand(name, slices):
    (algebra,) = AGGREGATES[name].parts
    states = [*slices(np.arange(2_000)), *states_of(AGGREGATES[name], [1.0, 2.0])]
    before = [bytes(state) for state in states]
    fold(algebra, states)
    for one in states:
        algebra.combine(one, states[0])
    assert states == before


def test_merges_in_any_order_count_the_same():
    states = list(distinct_slices(np.random.default_rng(3).integers(0, 9_000, 10_000)))
    assert fold(DistinctSketch(), states) == fold(DistinctSketch(), states[::-1])
