"""Shards against memory: a thousand groups, a thousand slices a call, carried state, beside a plain copy.

Slices are fresh random numbers in a ring far larger than any cache; a copy of other slices of that ring is
timed in turn with every call, so that both meet the same machine. Ratios are medians over calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter

import numpy as np

from benchmarks.figures import Figure
from benchmarks.kernels.direct import Contestant, Direct, as_slices, stream
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from streaming.aggregates.algebra import Algebra
from streaming.aggregates.count import Count
from streaming.aggregates.exact_sum import ExactSum
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.compiled import compiled
from streaming.kernels import SliceRing, batched, traits_of
from streaming.kernels.run.batched import every_slide
from streaming.kernels.run.rows import U

GROUPS = 1_000
SLICES = 1_000  # a call
CALLS = 24
QUICK_CALLS = 6
CHUNKS = 12  # calls whose slices fit the ring: 96 MB of numbers
NANO = 1e9

# What is promised, as ratios to a copy: (kernel, algebra, window, at most).
AGAINST_COPY: list[tuple[str, Algebra, int, float]] = [
    ("van_herk", Max(), 16, 2.0),
    ("van_herk", Max(), 64, 2.0),
    ("van_herk", Max(), 256, 2.0),
    ("van_herk", Max(), 1024, 2.5),
    ("slickdeque_inv", ExactSum(), 256, 1.6),
    ("slickdeque_inv", ExactSum(), 1024, 1.6),
    ("van_herk", Sum(), 256, 2.5),
    ("van_herk", Sum(), 1024, 2.5),
]
# Without a promise: the other kernels over rows.
BESIDE: list[tuple[str, Algebra, int]] = [
    ("slickdeque_inv", Sum(), 256),
    ("slickdeque_inv", Count(), 256),
    ("slickdeque_inv", Count(), 1024),
    ("prefix_difference", ExactSum(), 256),
    ("prefix_difference", Count(), 256),
    ("two_stacks_lite", Max(), 256),
    ("daba_lite", Max(), 256),
    ("flatfit", Max(), 256),
    ("flatfat", Max(), 256),
    ("b_int", Max(), 256),
    ("finger_tree", Max(), 256),
    ("sparse_table", Max(), 256),
    ("slickdeque_noninv", Max(), 256),
]
SCATTERED_GROUPS, SCATTERED_SLICES = 400, 100  # so that rows in use and answers of a call are in a cache
ROUNDS = 5  # of contestants in turn
SCATTERED = (2, 3, 7, 15, 16, 31, 60, 100, 120, 128, 200, 255, 300, 480, 600, 900)


@dataclass(frozen=True)
class Measured:
    """Nanoseconds a slide and group, of kernel and copy, and their ratio: median and quartiles."""

    kernel: float
    copy: float
    ratio: tuple[float, float, float]


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    calls = QUICK_CALLS if quick else CALLS
    rows, figures = [], []
    for name, algebra, window, most in AGAINST_COPY:
        progress(f"{traits_of(name).label}, {algebra.name}, window {window:,}")
        found = over_rows(name, algebra, [window], calls)
        rows.append(_row(name, algebra, window, found, most))
        title = f"{traits_of(name).label}, {algebra.name}, window {window:,}, to a plain copy"
        figures.append(Figure(title, found.ratio[0], "×", target=most, lower_is_better=True))
    for name, algebra, window in BESIDE:
        progress(f"{traits_of(name).label}, {algebra.name}, window {window:,}")
        rows.append(_row(name, algebra, window, over_rows(name, algebra, [window], calls), None))
    headings = ["kernel", "aggregate", "window", "ns a slide", "copy, ns", "ratio", "quartiles", "at most"]
    note = (
        f"{GROUPS:,} groups × {SLICES:,} slices a call, {calls} calls, state carried from call to call; "
        "times are for one group and slide."
    )
    tables = [Table("Shards beside a plain copy", headings, rows, note)]
    dense = _dense(quick, progress)
    scattered = _scattered(calls, quick, progress)
    copies = [float(row[4]) for row in rows]
    sentence = (
        f"A plain copy of one number takes {median(copies):.2f} ns here (median of {len(copies)} runs)."
    )
    return Section(
        [sentence],
        [*tables, *dense.tables, *scattered.tables],
        [],
        [*figures, *dense.figures, *scattered.figures],
    )


def over_rows(
    name: str, algebra: Algebra, ranges: Sequence[int], calls: int, slices: int = SLICES, groups: int = GROUPS
) -> Measured:
    """A kernel over rows of all groups, so many slices a call, and a copy in turn."""
    ring = _filled_ring(algebra, groups)
    kernel = batched(name, ring, ranges)
    copied = [np.ones(SLICES * groups) for _ in range(8)]  # touched: no page is met for the first time
    times, copies = [], []
    for call in range(calls + 3):
        first = ring.next
        ring.next += slices
        ring.first = max(0, first - max(ranges))
        dues = every_slide(first, slices, ranges)
        began = perf_counter()
        kernel.advance(dues)
        times.append(perf_counter() - began)
        at = (call + CHUNKS // 2) % CHUNKS * SLICES  # slices that no cache still holds
        source = ring.rows[0, at : at + SLICES].reshape(-1)
        began = perf_counter()
        copy(source, copied[call % len(copied)])
        copies.append(perf_counter() - began)
    times, copies = times[3:], copies[3:]  # compiled, and memory touched
    ratios = [time / plain * SLICES / slices for time, plain in zip(times, copies, strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    copied_ns = NANO * median(copies) / (SLICES * groups)
    return Measured(NANO * median(times) / (slices * groups), copied_ns, (middle, low, high))


def _filled_ring(algebra: Algebra, groups: int) -> SliceRing:
    ring = SliceRing(algebra, 1)
    ring.rows = _numbers_of(algebra, np.random.default_rng(5).random((CHUNKS * SLICES, groups)))
    ring.groups = groups
    return ring


def _numbers_of(algebra: Algebra, numbers: np.ndarray) -> np.ndarray:
    """One column of floats, or, of an exact sum, the two halves of as many whole numbers."""
    if algebra.dtype is np.float64:
        return numbers[None]
    low = (numbers * 2**32).astype(np.int64)
    return np.stack([np.zeros_like(low)] * (len(algebra.identity) - 1) + [low])


def _row(
    name: str, algebra: Algebra, window: int, found: Measured, most: float | None
) -> list[str | int | float | None]:
    middle, low, high = found.ratio
    spread = f"{low:.2f} to {high:.2f}"
    return [traits_of(name).label, algebra.name, window, found.kernel, found.copy, middle, spread, most]


def _dense(quick: bool, progress: Callable[[str], None]) -> Section:
    """Every range at once, a group after the other, answers left in the cache for whoever reads them."""
    rows, figures = [], []
    for longest in (256, 1024):
        progress(f"every range up to {longest:,}")
        contestants = (
            Contestant("accumulators", Max()),
            Contestant("flatfit", Max()),
            Contestant("slickdeque_noninv", Max()),
        )
        in_place = _in_place(longest, quick)
        seconds = [
            _a_slide(one.every_range(_numbers(longest, quick), longest), longest, quick)
            for one in contestants
        ]
        ours, flatfit, deque = (NANO * each / longest for each in seconds)
        rows.append([longest, in_place, ours, flatfit, deque, flatfit / in_place, deque / in_place])
        figures += [
            Figure(
                f"every range to {longest:,}, an answer", in_place, "ns", target=0.15, lower_is_better=True
            ),
            Figure(f"every range to {longest:,} over FlatFIT", flatfit / in_place, "×", target=25),
            Figure(f"every range to {longest:,} over SlickDeque", deque / in_place, "×", target=5),
        ]
    headings = ["ranges", "accumulators, ns an answer", "and copied out", "FlatFIT", "SlickDeque (Non-Inv)"]
    note = (
        "Accumulators are the answers as they stand, one after the other in memory; FlatFIT and SlickDeque "
        "have to write theirs. Copied out: the same with a second write of every answer."
    )
    table = Table("Every range at once, max", [*headings, "over FlatFIT", "over SlickDeque"], rows, note)
    return Section([], [table], [], figures)


def _in_place(longest: int, quick: bool) -> float:
    """Nanoseconds an answer where the accumulators themselves are read."""
    direct = Contestant("accumulators", Max()).one_query(_numbers(longest, quick), longest)
    return NANO * _a_slide(direct, longest, quick) / longest


def _scattered(calls: int, quick: bool, progress: Callable[[str], None]) -> Section:
    """Sixteen ranges that have little in common."""
    rows: list[list[str | float | None]] = []
    progress("16 scattered ranges")
    for name in ("sparse_table", "van_herk", "slickdeque_noninv"):
        rows.append([traits_of(name).label, "rows of groups", _scattered_rows(name, 4 * calls)])
    rounds = range(2 if quick else ROUNDS)
    in_turn = [(_scattered_rows("flatfit", 4 * calls), _scattered_alone("flatfit", quick)) for _ in rounds]
    ours, printed = (median(column) for column in zip(*in_turn, strict=True))
    rows.append([traits_of("flatfit").label, "rows of groups", ours])
    rows.append([traits_of("flatfit").label, "a group at a time, as in print", printed])
    alone = _scattered_alone("slickdeque_noninv", quick)
    rows.append([traits_of("slickdeque_noninv").label, "a group at a time, as in print", alone])
    over = median(one / other for other, one in in_turn)
    figures = [
        Figure("16 scattered ranges, a nanosecond an answer", ours, "ns", target=1.0, lower_is_better=True),
        Figure("16 scattered ranges over FlatFIT as in print", over, "×", target=15),
    ]
    note = (
        f"{SCATTERED_GROUPS} groups × {SCATTERED_SLICES} slices a call: the rows in use and the answers of a "
        f"call stay in a cache. FlatFIT both ways in turn, medians of {len(rounds)} rounds."
    )
    table = Table("16 scattered ranges, max", ["kernel", "how", "ns an answer"], rows, note)
    return Section([], [table], [], figures)


def _scattered_rows(name: str, calls: int) -> float:
    """Nanoseconds an answer over rows of groups."""
    found = over_rows(name, Max(), SCATTERED, calls, SCATTERED_SLICES, SCATTERED_GROUPS)
    return found.kernel / len(SCATTERED)


def _scattered_alone(name: str, quick: bool) -> float:
    """Nanoseconds an answer over one group."""
    ranges = sorted(SCATTERED, reverse=True)
    direct = Contestant(name, Max()).over(as_slices(_numbers(max(SCATTERED), quick)), ranges)
    direct.loop, direct.asked = stream, np.array(ranges)
    return NANO * _a_slide(direct, max(SCATTERED), quick) / len(SCATTERED)


def _numbers(longest: int, quick: bool) -> np.ndarray:
    return np.random.default_rng(longest).random(2 * longest + SLICES * _chunks(quick))


def _chunks(quick: bool) -> int:
    return 5 if quick else 40


def _a_slide(direct: Direct, longest: int, quick: bool) -> float:
    """Seconds a slide, once the window is full: the median over calls of a thousand slides."""
    direct.advance(2 * longest)
    return median(direct.advance(SLICES) for _ in range(_chunks(quick))) / SLICES


@compiled
def copy(source, target):  # type: ignore[no-untyped-def]
    for i in range(U(len(source))):
        target[i] = source[i]
