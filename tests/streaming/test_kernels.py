"""All kernels against brute force: varying spans, several queries, groups that appear on the way."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import kernels as planned
from streaming.aggregates import AGGREGATES, IDENTITY
from streaming.kernels import KERNELS

LEGAL = [
    ("slickdeque_inv", "additive"),
    ("slickdeque_noninv", "max"),
    ("slickdeque_noninv", "min"),
    ("flatfit", "additive"),
    ("flatfit", "max"),
    ("flatfit", "min"),
]
REDUCE = {"additive": np.sum, "max": np.max, "min": np.min}


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Slices of a growing number of groups; after each, windows `low` that never go back, per query."""
    width, lows, steps = draw(st.integers(1, 3)), {"a": 0, "b": 0}, []
    for number in range(draw(st.integers(1, 25))):
        width += draw(st.integers(0, 1))
        row = draw(st.lists(st.one_of(st.none(), st.integers(-40, 40)), min_size=width, max_size=width))
        for query in lows:
            lows[query] = draw(st.integers(lows[query], number + 1))
        steps.append({"row": row, "lows": dict(lows), "peek": draw(st.integers(lows["a"], number + 1))})
    return steps


@pytest.mark.parametrize(("name", "family"), LEGAL)
@settings(max_examples=60, deadline=None)
@given(history=histories())
def test_every_answer_equals_brute_force(name, family, history):
    identity = IDENTITY[family]
    rows = [np.array([identity if v is None else v / 4 for v in step["row"]], float) for step in history]
    kernel = KERNELS[name](lambda number: rows[number], family)
    for number, step in enumerate(history):
        kernel.push(number, rows[number])
        width = len(rows[number])
        expected = _brute_force(rows[: number + 1], step["peek"], width, family)
        np.testing.assert_array_equal(kernel.peek("a", step["peek"], width), expected)
        for query, low in step["lows"].items():
            expected = _brute_force(rows[: number + 1], low, width, family)
            np.testing.assert_array_equal(kernel.answer(query, low, width), expected)
        kernel.evict(min(step["lows"].values()))


def _brute_force(rows: list[np.ndarray], low: int, width: int, family: str) -> np.ndarray:
    identity = IDENTITY[family]
    inside = [np.pad(row, (0, width - len(row)), constant_values=identity) for row in rows[low:]]
    return REDUCE[family](inside, axis=0) if inside else np.full(width, identity)


def test_a_huge_value_that_left_the_window_leaves_no_trace_in_the_sum():
    rows = [np.array([value]) for value in (0.1, 1e18, 0.2, 0.3, 1e308, 1e308, 0.4, 0.5)]
    kernel = KERNELS["slickdeque_inv"](lambda number: rows[number], "additive")
    answers = []
    for number, row in enumerate(rows):
        kernel.push(number, row)
        answers.append(kernel.answer("q", max(0, number - 1), 1)[0])
    assert answers[3] == 0.5
    assert answers[5] == np.inf
    assert answers[7] == pytest.approx(0.9, rel=1e-15)


def test_the_optimizer_and_the_engine_know_the_same_kernels_and_aggregates():
    assert set(planned.RUNNABLE) == set(KERNELS)
    from optimizer.queries import AGGREGATES as DEFINED

    assert set(DEFINED) == set(AGGREGATES)
