"""How long each slide takes (SHEIN chapter 4, experiment 3): a window of 1,024 over sensor-like input.

Each slide is timed inside compiled code with the processor's counter of cycles, in several runs over the same
input. What a kernel does at a slide is the same in all of them, interruptions are not: a run that took much
longer than the fastest does not count for that slide. The mean of the others tells finer differences than the
counter's own steps, because a slide begins anywhere between two steps.
"""

import platform
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from time import perf_counter_ns, sleep

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from benchmarks.figures import Figure
from benchmarks.kernels.direct import PLAIN, Contestant, compiled
from benchmarks.kernels.inputs import sensor
from benchmarks.kernels.section import Section
from benchmarks.report import Chart, Table
from streaming.aggregates.count import Count
from streaming.aggregates.max import Max
from streaming.aggregates.sum import Sum
from streaming.kernels.base import answer, push

WINDOW = 1024
SLIDES, SLIDES_IN_A_HURRY = 10**6, 50_000
RUNS = 16
INTERRUPTED = 1.25  # times the fastest run of a slide, and two steps of the counter
DROPPED = 0.00005  # the share of highest latencies that the paper drops
SNAPSHOT = 200  # slides
CALIBRATION_SECONDS = 0.05

OTHERS = ("panes", "flatfat", "b_int", "flatfit", "two_stacks", "daba")
OURS = ("two_stacks_lite", "daba_lite", "van_herk")
CONTESTANTS = {
    "Sum": (
        *(Contestant(kernel, Sum()) for kernel in OTHERS),
        Contestant("slickdeque_inv", Sum()),
        *(Contestant(kernel, Sum(), of_papers=False) for kernel in OURS),
        Contestant("slickdeque_inv", Count(), of_papers=False, remark=PLAIN),
    ),
    "Max": (
        *(Contestant(kernel, Max()) for kernel in OTHERS),
        Contestant("slickdeque_noninv", Max()),
        *(Contestant(kernel, Max(), of_papers=False) for kernel in OURS),
    ),
}
QUANTILES: dict[str, Callable[[np.ndarray], float]] = {
    "min": np.min,
    "25 %": lambda latencies: np.quantile(latencies, 0.25),
    "median": np.median,
    "75 %": lambda latencies: np.quantile(latencies, 0.75),
    "mean": np.mean,
    "99.9 %": lambda latencies: np.quantile(latencies, 0.999),
    "max": np.max,
}
OF_PAPER = ("min", "25 %", "median", "75 %", "mean", "max")
PUBLISHED_LEAD = {"Sum": 1.75, "Max": 1.08}  # the second best to SlickDeque, mean over the quantiles
PUBLISHED_SPIKE = 3.83  # DABA's highest latency to SlickDeque's

Latencies = Mapping[str, np.ndarray]  # by label: nanoseconds of every slide


@intrinsic
def cycles(typingctx):
    """The processor's counter, when all before is done and before anything after is begun."""

    def emit(context, builder, signature, arguments):
        module = builder.module
        fence = ir.FunctionType(ir.VoidType(), [])
        read = ir.FunctionType(ir.IntType(64), [])
        wait = module.globals.get(FENCE) or ir.Function(module, fence, FENCE)
        counter = module.globals.get(COUNTER) or ir.Function(module, read, COUNTER)
        builder.call(wait, [])
        now = builder.call(counter, [])
        builder.call(wait, [])
        return now

    return types.int64(), emit


FENCE, COUNTER = "llvm.x86.sse2.lfence", "llvm.readcyclecounter"


@compiled
def time_slides(kernel, sink, first, span, ticks):
    """The cycles that each slice and its answer take."""
    for i in range(len(ticks)):
        newest = first + i
        start = cycles()
        push(kernel, sink, newest)
        answer(kernel, sink, newest, max(0, newest - span + 1), 0, 0)
        ticks[i] = cycles() - start


@compiled
def time_nothing(ticks):
    for i in range(len(ticks)):
        start = cycles()
        ticks[i] = cycles() - start


@compiled
def cycles_now():
    return cycles()


def run(quick: bool, progress: Callable[[str], None]) -> Section:
    if platform.machine() not in ("x86_64", "AMD64"):
        return Section(["Latency: not measured, for want of a counter of cycles that can be read quickly."])
    slides = SLIDES_IN_A_HURRY if quick else SLIDES
    clock = _Clock()
    measured: dict[str, Latencies] = {}
    for aggregate, contestants in CONTESTANTS.items():
        progress(f"latency, {aggregate}")
        measured[aggregate] = {c.label: _latencies(c, slides, clock) for c in contestants}
    quantiles = {
        aggregate: {label: _quantiles(of_label) for label, of_label in latencies.items()}
        for aggregate, latencies in measured.items()
    }
    leads = {aggregate: _lead(aggregate, of_label) for aggregate, of_label in quantiles.items()}
    spike = quantiles["Max"]["DABA"]["max"] / quantiles["Max"][_slickdeque("Max")]["max"]
    return Section(
        sentences=[_lead_sentence(aggregate, quantiles[aggregate], leads[aggregate]) for aggregate in leads]
        + [f"DABA's highest latency is {spike:.2f} times SlickDeque's (published: {PUBLISHED_SPIKE})."],
        tables=[_table(aggregate, of_label, slides, clock) for aggregate, of_label in quantiles.items()],
        charts=[
            *(_bars(aggregate, of_label) for aggregate, of_label in quantiles.items()),
            _snapshot(measured["Max"]),
        ],
        figures=[
            *(
                Figure(
                    f"latency, {aggregate}: the second best to SlickDeque, mean of quantiles",
                    mean(by_quantile.values()),
                    "times",
                    baseline=PUBLISHED_LEAD[aggregate],
                )
                for aggregate, by_quantile in leads.items()
            ),
            Figure("latency, Max: DABA's highest to SlickDeque's", spike, "times", baseline=PUBLISHED_SPIKE),
        ],
    )


class _Clock:
    """What the counter's cycles are worth, and what reading it costs."""

    def __init__(self) -> None:
        cycles_now()  # compiles
        start, start_ns = cycles_now(), perf_counter_ns()
        sleep(CALIBRATION_SECONDS)
        self.nanoseconds = (perf_counter_ns() - start_ns) / (cycles_now() - start)
        ticks = np.empty((1000, RUNS), np.int64)
        time_nothing(ticks.reshape(-1))
        self.step = int(np.gcd.reduce(ticks, axis=None))
        self.cost = float(np.median(self._uninterrupted_means(ticks)))

    def latencies(self, ticks: np.ndarray) -> np.ndarray:
        """Nanoseconds of each slide, from (slides, runs) of cycles; one cycle at the least."""
        return np.maximum(self._uninterrupted_means(ticks) - self.cost, 1.0) * self.nanoseconds

    def _uninterrupted_means(self, ticks: np.ndarray) -> np.ndarray:
        longest = ticks.min(axis=1, keepdims=True) * INTERRUPTED + 2 * self.step
        means: np.ndarray = ticks.mean(axis=1, where=ticks <= longest)
        return means


def _latencies(contestant: Contestant, slides: int, clock: _Clock) -> np.ndarray:
    values = sensor(2 * WINDOW + slides, seed=1)
    ticks = np.empty((RUNS, slides), np.int64)
    for of_run in ticks:
        direct = contestant.one_query(values, WINDOW)
        time_slides(direct.kernel, direct.sink, 0, WINDOW, np.empty(2 * WINDOW, np.int64))
        time_slides(direct.kernel, direct.sink, 2 * WINDOW, WINDOW, of_run)
    return clock.latencies(ticks.T)


def _quantiles(latencies: np.ndarray) -> dict[str, float]:
    kept = np.sort(latencies)[: len(latencies) - int(np.ceil(DROPPED * len(latencies)))]
    return {name: float(quantile(kept)) for name, quantile in QUANTILES.items()}


def _slickdeque(aggregate: str) -> str:
    return next(c.label for c in CONTESTANTS[aggregate] if "slickdeque" in c.kernel)


def _lead(aggregate: str, quantiles: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """By quantile, how many times SlickDeque's latency the best of the papers' other kernels has."""
    own = _slickdeque(aggregate)
    others = [c.label for c in CONTESTANTS[aggregate] if c.of_papers and c.label != own]
    return {name: min(quantiles[label][name] for label in others) / quantiles[own][name] for name in OF_PAPER}


def _lead_sentence(
    aggregate: str, quantiles: Mapping[str, Mapping[str, float]], lead: Mapping[str, float]
) -> str:
    lowest = [name for name, ratio in lead.items() if ratio >= 1]
    where = f"lowest of the papers' kernels at {', '.join(lowest)}" if lowest else "lowest in no quantile"
    median = quantiles[_slickdeque(aggregate)]["median"]
    return (
        f"Latency, {aggregate}: SlickDeque takes {median:.1f} ns in the middle and is {where} (published: "
        f"everywhere); the second best takes {mean(lead.values()):.2f} times as long on average (published: "
        f"{PUBLISHED_LEAD[aggregate]})."
    )


def _table(aggregate: str, quantiles: Mapping[str, Mapping[str, float]], slides: int, clock: _Clock) -> Table:
    rows = [[label, *of_label.values()] for label, of_label in quantiles.items()]
    note = (
        f"Nanoseconds per slide, of {slides:,} slides of sensor-like input over a window of {WINDOW:,}, "
        f"without the highest {100 * DROPPED:.3f} %. Each slide's is the mean of {RUNS} runs without those "
        f"that were interrupted, less what reading the counter takes, {clock.cost * clock.nanoseconds:.0f} "
        f"ns. The counter moves in steps of {clock.step * clock.nanoseconds:.1f} ns."
    )
    return Table(f"Latency, {aggregate}", ["kernel", *QUANTILES], rows, note)


def _bars(aggregate: str, quantiles: Mapping[str, Mapping[str, float]]) -> Chart:
    return Chart(
        title=f"Latency of a slide, {aggregate}",
        x_label="of the slides",
        y_label="nanoseconds",
        x=list(QUANTILES),
        series={label: list(of_label.values()) for label, of_label in quantiles.items()},
        log_y=True,
        kind="bar",
    )


def _snapshot(latencies: Latencies) -> Chart:
    """Around the highest spike of SlickDeque."""
    shown: Sequence[str] = [_slickdeque("Max"), "DABA", "TwoStacks"]
    spike = int(np.argmax(latencies[shown[0]]))
    start = max(0, min(spike - SNAPSHOT // 2, len(latencies[shown[0]]) - SNAPSHOT))
    part = slice(start, start + SNAPSHOT)
    return Chart(
        title="Latency spikes, Max",
        x_label="slide",
        y_label="nanoseconds",
        x=list(range(start, start + len(latencies[shown[0]][part]))),
        series={label: latencies[label][part].tolist() for label in shown},
        log_y=True,
    )
