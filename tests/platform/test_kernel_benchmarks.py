"""Benchmarks of the kernels: what is timed answers rightly, inputs are as described, sections are whole."""

import math
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.figures import Figure
from benchmarks.kernels import all_ranges, latency, memory, operations, single_query, throughput
from benchmarks.kernels.direct import Contestant
from benchmarks.kernels.inputs import LEVELS, SPIKE_HEIGHTS, descending, sensor, uniform
from benchmarks.kernels.section import Section
from benchmarks.report import Report, write
from streaming.aggregates.algebra import Algebra
from streaming.aggregates.count import Count
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels import traits_of

FOLDS: dict[str, Callable[[np.ndarray], float]] = {"max": np.max, "sum": np.sum, "count": np.sum}
ONE_QUERY: list[tuple[str, Algebra]] = [
    ("flatfit", Sum()),
    ("van_herk", Max()),
    ("slickdeque_inv", Sum()),
    ("slickdeque_noninv", Max()),
    ("two_stacks", Max()),
]
EVERY_RANGE: list[tuple[str, Algebra]] = [
    ("flatfit", Sum()),
    ("van_herk", Max()),
    ("slickdeque_inv", Sum()),
    ("slickdeque_noninv", Max()),
    ("accumulators", Max()),
    ("prefix_difference", Count()),
]


@pytest.mark.parametrize(("kernel", "algebra"), ONE_QUERY, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("window", [1, 5, 16])
def test_one_query_is_answered_as_numpy_does(kernel: str, algebra: Algebra, window: int) -> None:
    values = sensor(60, seed=window)
    direct = Contestant(kernel, algebra).one_query(values, window)
    for newest in range(len(values)):
        direct.advance(1)
        assert direct.answers[0] == FOLDS[algebra.name](values[max(0, newest - window + 1) : newest + 1])


@pytest.mark.parametrize(("kernel", "algebra"), EVERY_RANGE, ids=lambda value: getattr(value, "name", value))
def test_every_range_is_answered_as_numpy_does(kernel: str, algebra: Algebra) -> None:
    longest = 7
    values = sensor(40, seed=1)
    direct = Contestant(kernel, algebra).every_range(values, longest)
    direct.advance(longest - 1)
    for newest in range(longest - 1, len(values)):
        direct.advance(1)
        expected = [
            FOLDS[algebra.name](values[newest - span + 1 : newest + 1]) for span in range(longest, 0, -1)
        ]
        assert direct.answers.tolist() == expected


def test_a_deque_of_one_group_stands_its_worst_input() -> None:
    values = descending(64, seed=1, window=8)
    direct = Contestant("slickdeque_noninv", Max()).every_range(values, 8)
    direct.advance(7)
    for newest in range(7, len(values)):
        direct.advance(1)
        assert direct.answers.tolist() == [
            values[newest - span + 1 : newest + 1].max() for span in range(8, 0, -1)
        ]


def test_uniform_values_are_fresh_for_every_seed() -> None:
    values = uniform(10_000, seed=1)
    assert values.min() >= 0.0
    assert values.max() < 1.0
    assert len(np.unique(values)) == len(values)
    assert not np.array_equal(values, uniform(10_000, seed=2))
    assert np.array_equal(values, uniform(10_000, seed=1))


def test_sensor_like_values_have_plateaus_ties_and_spikes() -> None:
    values = sensor(100_000, seed=1)
    assert np.array_equal(values, np.rint(values))
    assert LEVELS[0] - 1 <= values.min() and values.max() <= LEVELS[1] + 1 + SPIKE_HEIGHTS[1]
    steps = np.abs(np.diff(values))
    assert (steps == 0).mean() > 0.7
    assert _longest_run(steps == 0) > 30
    assert 10 < (steps > SPIKE_HEIGHTS[0] // 2).sum() < 1_000
    assert np.median(steps[steps > 0]) <= 3


def test_descending_values_fall_for_a_window_and_then_reach_a_new_peak() -> None:
    values = descending(1_000, seed=1, window=50)
    rises = np.flatnonzero(np.diff(values) > 0) + 1
    assert rises.tolist() == list(range(50, 1_000, 50))
    assert all(values[at] > values[:at].max() for at in rises)


def test_throughput_sections_are_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(throughput, "RUNS", 2)
    small_sum, small_max = _few("flatfit", "flatfat", "slickdeque_inv", algebra=Sum()), _few_of_max()
    for module in (single_query, all_ranges):
        accumulators = [Contestant("accumulators", algebra, of_papers=False) for algebra in (Sum(), Max())]
        ours = accumulators if module is all_ranges else []
        monkeypatch.setattr(module, "SUM", (*small_sum, *ours[:1]))
        monkeypatch.setattr(module, "MAX", (*small_max, *ours[1:]))
        monkeypatch.setattr(module, "INPUTS_OF_MAX", ("descending",))
    monkeypatch.setattr(single_query, "WINDOWS_IN_A_HURRY", (1, 8, 16))
    monkeypatch.setattr(single_query, "SLIDES_IN_A_HURRY", 2_000)
    monkeypatch.setattr(all_ranges, "LONGEST_IN_A_HURRY", (1, 8))
    monkeypatch.setattr(all_ranges, "ANSWERS_IN_A_HURRY", 2_000)
    for module in (single_query, all_ranges):
        _check(module.run(quick=True, progress=lambda text: None), tmp_path)


def test_a_slow_kernel_is_left_out_at_greater_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "MOST_SECONDS", 0.0)
    sweep = throughput.sweep(
        "", "", _few("flatfit", algebra=Sum()), [1, 2], uniform, lambda size: 10, Contestant.one_query
    )
    assert list(sweep.runs["FlatFIT"]) == [1]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="no counter that is read quickly")
def test_the_latency_section_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    of_sum = _few("two_stacks", "slickdeque_inv", algebra=Sum())
    of_max = (*_few("daba", "two_stacks", algebra=Max()), Contestant("slickdeque_noninv", Max()))
    monkeypatch.setattr(latency, "CONTESTANTS", {"Sum": of_sum, "Max": of_max})
    monkeypatch.setattr(latency, "SLIDES_IN_A_HURRY", 3_000)
    monkeypatch.setattr(latency, "RUNS", 2)
    _check(latency.run(quick=True, progress=lambda text: None), tmp_path)


def test_the_memory_section_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "WINDOWS", (1, 48, 64))
    monkeypatch.setattr(memory, "SHOWN", (1, 64))
    monkeypatch.setattr(memory, "RESIDENT_KERNELS", ("flatfit",))
    monkeypatch.setattr(memory, "RESIDENT_WINDOWS_IN_A_HURRY", (2**16,))
    _check(memory.run(quick=True, progress=lambda text: None), tmp_path)


def test_every_kernel_of_the_memory_section_says_whether_it_looks_back() -> None:
    assert set(memory.LOOKS_BACK) >= {*memory.OF_PAPERS, *memory.OURS}
    assert set(memory.RESIDENT_KERNELS) <= set(memory.OF_PAPERS)


def test_the_operations_section_counts_what_the_papers_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(operations, "POWERS_OF_TWO", (4, 16))
    monkeypatch.setattr(operations, "BETWEEN", (6,))
    monkeypatch.setattr(operations, "LONGEST", (4,))
    monkeypatch.setattr(operations, "SINGLE", ("flatfit", "slickdeque_inv", "flatfat"))
    monkeypatch.setattr(operations, "MANY", ("flatfit", "slickdeque_inv"))
    section = operations.run(quick=True, progress=lambda text: None)
    _check(section, tmp_path)
    rows = {row[0]: row[2:] for row in section.tables[0].rows}
    assert rows["SlickDeque (Inv)"] == ["2.00 / 2"] * 3
    assert rows["FlatFAT"] == ["2.00 / 2", "4.75 / 6", "4.00 / 4"]
    assert rows["SlickDeque (Non-Inv), descending"][2].endswith("/ 15")
    assert "3 of 3" in section.sentences[0]
    assert "2 of 3" in section.sentences[1]
    assert section.sentences[1].endswith("more are taken by FlatFAT.")


def test_remarks_tell_contestants_apart() -> None:
    for contestants in (single_query.SUM, single_query.MAX, all_ranges.SUM, all_ranges.MAX):
        labels = [contestant.label for contestant in contestants]
        assert len(set(labels)) == len(labels)
    assert traits_of("slickdeque_inv").label in [contestant.label for contestant in single_query.SUM]


def _few(*kernels: str, algebra: Algebra) -> tuple[Contestant, ...]:
    return tuple(Contestant(kernel, algebra) for kernel in kernels)


def _few_of_max() -> tuple[Contestant, ...]:
    return (*_few("flatfit", "flatfat", algebra=Max()), Contestant("slickdeque_noninv", Max()))


def _longest_run(flags: np.ndarray) -> int:
    ends = np.flatnonzero(~np.concatenate([[False], flags, [False]]))
    return int(np.diff(ends).max()) - 1


def _check(section: Section, directory: Path) -> None:
    """Finite figures, and tables and charts that can be written."""
    assert section.sentences and section.tables and section.figures
    assert all(math.isfinite(figure.value) for figure in section.figures)
    assert all(isinstance(figure, Figure) for figure in section.figures)
    for table in section.tables:
        assert all(math.isfinite(cell) for row in table.rows for cell in row if isinstance(cell, float))
    titles = [part.title for part in (*section.tables, *section.charts)]
    assert all(titles)
    report = Report("Kernels", "\n".join(section.sentences), section.tables, section.charts, section.figures)
    text = write(report, "kernels", directory, benchmark="kernels").read_text()
    assert all(table.title in text for table in section.tables)
