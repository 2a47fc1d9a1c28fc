"""Factor windows on the paper's window sets: what sharing saves, and how long the search takes (FACTOR V).

The published ratios are throughputs measured in Trill, ours are ratios of the paper's cost. At η = 1, as the
paper sets it, reading an answer costs as much as reading an event; at η = 100 answers are next to free.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, stdev
from time import perf_counter

import numpy as np

from benchmarks.figures import Figure
from benchmarks.optimizer.workloads import as_queries
from benchmarks.report import Chart, Report, Table
from optimizer.cost import Statistics
from optimizer.durations import UNITS_MS
from optimizer.factor_windows.costs import WindowCosts
from optimizer.factor_windows.graph import min_cost_graph
from optimizer.factor_windows.search import COVERED_BY, PARTITIONED_BY, Semantics, with_factor_windows
from optimizer.strategies.factor_covered import factor_covered
from optimizer.strategies.factor_partitioned import factor_partitioned
from optimizer.windows import Window
from optimizer.workload import Workload

SIZES = (5, 10, 15, 20)
SEED_RANGES = (2, 5, 10)  # of tumbling windows
SEED_SLIDES = (5, 10, 20)  # of hopping windows, whose ranges are twice their slides
LARGEST_MULTIPLE = 50  # k_s and k_r
EVENTS_PER_TICK = (1, 100)  # η
LONGEST_MS = 100.0


@dataclass(frozen=True)
class Published:
    """Throughput over the unshared plan, mean and highest of ten sets (Tables I and III; real: II)."""

    synthetic_without: tuple[float, float]
    synthetic_with: tuple[float, float]
    real_without: tuple[float, float] | None = None
    real_with: tuple[float, float] | None = None


PUBLISHED = {
    ("R", 5, "tumbling"): Published((1.21, 1.92), (1.85, 2.54), (1.19, 1.78), (1.43, 1.91)),
    ("R", 10, "tumbling"): Published((1.34, 1.77), (1.88, 3.38), (1.30, 1.71), (1.53, 2.86)),
    ("R", 15, "tumbling"): Published((1.55, 1.96), (2.97, 4.34)),
    ("R", 20, "tumbling"): Published((1.49, 2.29), (2.10, 4.83)),
    ("R", 5, "hopping"): Published((1.18, 1.82), (3.26, 4.29), (1.09, 1.39), (1.54, 2.63)),
    ("R", 10, "hopping"): Published((1.34, 1.71), (3.20, 6.15), (1.18, 1.39), (1.46, 3.53)),
    ("R", 15, "hopping"): Published((1.55, 1.95), (4.67, 6.59)),
    ("R", 20, "hopping"): Published((1.68, 2.20), (4.23, 7.65)),
    ("S", 5, "tumbling"): Published((1.63, 1.67), (4.28, 4.81), (1.63, 1.67), (4.12, 4.85)),
    ("S", 10, "tumbling"): Published((1.98, 2.05), (7.91, 9.38), (1.90, 1.97), (7.53, 9.14)),
    ("S", 15, "tumbling"): Published((2.43, 2.49), (11.29, 13.83)),
    ("S", 20, "tumbling"): Published((2.42, 2.53), (14.28, 16.82)),
    ("S", 5, "hopping"): Published((1.34, 1.48), (2.17, 2.81), (1.12, 1.30), (1.22, 1.77)),
    ("S", 10, "hopping"): Published((1.58, 1.73), (2.92, 3.79), (1.22, 1.51), (1.45, 2.31)),
    ("S", 15, "hopping"): Published((1.85, 2.09), (3.51, 4.68)),
    ("S", 20, "hopping"): Published((1.91, 2.15), (4.02, 5.32)),
}
Setup = tuple[str, int, str]  # a key of PUBLISHED: R for RandomGen or S for SequentialGen, size, kind


@dataclass(frozen=True)
class Measured:
    """Cost ratios of one setup's window sets at each η, and how long their plans took to make."""

    without: dict[int, list[float]]
    with_factors: dict[int, list[float]]
    milliseconds: list[float]


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    sets = 10 if quick else 100
    measured: dict[Setup, Measured] = {}
    for setup in PUBLISHED:
        progress(f"factor windows: {_name(setup)}")
        measured[setup] = _measure(setup, sets)
    return Report(
        title="Factor windows",
        summary=_summary(measured, sets),
        tables=[_without_table(measured), _with_table(measured)],
        charts=[_ratio_chart(measured), _time_chart(measured)],
        figures=_figures(measured),
    )


def window_set(setup: Setup, draws: np.random.Generator) -> list[Window]:
    """Distinct windows as RandomGen draws them (algorithm 6), or as SequentialGen lists them.

    >>> [window.range for window in window_set(("S", 4, "tumbling"), np.random.default_rng(0))]
    [20, 30, 40, 50]
    """
    generator, size, kind = setup
    seeds, overlap = (SEED_RANGES, 1) if kind == "tumbling" else (SEED_SLIDES, 2)
    slides: dict[int, None] = {}
    if generator == "S":
        seed = int(draws.choice(seeds))
        slides = dict.fromkeys(seed * multiple for multiple in range(2, size + 2))
    while len(slides) < size:
        slides[int(draws.choice(seeds) * draws.integers(2, LARGEST_MULTIPLE, endpoint=True))] = None
    return [Window(slide * overlap, slide) for slide in slides]


def _measure(setup: Setup, sets: int) -> Measured:
    draws = np.random.default_rng(setup[1])
    semantics = PARTITIONED_BY if setup[2] == "tumbling" else COVERED_BY
    measured = Measured({rate: [] for rate in EVENTS_PER_TICK}, {rate: [] for rate in EVENTS_PER_TICK}, [])
    for _ in range(sets):
        windows = window_set(setup, draws)
        for rate in EVENTS_PER_TICK:
            without, with_factors = _ratios(windows, semantics, rate)
            measured.without[rate].append(without)
            measured.with_factors[rate].append(with_factors)
        measured.milliseconds.append(_planning_milliseconds(windows, semantics))
    return measured


def _ratios(windows: Sequence[Window], semantics: Semantics, rate: int) -> tuple[float, float]:
    """How many times as much the unshared windows cost, without and with factor windows."""
    costs = WindowCosts.over(windows, rate)
    unshared = sum((costs.total(window, None) for window in windows), Fraction(0))
    shared = min_cost_graph(windows, semantics.relation, costs)
    with_factors = with_factor_windows(windows, semantics, costs)
    return float(unshared / shared.total), float(unshared / with_factors.total)


def _planning_milliseconds(windows: Sequence[Window], semantics: Semantics) -> float:
    """The time from queries to groups, with the windows in Millrace's milliseconds."""
    scaled = [Window(w.range * UNITS_MS["s"], w.slide * UNITS_MS["s"]) for w in windows]
    workload = Workload(tuple(as_queries(scaled, "min")), Statistics(rate=1.0))
    strategy = factor_partitioned if semantics is PARTITIONED_BY else factor_covered
    start = perf_counter()
    strategy(workload)
    return (perf_counter() - start) * 1000


def _name(setup: Setup) -> str:
    return "-".join(map(str, setup))


def _summary(measured: dict[Setup, Measured], sets: int) -> str:
    best = max(max(m.with_factors[1]) for m in measured.values())
    return (
        f"In the paper's cost, factor windows make its window sets up to {best:.1f} times cheaper (η = 1); "
        "the best throughput it measured is 16.8 times the unshared plan's.\n\n"
        "R is RandomGen and S SequentialGen, each with its number of windows; "
        f"there are {sets} sets of each (published: 10). "
        "Tumbling sets are shared under “partitioned by”, hopping ones under “covered by”, as published. "
        "Our columns are ratios of costs, unshared to shared; the published ones are ratios of throughput "
        "measured in Trill, on synthetic data (Tables I and III) and on real data (Table II)."
    )


def _without_table(measured: dict[Setup, Measured]) -> Table:
    rows = [
        _row(setup, m.without, PUBLISHED[setup].synthetic_without, PUBLISHED[setup].real_without)
        for setup, m in measured.items()
    ]
    note = (
        "The sequential sets can be reckoned by hand: windows of prime multiples read the events, all others "
        "the answers of those, so five tumbling windows gain at most 5/3 and twenty of them 20/8."
    )
    return Table("Without factor windows", _headings(), rows, note)


def _with_table(measured: dict[Setup, Measured]) -> Table:
    rows = [
        _row(setup, m.with_factors, PUBLISHED[setup].synthetic_with, PUBLISHED[setup].real_with)
        for setup, m in measured.items()
    ]
    note = (
        "At η = 1 a factor window of two ticks is hardly cheaper to read than the events. The mean "
        "throughputs of tumbling windows on synthetic data lie between the two costs. Hopping windows gain "
        "less in Trill than the cost says: unshared, they would read an event once for every span it is in."
    )
    return Table("With factor windows", _headings(), rows, note)


def _headings() -> list[str]:
    ours = [f"η = {rate}, {what}" for rate in EVENTS_PER_TICK for what in ("mean", "max")]
    return [
        "windows",
        *ours,
        *(f"{data}, {what}" for data in ("synthetic", "real") for what in ("mean", "max")),
    ]


def _row(
    setup: Setup,
    ratios: dict[int, list[float]],
    synthetic: tuple[float, float],
    real: tuple[float, float] | None,
) -> list[str | float | None]:
    ours = [value for rate in EVENTS_PER_TICK for value in (mean(ratios[rate]), max(ratios[rate]))]
    return [_name(setup), *ours, *synthetic, *(real or (None, None))]


def _ratio_chart(measured: dict[Setup, Measured]) -> Chart:
    return Chart(
        title="Mean gain with factor windows",
        x_label="generator, windows, kind",
        y_label="unshared to shared",
        x=[_name(setup) for setup in measured],
        series={
            **{
                f"cost, η = {rate}": [mean(m.with_factors[rate]) for m in measured.values()]
                for rate in EVENTS_PER_TICK
            },
            "published throughput": [PUBLISHED[setup].synthetic_with[0] for setup in measured],
        },
        kind="bar",
    )


def _time_chart(measured: dict[Setup, Measured]) -> Chart:
    lines = [(generator, kind) for generator in "RS" for kind in ("tumbling", "hopping")]
    times = {
        f"{generator}, {kind}": [measured[generator, size, kind].milliseconds for size in SIZES]
        for generator, kind in lines
    }
    return Chart(
        title="Time to find factor windows",
        x_label="windows",
        y_label="milliseconds, mean and standard deviation",
        x=SIZES,
        series={name: [mean(values) for values in series] for name, series in times.items()},
        errors={name: [stdev(values) for values in series] for name, series in times.items()},
    )


def _figures(measured: dict[Setup, Measured]) -> list[Figure]:
    slowest = max(max(m.milliseconds) for setup, m in measured.items() if setup[1] == SIZES[-1])
    return [
        Figure("slowest plan of 20 windows", slowest, "ms", target=LONGEST_MS, lower_is_better=True),
        *(
            Figure(f"highest gain of S-20-tumbling, η = {rate}", max(gains), "×")
            for rate, gains in measured["S", 20, "tumbling"].with_factors.items()
        ),
    ]
