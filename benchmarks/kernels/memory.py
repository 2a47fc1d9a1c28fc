"""What kernels keep (SHEIN chapter 3, experiment 3; chapter 4, experiment 4): one query, by its window.

Bytes are those of the arrays that a kernel really has: its rows, its integers, and the slices that it has to
look back at. For some windows the resident size of a fresh process says whether that is true.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figures import Figure
from benchmarks.kernels.direct import LENGTH, Contestant, Direct, compiled
from benchmarks.kernels.inputs import INPUTS, uniform
from benchmarks.kernels.section import Section
from benchmarks.report import Cell, Chart, Table
from streaming.aggregates.algebra import Algebra
from streaming.aggregates.count import Count
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels import KERNELS, traits_of
from streaming.kernels.base import push

POWERS = range(0, 21, 2)
WINDOWS = tuple(
    sorted({size for power in POWERS for size in (2**power, 3 * 2**power // 2, 5 * 2**power // 4)})
)
WINDOWS = tuple(window for window in WINDOWS if window <= 2**20)
LEAST_COMPARED = 1024  # a small window's memory is all constants
SHOWN = (1, 1024, 1280, 1536, 2**18, 2**20)  # in the table
RESIDENT_WINDOWS = (2**18, 3 * 2**18, 2**20)
RESIDENT_WINDOWS_IN_A_HURRY = (3 * 2**16,)
RESIDENT_KERNELS = (  # Panes would take hours for such windows, and keeps what SlickDeque (Inv) keeps
    "flatfat",
    "flatfit",
    "two_stacks",
    "daba",
    "slickdeque_inv",
)
CHUNK = 4096  # slices that are handed to a kernel at once, when the resident size is measured
NUMBER = 8  # bytes
GROUPS = 1000  # of a shard, which share a kernel's integers

OF_PAPERS = ("panes", "flatfat", "b_int", "flatfit", "two_stacks", "daba", "slickdeque_inv")
OURS = (
    "two_stacks_lite",
    "daba_lite",
    "van_herk",
    "accumulators",
    "sparse_table",
    "prefix_difference",
    "finger_tree",
)
LOOKS_BACK = {  # whether a kernel reads slices again after it took them in
    "panes": True,
    "flatfat": False,
    "b_int": False,
    "flatfit": False,
    "two_stacks": True,
    "daba": True,
    "slickdeque_inv": True,
    "slickdeque_noninv": False,
    "two_stacks_lite": True,
    "daba_lite": True,
    "van_herk": True,
    "accumulators": False,
    "sparse_table": False,
    "prefix_difference": False,
    "finger_tree": True,
}
FLATFIT = (1.4, 1.9)  # FlatFAT's memory to FlatFIT's, mean and most
DEQUE = (2.0, 5.0)  # the next best's to that of SlickDeque (Non-Inv)


class Kept(NamedTuple):
    """Bytes."""

    rows: int
    slices: int
    integers: int

    @property
    def total(self) -> int:
        return self.rows + self.slices + self.integers

    @property
    def of_many(self) -> float:
        """For one of many groups, which share the integers: they say where things are, the same for all."""
        return self.rows + self.slices + self.integers / GROUPS


class Lengths(NamedTuple):
    """Of a deque."""

    mean: float
    most: int


@compiled
def measure_lengths(kernel, sink, count, lengths):
    """The sum and the greatest of the deque's lengths after each of the slides from `span` on."""
    for number in range(count):
        push(kernel, sink, number)
        if number >= kernel.span:
            lengths[0] += kernel.ends[LENGTH]
            lengths[1] = max(lengths[1], kernel.ends[LENGTH])


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    progress("memory, arrays")
    kept = {name: {window: _kept(name, window) for window in WINDOWS} for name in (*OF_PAPERS, *OURS)}
    progress("memory, deques")
    deques = {name: {window: _lengths(name, window) for window in WINDOWS} for name in INPUTS}
    progress("memory, resident sizes")
    windows = RESIDENT_WINDOWS_IN_A_HURRY if quick else RESIDENT_WINDOWS
    resident = {name: {window: _resident(name, window) for window in windows} for name in RESIDENT_KERNELS}
    large = [window for window in WINDOWS if window >= min(LEAST_COMPARED, max(WINDOWS))]
    flatfit = [kept["flatfat"][w].total / kept["flatfit"][w].total for w in large]
    flatfit_of_many = [kept["flatfat"][w].of_many / kept["flatfit"][w].of_many for w in large]
    sensor = [_next_best(kept, w) / _bytes_of(deques["sensor-like"][w].most) for w in large]
    compared = [
        ("FlatFAT to FlatFIT, one group", flatfit, FLATFIT),
        (f"FlatFAT to FlatFIT, one of {GROUPS:,} groups", flatfit_of_many, FLATFIT),
        ("bytes of arrays, the next best to SlickDeque (Non-Inv), sensor-like", sensor, DEQUE),
    ]
    return Section(
        sentences=[
            f"Memory: {name}, {mean(ratios):.2f} times on average and {max(ratios):.4g} times at most "
            f"(published: {published[0]} and {published[1]})."
            for name, ratios, published in compared
        ],
        tables=[
            _ratio_table(compared),
            _kept_table(kept),
            _deque_table(deques),
            _resident_table(resident),
        ],
        charts=[_chart(kept, deques)],
        figures=[
            figure
            for name, ratios, published in compared
            for figure in (
                Figure(f"memory: {name}, mean", mean(ratios), "times", baseline=published[0]),
                Figure(f"memory: {name}, most", max(ratios), "times", baseline=published[1]),
            )
        ],
    )


def _algebra(name: str) -> Algebra:
    if traits_of(name).needs is None or traits_of(name).needs in ("selective", "idempotent"):
        return Max()
    return Count() if traits_of(name).needs == "exactly invertible" else Sum()


def _kept(name: str, window: int) -> Kept:
    kernel: Any = KERNELS[name].new([window], 0, True)
    algebra = _algebra(name)
    state = algebra.running_identity if traits_of(name).running else algebra.identity
    return Kept(
        rows=kernel.rows() * len(state) * NUMBER,
        slices=window * NUMBER if LOOKS_BACK[name] else 0,
        integers=sum(field.nbytes if isinstance(field, np.ndarray) else NUMBER for field in kernel),
    )


def _lengths(input_name: str, window: int) -> Lengths:
    count = 3 * window + CHUNK
    direct = Contestant("slickdeque_noninv", Max()).one_query(
        INPUTS[input_name](count, window, window), window
    )
    lengths = np.zeros(2, np.int64)
    measure_lengths(direct.kernel, direct.sink, count, lengths)
    return Lengths(lengths[0] / (count - window), int(lengths[1]))


def _bytes_of(length: float) -> float:
    """Of a deque: values and the numbers of their slices; where it begins, and how long it is."""
    return (2 * length + 2) * NUMBER


def _next_best(kept: dict[str, dict[int, Kept]], window: int) -> int:
    return min(kept[name][window].total for name in OF_PAPERS)


def _ratio_table(compared: list[tuple[str, list[float], tuple[float, float]]]) -> Table:
    rows: list[list[Cell]] = [
        [name, mean(ratios), published[0], max(ratios), published[1]] for name, ratios, published in compared
    ]
    note = (
        f"How many times the memory, over windows from {LEAST_COMPARED:,} slices on, most of which are not "
        "powers of two. FlatFIT's pointers and print's stack, which has room for the worst case here, are "
        "two thirds of what it keeps for one group; groups of a shard share them. The deque is taken at its "
        "longest; the next best is the least of the papers' other kernels. Published are ratios of whole "
        "processes, in which a deque is a small part."
    )
    return Table(
        "Memory: ratios", ["comparison", "mean", "published mean", "most", "published most"], rows, note
    )


def _kept_table(kept: dict[str, dict[int, Kept]]) -> Table:
    rows: list[list[Cell]] = [
        [
            traits_of(name).label,
            "yes" if LOOKS_BACK[name] else "no",
            *(by_window[window].total for window in SHOWN if window in by_window),
        ]
        for name, by_window in kept.items()
    ]
    windows = [f"n = {window:,}" for window in SHOWN if window in WINDOWS]
    note = (
        "Bytes for one group: rows, integers, and the slices where a kernel looks back at them. (Shards keep "
        "the slices in any case, to mend late ones; that is not counted here.)"
    )
    return Table("Memory by window", ["kernel", "looks back", *windows], rows, note)


def _deque_table(deques: dict[str, dict[int, Lengths]]) -> Table:
    rows: list[list[Cell]] = [
        [f"{window:,}", *(cell for name in deques for cell in deques[name][window])]
        for window in SHOWN
        if window in WINDOWS
    ]
    headings = ["window", *(f"{name}, {what}" for name in deques for what in ("mean", "most"))]
    note = "Entries of SlickDeque (Non-Inv), 16 bytes each, after each slide once the window is full."
    return Table("Lengths of the deque", headings, rows, note)


def _resident_table(resident: dict[str, dict[int, int]]) -> Table:
    rows: list[list[Cell]] = []
    for name, by_window in resident.items():
        cells: list[Cell] = []
        for window, size in by_window.items():
            cells += [size, _kept(name, window).total]
        rows.append([traits_of(name).label, *cells])
    windows = next(iter(resident.values()))
    headings = ["kernel", *(text for w in windows for text in (f"n = {w:,}", f"arrays, n = {w:,}"))]
    note = (
        "Bytes by which a fresh process grows when it makes a kernel and runs it for two windows of uniform "
        f"input, handed over {CHUNK:,} slices at a time, beside the bytes of its arrays."
    )
    return Table("Resident sizes", headings, rows, note)


def _chart(kept: dict[str, dict[int, Kept]], deques: dict[str, dict[int, Lengths]]) -> Chart:
    series = {
        traits_of(name).label: [of.total for of in by_window.values()] for name, by_window in kept.items()
    }
    label = traits_of("slickdeque_noninv").label
    series |= {
        f"{label}, {name}": [_bytes_of(lengths.mean) for lengths in by_window.values()]
        for name, by_window in deques.items()
    }
    return Chart(
        "Memory of a group by window", "window", "bytes", list(WINDOWS), series, log_x=True, log_y=True
    )


def _resident(name: str, window: int) -> int:
    """In a fresh process, so that nothing that was freed before is used again."""
    command = [sys.executable, "-m", __spec__.name, name, str(window)]
    root = Path(__file__).parents[2]
    # What is freed goes back at once; otherwise arrays that are no longer in use would be counted.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True)
    return int(done.stdout)


def _growth(name: str, window: int) -> int:
    contestant = Contestant(name, _algebra(name))
    _run_through(contestant, CHUNK)  # compiles, and whatever else is done but once
    before = _resident_bytes()
    direct = _run_through(contestant, window)
    return _resident_bytes() - before if direct.pushed else 0


def _run_through(contestant: Contestant, window: int) -> Direct:
    """Slices are a ring, only as deep as the kernel looks back."""
    depth = CHUNK + (window + 1 if LOOKS_BACK[contestant.kernel] else 0)
    slices = np.zeros((1, depth, 1))
    direct = contestant.over(slices, [window])
    direct.asked = window
    for first in range(0, 2 * window + 1, CHUNK):
        slices[0, np.arange(first, first + CHUNK) % depth, 0] = uniform(CHUNK, first)
        direct.advance(CHUNK)
    return direct


def _resident_bytes() -> int:
    fields = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * int(next(line for line in fields if line.startswith("Rss:")).split()[1])


if __name__ == "__main__":
    print(_growth(sys.argv[1], int(sys.argv[2])))
