import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.kernel_costs import KernelCost, KernelCosts
from streaming.kernel_costs import measured_costs
from tests.optimizer.measured import drawn_costs

POINT = {"kernel": "panes", "algebra": "sum", "ranges": 1, "window": 8, "groups": 1, "seconds": 1e-8}


def costs(*points: tuple[int, int, int, float], algebra: str = "sum") -> KernelCosts:
    return KernelCosts(tuple(KernelCost("panes", algebra, *point) for point in points))


@pytest.mark.parametrize("seed", range(3))
def test_measured_points_are_met(seed: int) -> None:
    drawn = drawn_costs(seed)
    for point in drawn.points:
        at = drawn.seconds(point.kernel, point.algebra, point.ranges, point.window, point.groups)
        assert at == pytest.approx(point.seconds, rel=1e-12)


def test_between_two_points_seconds_are_a_power() -> None:
    known = costs((1, 10, 1, 1e-8), (1, 1000, 1, 1e-6))
    assert known.seconds("panes", "sum", 1, 100, 1) == pytest.approx(1e-7)
    assert costs((1, 4, 1, 1e-8), (16, 4, 1, 4e-8)).seconds("panes", "sum", 4, 4, 1) == pytest.approx(2e-8)
    assert costs((1, 4, 1, 4e-8), (1, 4, 100, 1e-8)).seconds("panes", "sum", 1, 4, 10) == pytest.approx(2e-8)


@given(st.floats(1, 64), st.floats(1, 64), st.sampled_from(["ranges", "window", "groups"]))
def test_between_points_that_grow_seconds_grow(one: float, other: float, axis: str) -> None:
    grid = [(r, w, g, 1e-9 * r * w**0.5 * g**0.1) for r in (1, 64) for w in (1, 8, 64) for g in (1, 64)]
    known = costs(*grid)
    less, more = (
        known.seconds("panes", "sum", **{"ranges": 5.0, "window": 5.0, "groups": 5.0, axis: at})
        for at in sorted((one, other))
    )
    assert less is not None and more is not None
    assert less <= more * (1 + 1e-12)


def test_beyond_the_last_point_seconds_stay() -> None:
    known = costs((2, 8, 10, 1e-8), (2, 64, 10, 5e-8))
    assert known.seconds("panes", "sum", 1, 1, 1) == pytest.approx(1e-8)
    assert known.seconds("panes", "sum", 99, 9999, 9999) == pytest.approx(5e-8)


def test_without_a_grid_every_number_of_ranges_has_its_own_windows() -> None:
    known = costs((1, 8, 1, 1e-8), (1, 64, 1, 2e-8), (4, 64, 1, 8e-8))
    assert known.seconds("panes", "sum", 4, 8, 1) == pytest.approx(8e-8)
    assert known.seconds("panes", "sum", 2, 64, 1) == pytest.approx(4e-8)


def test_an_aggregate_that_was_not_measured_takes_what_the_nearest_does() -> None:
    points = [KernelCost("panes", name, 1, 1, 1, taken) for name, taken in (("max", 1e-8), ("sum", 2e-8))]
    known = KernelCosts((*points, KernelCost("prefix_difference", "count", 1, 1, 1, 3e-8)))
    expected = {"mean": 2e-8, "count": 2e-8, "min": 1e-8, "stddev": 1e-8, "collect": 1e-8, "unheard of": 1e-8}
    for name, taken in expected.items():
        assert known.seconds("panes", name, 1, 1, 1) == pytest.approx(taken), name
    assert known.seconds("prefix_difference", "exact_sum", 1, 1, 1) == pytest.approx(3e-8)
    assert known.seconds("flatfit", "sum", 1, 1, 1) is None


@given(st.integers(0, 50), st.floats(0.1, 20), st.floats(0.1, 900), st.floats(1, 5), st.floats(1, 5))
def test_no_larger_ranges_and_windows_undercut_the_least(
    seed: int, ranges: float, window: float, more: float, longer: float
) -> None:
    surface = drawn_costs(seed).surface("flatfit", "max", 10)
    assert surface is not None
    (least,) = surface.least_from(np.array([ranges]), np.array([window]))
    assert least <= surface.at(ranges * more, window * longer) * (1 + 1e-12)


def test_kernel_costs_survive_json() -> None:
    known = KernelCosts(drawn_costs(1).points, "a laptop", 2e-10)
    assert KernelCosts.from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], "These kernel costs have format list, not 1."),
        ({"format": 2, "points": []}, "These kernel costs have format 2, not 1."),
        ({"format": 1}, "Kernel costs need a list of points."),
        ({"format": 1, "points": [], "copy_seconds": -1}, "copy_seconds must be a number not below zero"),
        ({"format": 1, "points": [{"kernel": "panes"}]}, "A kernel cost is an object with kernel, algebra, "),
        ({"format": 1, "points": [7]}, "A kernel cost is an object with kernel, algebra, ranges, window, "),
        (
            {"format": 1, "points": [POINT | {"window": 0}]},
            "window must be a whole number above zero, not 0.",
        ),
        ({"format": 1, "points": [POINT | {"ranges": 1.5}]}, "ranges must be a whole number above zero"),
        ({"format": 1, "points": [POINT | {"seconds": 0}]}, "seconds must be a number above zero, not 0."),
        ({"format": 1, "points": [POINT | {"seconds": "fast"}]}, "seconds must be a number above zero"),
        ({"format": 1, "points": [POINT | {"kernel": 3}]}, "kernel must be a text, not 3."),
    ],
)
def test_what_no_benchmark_writes_is_refused(value: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:
        KernelCosts.from_json(value)
    assert sentence in str(refused.value)


def test_the_job_reads_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    assert measured_costs(path) is None
    path.write_text(json.dumps(drawn_costs(2).to_json()))
    assert measured_costs(path) == drawn_costs(2)
    path.write_text("{")
    with pytest.raises(ValueError, match=r"costs\.json holds no kernel costs: "):
        measured_costs(path)
