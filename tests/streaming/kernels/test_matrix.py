"""All kernels × all aggregates × single, several and all ranges × regular and varying spans × both shapes."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import lacks
from streaming.kernels import KERNELS, IllegalPairing, batched, element, traits_of
from streaming.kernels.run.ring import SliceRing
from tests.streaming.aggregates.references import REFERENCES
from tests.streaming.aggregates.samples import values_of
from tests.streaming.kernels.histories import Answers, History, by_batches, by_element, histories

SHAPES = {"element": by_element, "batched": by_batches}
WITH_PARTS = [name for name, aggregate in AGGREGATES.items() if aggregate.parts]
LEGAL = [
    (kernel, name)
    for kernel in KERNELS
    for name in WITH_PARTS
    if not any(lacks(part, traits_of(kernel).needs) for part in AGGREGATES[name].parts)
]
ILLEGAL = [(kernel, name) for kernel in KERNELS for name in WITH_PARTS if (kernel, name) not in set(LEGAL)]
EASY = st.integers(-40, 40).map(lambda value: value / 4)  # sums and squares of these are exact


def values_for(name: str) -> st.SearchStrategy[Any]:
    if name == "exact_sum":
        return values_of(name)
    easy = {"numbers": EASY, "pairs": st.tuples(EASY, st.integers(0, 9).map(float))}
    return easy.get(AGGREGATES[name].takes, values_of(name))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("kernel", "name"), LEGAL)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_answer_equals_brute_force(kernel: str, name: str, shape: str, data: st.DataObject) -> None:
    kinds = ("single", "several", "all") if traits_of(kernel).many else ("single",)
    ranges = data.draw(st.sampled_from(kinds), "ranges")
    history = data.draw(histories(values_for(name), ranges, data.draw(st.booleans(), "regular")), "history")
    aggregate = AGGREGATES[name]
    parts = [SHAPES[shape](kernel, aggregate, part, history) for part in range(len(aggregate.parts))]
    _check(name, history, parts)


def _check(name: str, history: History, parts: list[Answers]) -> None:
    aggregate = AGGREGATES[name]
    for (group, window), state in parts[0].items():
        values = history.values(group, *window[1:])
        got = aggregate.lower(len(values), state, *(part[group, window] for part in parts[1:]))
        if not values:
            assert got is None or got == 0 or math.isnan(got), f"{window} of an empty window: {got}"
            continue
        wanted = REFERENCES[name](values)
        assert _alike(got, wanted), f"group {group}, window {window}: {got}, not {wanted}"


def _alike(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and isinstance(got, float | np.floating):
        return bool(np.isclose(got, wanted, rtol=1e-9, atol=1e-9, equal_nan=True))
    return bool(got == wanted)


@pytest.mark.parametrize(("kernel", "name"), ILLEGAL)
def test_an_illegal_pairing_is_refused_by_name_and_property(kernel: str, name: str) -> None:
    lacking = next(part for part in AGGREGATES[name].parts if lacks(part, traits_of(kernel).needs))
    sentence = (
        f"{traits_of(kernel).label} cannot compute {lacking.name}, which is not {traits_of(kernel).needs}."
    )
    with pytest.raises(IllegalPairing) as refused:
        element(kernel, lacking, [3])
    assert str(refused.value) == sentence
    with pytest.raises(IllegalPairing):
        batched(kernel, SliceRing(lacking), [3])


@pytest.mark.parametrize("kernel", [name for name in KERNELS if not traits_of(name).many])
def test_a_kernel_for_one_query_refuses_two(kernel: str) -> None:
    with pytest.raises(IllegalPairing, match="answers one query alone, not 2"):
        element(kernel, AGGREGATES["sum"].parts[0], [3, 5])


# --- values that go wrong elsewhere ------------------------------------------------------------------

ODD = [0.0, -0.0, 1.0, -1.0, 2.5, 0.1, 1e300, -1e300, 1.5e308, 1e18, 5e-324, np.inf, -np.inf, np.nan]
ODD_NUMBERS = st.one_of(st.integers(-9, 9).map(float), st.sampled_from(ODD))


def odd_sum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # too large, or infinities of both signs
        with np.errstate(invalid="ignore", over="ignore"):
            return float(np.sum(values))


ORDERED = {"min": min, "max": max, "range": lambda values: max(values) - min(values)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("kernel", "name"),
    [pair for pair in LEGAL if pair[1] in ("sum", "mean", "min", "max", "range", "first", "last")],
)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_infinities_nan_and_extremes_leave_with_their_slice(kernel, name, shape, data) -> None:
    ranges = data.draw(st.sampled_from(("single", "several") if traits_of(kernel).many else ("single",)))
    history = data.draw(histories(ODD_NUMBERS, ranges, data.draw(st.booleans(), "regular")), "history")
    aggregate = AGGREGATES[name]
    parts = [SHAPES[shape](kernel, aggregate, part, history) for part in range(len(aggregate.parts))]
    for (group, window), state in parts[0].items():
        values = history.values(group, *window[1:])
        if not values:
            continue
        got = float(aggregate.lower(len(values), state, *(part[group, window] for part in parts[1:])))
        _check_odd(name, values, got)


def _check_odd(name: str, values: list[float], got: float) -> None:
    if name in ("first", "last"):
        assert np.array_equal(got, values[0] if name == "first" else values[-1], equal_nan=True)
    elif name in ORDERED:
        orderly = [value for value in values if value == value]
        wanted = ORDERED[name](orderly) if orderly else math.nan
        assert np.array_equal(got, wanted, equal_nan=True), f"{values}: {got}, not {wanted}"
    else:
        _check_odd_sum(values, got * len(values) if name == "mean" else got)


def _check_odd_sum(values: list[float], got: float) -> None:
    wanted = odd_sum(values)
    largest = max(abs(value) for value in values)
    if not math.isfinite(wanted) or largest > 1e307:  # near the end of floats the order of additions decides
        assert not math.isfinite(got) or largest > 1e307 or wanted == got, f"{values}: {got}, not {wanted}"
    else:
        # Rounding may only stem from what is inside the window, not from what has left it.
        assert abs(got - wanted) <= 1e-14 * len(values) * largest + 1e-300, f"{values}: {got}, not {wanted}"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "kernel", [name for name in KERNELS if "invertible" not in str(traits_of(name).needs)]
)
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_runs_that_are_sorted_against_the_operator(kernel: str, name: str, shape: str) -> None:
    """The deque's worst case: it fills up, then one value empties it."""
    down = [float(value) for value in range(40, 0, -1)]
    values = [*down, 99.0, *down, *[7.0] * 12]
    values = values if name in ("max", "argmax") else [-value for value in values]
    items = values if name in ("max", "min") else [(value, float(at % 5)) for at, value in enumerate(values)]
    spans = [16]
    history = History(1, spans, [[[item]] for item in items], [[(0, n - 15, n)] for n in range(len(items))])
    history.batches = [10, 50, len(items) - 60]
    _check(name, history, [SHAPES[shape](kernel, AGGREGATES[name], 0, history)])
