"""What a slide costs with each kernel: by ranges, window and groups, in the form that the optimizer reads.

A full run writes streaming/kernels/costs.json. The calibrated cost model chooses kernels by it.
"""

import json
import platform
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.kernels.section import Section
from benchmarks.kernels.shards import copy
from benchmarks.report import Chart, Table
from optimizer.kernel_costs import KernelCost, KernelCosts
from streaming.aggregates.algebra import Algebra, lacks
from streaming.aggregates.count import Count
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernel_costs import MEASURED
from streaming.kernels import KERNELS, SliceRing, batched, traits_of
from streaming.kernels.run.batched import every_slide

ALGEBRAS: tuple[Algebra, ...] = (Max(), Sum(), Count())
RANGES = (1, 4, 16)
WINDOWS = (8, 64, 512)
GROUPS = (1, 100, 2_000)
SLIDES = 64  # a call, as a batch that has fallen behind a little brings
MOST_SECONDS = 0.05  # to spend on one point
NANO = 1e9


def run(quick: bool, progress: Callable[[str], None], write_to: Path | None = MEASURED) -> Section:
    points = list(_points(quick, progress))
    costs = KernelCosts(
        machine=f"{platform.machine()}, Python {platform.python_version()}",
        copy_seconds=copy_seconds(),
        points=tuple(points),
    )
    if write_to is not None and not quick:
        write_to.write_text(_one_point_a_line(costs.to_json()))
    return Section(
        ["What a slide costs with each kernel is in streaming/kernels/costs.json, for the calibrated model."],
        [_table(points)],
        [_chart(points)],
    )


def _one_point_a_line(costs: dict[str, Any]) -> str:
    points = ",\n".join(json.dumps(point) for point in costs["points"])
    head = json.dumps(costs | {"points": []})
    return head.removesuffix("]}") + "\n" + points + "\n]}\n"


def _points(quick: bool, progress: Callable[[str], None]) -> Iterator[KernelCost]:
    for name in KERNELS:
        progress(f"costs of {traits_of(name).label}")
        for algebra in ALGEBRAS:
            if lacks(algebra, traits_of(name).needs):
                continue
            for ranges, window, groups in _grid(name, quick):
                seconds = a_slide(name, algebra, spread(ranges, window), groups)
                # Three digits are more than two runs have in common.
                per_group = float(f"{seconds / groups:.3g}")
                yield KernelCost(name, algebra.name, ranges, window, groups, per_group)


def _grid(name: str, quick: bool) -> Iterator[tuple[int, int, int]]:
    for ranges in RANGES if traits_of(name).many else (1,):
        for window in WINDOWS if not quick else WINDOWS[:2]:
            for groups in GROUPS if not quick else GROUPS[:2]:
                if ranges <= window:
                    yield ranges, window, groups


def spread(ranges: int, window: int) -> list[int]:
    """So many ranges, the longest of them the window.

    >>> spread(1, 64), spread(4, 64), spread(8, 8)
    ([64], [16, 32, 48, 64], [1, 2, 3, 4, 5, 6, 7, 8])
    """
    return [max(1, window * (at + 1) // ranges) for at in range(ranges)]


def a_slide(name: str, algebra: Algebra, ranges: list[int], groups: int) -> float:
    """Seconds a slide for all groups, answers of all ranges included: the median over calls."""
    depth = max(ranges) + 2 * SLIDES
    ring = SliceRing(algebra, groups, depth=depth)
    ring.rows = np.random.default_rng(groups).random((1, depth, ring.rows.shape[2]))
    kernel = batched(name, ring, ranges)
    times: list[float] = []
    while len(times) < 6 or sum(times) < MOST_SECONDS:
        first = ring.next
        ring.next += SLIDES
        ring.first = max(0, first - max(ranges))
        dues = every_slide(first, SLIDES, ranges)
        began = perf_counter()
        kernel.advance(dues)
        times.append(perf_counter() - began)
        if sum(times) > 8 * MOST_SECONDS and len(times) > 3:
            break
    return median(times[3:]) / SLIDES


def copy_seconds() -> float:
    """Of one number, from memory that no cache holds."""
    source, target = np.random.default_rng(1).random(16_000_000), np.zeros(16_000_000)
    times = []
    for _ in range(5):
        began = perf_counter()
        copy(source, target)
        times.append(perf_counter() - began)
    return median(times) / len(source)


def _table(points: list[KernelCost]) -> Table:
    groups = max(point.groups for point in points)
    window = sorted({point.window for point in points})[1]
    rows: list[list[str | float | None]] = []
    for name in KERNELS:
        of_kernel = {
            (point.algebra, point.ranges): NANO * point.seconds
            for point in points
            if (point.kernel, point.window, point.groups) == (name, window, groups)
        }
        rows.append(
            [traits_of(name).label]
            + [of_kernel.get((algebra, ranges)) for algebra in ("max", "sum", "count") for ranges in RANGES]
        )
    headings = ["kernel"] + [f"{algebra}, {n}" for algebra in ("max", "sum", "count") for n in RANGES]
    note = f"Window {window:,}, {groups:,} groups; the number is how many ranges are answered at every slide."
    return Table("Nanoseconds a slide and group", headings, rows, note)


def _chart(points: list[KernelCost]) -> Chart:
    groups, windows = max(point.groups for point in points), sorted({point.window for point in points})
    ranges = sorted({point.ranges for point in points})[-1]
    by_place = {
        (point.kernel, point.window): NANO * point.seconds
        for point in points
        if (point.algebra, point.ranges, point.groups) == ("max", ranges, groups)
    }
    series = {
        traits_of(name).label: [by_place.get((name, window)) for window in windows]
        for name in KERNELS
        if any((name, window) in by_place for window in windows)
    }
    title = f"Max, {ranges} ranges, {groups:,} groups"
    return Chart(title, "window, slices", "ns a slide and group", windows, series, log_x=True, log_y=True)
