"""The papers' worked examples, operation by operation, and their table of complexities, counted."""

from math import log2
from typing import Any

import numpy as np
import pytest

from streaming.aggregates.algebra import Algebra, lacks
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels import KERNELS, element, traits_of

SHEIN_3 = (2, 4, 0, 3, 7, 6, 1, 8, 9, 5)  # examples 3 and 4
SHEIN_5 = (6, 5, 0, 1, 3, 4, 2, 7)  # examples 5 and 6


def run(kernel: str, algebra: Algebra, ranges: list[int], values: Any) -> tuple[list[list[float]], list[int]]:
    """Answers by range, and operations by step."""
    single = element(kernel, algebra, ranges)
    answers: list[list[float]] = []
    steps = []
    for value in values:
        before = single.operations
        answers.append([state[0] for state in single.push((value,))])
        steps.append(single.operations - before)
    return [list(row) for row in zip(*answers, strict=True)], steps


def test_flatfit_takes_21_comparisons_step_by_step() -> None:
    answers, steps = run("flatfit", Max(), [5], SHEIN_3)
    assert answers == [[2, 4, 4, 4, 7, 7, 7, 8, 9, 9]]
    assert steps == [4, 1, 2, 2, 2, 1, 4, 1, 2, 2]


def test_flatfit_takes_six_more_for_a_second_query() -> None:
    answers, steps = run("flatfit", Max(), [5, 2], SHEIN_3)
    assert answers[1] == [2, 4, 4, 3, 7, 7, 6, 8, 9, 9]
    assert sum(steps) == 21 + 6
    free = [1, 3, 7, 9]  # steps at which the second query costs nothing
    single = run("flatfit", Max(), [5], SHEIN_3)[1]
    assert [at + 1 for at, (both, one) in enumerate(zip(steps, single, strict=True)) if both == one] == free


@pytest.mark.parametrize(("ranges", "values", "operations"), [([5], SHEIN_3, 40), ([5, 2], SHEIN_3, 50)])
def test_panes_take_as_many_as_the_papers_say(ranges: list[int], values: Any, operations: int) -> None:
    assert sum(run("panes", Max(), ranges, values)[1]) == operations


@pytest.mark.parametrize("algebra", [Sum(), Max()])
def test_panes_take_48_for_two_queries(algebra: Any) -> None:
    assert sum(run("panes", algebra, [3, 5], SHEIN_5)[1]) == 48


def test_slickdeque_inv_takes_32_operations_four_a_step() -> None:
    answers, steps = run("slickdeque_inv", Sum(), [3, 5], SHEIN_5)
    assert answers == [[6, 11, 11, 6, 4, 8, 9, 13], [6, 11, 11, 12, 15, 13, 10, 17]]
    assert steps == [4] * 8


def test_slickdeque_noninv_takes_11_operations() -> None:
    answers, steps = run("slickdeque_noninv", Max(), [3, 5], SHEIN_5)
    assert answers == [[6, 6, 6, 5, 3, 4, 4, 7], [6, 6, 6, 6, 6, 5, 4, 7]]
    assert steps == [0, 1, 1, 2, 2, 2, 1, 2]


# --- SHEIN table 4: operations a slide, one query of n partials: amortised, worst --------------------------

TABLE_4 = {
    "panes": (lambda n: n, lambda n: n),
    "panes_inv": (lambda n: 2, lambda n: 2),
    "flatfat": (lambda n: log2(n), lambda n: log2(n)),
    "b_int": (lambda n: log2(n), lambda n: 3 * log2(n)),  # print: log n, asymptotically
    "flatfit": (lambda n: 3, lambda n: n),
    "two_stacks": (lambda n: 3, lambda n: n + 1),
    "two_stacks_lite": (lambda n: 3, lambda n: n + 1),
    "daba": (lambda n: 5, lambda n: 8),
    "daba_lite": (lambda n: 4, lambda n: 6),
    "slickdeque_inv": (lambda n: 2, lambda n: 2),
    "slickdeque_noninv": (lambda n: 2, lambda n: n),
}


def algebra_for(kernel: str) -> Algebra:
    return Sum() if lacks(Max(), traits_of(kernel).needs) else Max()


def worst_input(n: int) -> list[float]:
    """Descending runs of a whole window, then a peak: what SlickDeque (Non-Inv) likes least."""
    return [float(value) for _ in range(4) for value in [*range(n, 0, -1), 2 * n]]


@pytest.mark.parametrize("n", [8, 64, 256])
@pytest.mark.parametrize("kernel", TABLE_4)
def test_operations_stay_within_table_4(kernel: str, n: int) -> None:
    amortised, worst = TABLE_4[kernel]
    random = np.random.default_rng(n).random(6 * n).tolist()
    for values in (random, worst_input(n)):
        steps = run(kernel, algebra_for(kernel), [n], values)[1]
        assert sum(steps) / len(steps) <= amortised(n) + 1e-9
        assert max(steps) <= worst(n)


@pytest.mark.parametrize("n", [8, 32])
@pytest.mark.parametrize(
    ("kernel", "most"),
    [
        ("panes", lambda n: n * n / 2),
        ("flatfat", lambda n: 2 * n * log2(n)),
        ("b_int", lambda n: 2 * n * log2(n)),
        ("flatfit", lambda n: 3 * n),
        ("slickdeque_inv", lambda n: 2 * n),
        ("slickdeque_noninv", lambda n: n),
        ("accumulators", lambda n: n),
        ("sparse_table", lambda n: n + log2(n)),
    ],
)
def test_operations_with_every_range_stay_within_table_4(kernel: str, most: Any, n: int) -> None:
    values = np.random.default_rng(n).random(5 * n).tolist()
    steps = run(kernel, algebra_for(kernel), list(range(1, n + 1)), values)[1][n:]
    assert sum(steps) / len(steps) <= most(n)


def test_every_kernel_of_the_papers_is_in_the_table() -> None:
    newer = {"van_herk", "accumulators", "sparse_table", "prefix_difference", "finger_tree"}
    assert set(TABLE_4) | newer == set(KERNELS)
