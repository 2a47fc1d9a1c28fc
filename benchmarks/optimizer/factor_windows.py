"""Factor windows on the paper's window sets: what sharing saves, and how long the search takes (FACTOR V).

Published ratios are throughputs measured in Trill; they stand beside throughputs of executed plans
(`factor_throughput.py`). What the paper's cost says of the same sets has tables of its own. At η = 1, as the
paper sets it, reading an answer costs as much as reading an event; at η = 100 answers are next to free.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import mean, stdev
from time import perf_counter

import numpy as np

from benchmarks.figures import Figure
from benchmarks.optimizer.factor_throughput import PER_TICK, Executed, executed
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
EXECUTED_SETS = 10  # as published
ROUNDS = 3  # of plans in turn
STRATEGIES = {  # with factor windows, and without
    "tumbling": ("factor_partitioned", "window_coverage"),
    "hopping": ("factor_covered", "window_coverage"),
}
TARGET = ("S", 20, "tumbling")  # where the published gain is the largest


@dataclass(frozen=True)
class Published:
    """Throughput over the unshared plan on synthetic data: mean and highest of ten sets (Tables I, III)."""

    without: tuple[float, float]
    with_factors: tuple[float, float]


PUBLISHED = {
    ("R", 5, "tumbling"): Published((1.21, 1.92), (1.85, 2.54)),
    ("R", 10, "tumbling"): Published((1.34, 1.77), (1.88, 3.38)),
    ("R", 15, "tumbling"): Published((1.55, 1.96), (2.97, 4.34)),
    ("R", 20, "tumbling"): Published((1.49, 2.29), (2.10, 4.83)),
    ("R", 5, "hopping"): Published((1.18, 1.82), (3.26, 4.29)),
    ("R", 10, "hopping"): Published((1.34, 1.71), (3.20, 6.15)),
    ("R", 15, "hopping"): Published((1.55, 1.95), (4.67, 6.59)),
    ("R", 20, "hopping"): Published((1.68, 2.20), (4.23, 7.65)),
    ("S", 5, "tumbling"): Published((1.63, 1.67), (4.28, 4.81)),
    ("S", 10, "tumbling"): Published((1.98, 2.05), (7.91, 9.38)),
    ("S", 15, "tumbling"): Published((2.43, 2.49), (11.29, 13.83)),
    ("S", 20, "tumbling"): Published((2.42, 2.53), (14.28, 16.82)),
    ("S", 5, "hopping"): Published((1.34, 1.48), (2.17, 2.81)),
    ("S", 10, "hopping"): Published((1.58, 1.73), (2.92, 3.79)),
    ("S", 15, "hopping"): Published((1.85, 2.09), (3.51, 4.68)),
    ("S", 20, "hopping"): Published((1.91, 2.15), (4.02, 5.32)),
}
Setup = tuple[str, int, str]  # a key of PUBLISHED: R for RandomGen or S for SequentialGen, size, kind


@dataclass(frozen=True)
class Measured:
    """Cost ratios of one setup's window sets at each η, gains of those executed, and what planning took."""

    without: dict[int, list[float]]
    with_factors: dict[int, list[float]]
    milliseconds: list[float]
    executed: list[Executed]


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    sets = 10 if quick else 100
    measured: dict[Setup, Measured] = {}
    for setup in PUBLISHED:
        progress(f"factor windows: {_name(setup)}")
        measured[setup] = _measure(setup, sets, 1 if quick else EXECUTED_SETS)
    return Report(
        title="Factor windows",
        summary=_summary(measured, sets),
        tables=[_throughput_table(measured), _without_table(measured), _with_table(measured)],
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


def _measure(setup: Setup, sets: int, executed_sets: int) -> Measured:
    draws = np.random.default_rng(setup[1])
    semantics = PARTITIONED_BY if setup[2] == "tumbling" else COVERED_BY
    measured = Measured(
        {rate: [] for rate in EVENTS_PER_TICK}, {rate: [] for rate in EVENTS_PER_TICK}, [], []
    )
    for number in range(sets):
        windows = window_set(setup, draws)
        for rate in EVENTS_PER_TICK:
            without, with_factors = _ratios(windows, semantics, rate)
            measured.without[rate].append(without)
            measured.with_factors[rate].append(with_factors)
        measured.milliseconds.append(_planning_milliseconds(windows, semantics))
        if number < executed_sets:
            measured.executed.append(executed(windows, *STRATEGIES[setup[2]], ROUNDS))
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
    gains = [each.with_factors for m in measured.values() for each in m.executed]
    return (
        f"Executed, plans with factor windows reach {min(gains):.2f} to {max(gains):.2f} times the unshared "
        "plan's events per second (published: up to 16.8 times, in Trill); in the paper's cost they are up "
        f"to {best:.1f} times cheaper (η = 1). Cost is not throughput: most of an event's time goes into "
        "reading its JSON, which every plan does once, and the unshared plan shares the assignment of "
        "events to slices.\n\n"
        "R is RandomGen and S SequentialGen, each with its number of windows; "
        f"costs are of {sets} sets of each, executions of {EXECUTED_SETS} (published: 10). "
        "Tumbling sets are shared under “partitioned by”, hopping ones under “covered by”, as published. "
        "Published ratios are of throughput on synthetic data (Tables I and III)."
    )


def _throughput_table(measured: dict[Setup, Measured]) -> Table:
    rows: list[list[str | float | None]] = []
    for setup, m in measured.items():
        published = PUBLISHED[setup]
        without = [each.without for each in m.executed]
        with_factors = [each.with_factors for each in m.executed]
        rows.append(
            [
                _name(setup),
                *(mean(without), max(without), *published.without),
                *(mean(with_factors), max(with_factors), *published.with_factors),
            ]
        )
    headings = [
        f"{plan}, {whose}{what}"
        for plan in ("without", "with")
        for whose in ("", "published ")
        for what in ("mean", "max")
    ]
    note = (
        f"Times the unshared plan's events per second of one core, {PER_TICK} events a tick, min without "
        "groups; without and with factor windows, ours and published (synthetic data)."
    )
    return Table("Throughput, executed", ["windows", *headings], rows, note)


def _without_table(measured: dict[Setup, Measured]) -> Table:
    rows = [_row(setup, m.without) for setup, m in measured.items()]
    note = (
        "The sequential sets can be reckoned by hand: windows of prime multiples read the events, all others "
        "the answers of those, so five tumbling windows gain at most 5/3 and twenty of them 20/8."
    )
    return Table("Cost without factor windows", _headings(), rows, note)


def _with_table(measured: dict[Setup, Measured]) -> Table:
    rows = [_row(setup, m.with_factors) for setup, m in measured.items()]
    note = (
        "Unshared to shared. At η = 1 a factor window of two ticks is hardly cheaper to read than the events."
    )
    return Table("Cost with factor windows", _headings(), rows, note)


def _headings() -> list[str]:
    return ["windows", *(f"η = {rate}, {what}" for rate in EVENTS_PER_TICK for what in ("mean", "max"))]


def _row(setup: Setup, ratios: dict[int, list[float]]) -> list[str | float | None]:
    return [
        _name(setup),
        *(value for rate in EVENTS_PER_TICK for value in (mean(ratios[rate]), max(ratios[rate]))),
    ]


def _ratio_chart(measured: dict[Setup, Measured]) -> Chart:
    return Chart(
        title="Mean gain in throughput with factor windows",
        x_label="generator, windows, kind",
        y_label="times the unshared plan",
        x=[_name(setup) for setup in measured],
        series={
            "executed": [mean(each.with_factors for each in m.executed) for m in measured.values()],
            "published": [PUBLISHED[setup].with_factors[0] for setup in measured],
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
    gain = mean(each.with_factors for each in measured[TARGET].executed)
    return [
        Figure("slowest plan of 20 windows", slowest, "ms", target=LONGEST_MS, lower_is_better=True),
        Figure(
            f"gain of {_name(TARGET)} in throughput, mean",
            gain,
            "×",
            target=PUBLISHED[TARGET].with_factors[0],
        ),
        *(
            Figure(f"highest gain of {_name(TARGET)} in cost, η = {rate}", max(gains), "×")
            for rate, gains in measured[TARGET].with_factors.items()
        ),
    ]
