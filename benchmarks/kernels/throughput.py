"""Slides per second over a growing size: measured, tabled, drawn and compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

import numpy as np

from benchmarks.figures import Figure
from benchmarks.kernels.direct import Contestant, Direct
from benchmarks.report import Cell, Chart, Table

RUNS = 3
MOST_SECONDS = 1.0  # a kernel that took longer is left out at greater sizes
LEAST_SIZE = 8  # from which on the papers' comparisons hold
UNIT = 1e6  # slides per second are given in millions

Prepare = Callable[[Contestant, np.ndarray, int], Direct]


@dataclass(frozen=True)
class Sweep:
    title: str
    size_name: str
    contestants: Sequence[Contestant]
    runs: Mapping[str, Mapping[int, Sequence[float]]]  # by label and size, slides per second of every run

    @property
    def sizes(self) -> list[int]:
        return sorted({size for by_size in self.runs.values() for size in by_size})

    def best(self, label: str, size: int) -> float | None:
        return max(self.runs[label][size]) if size in self.runs[label] else None

    def median(self, label: str, size: int) -> float | None:
        return median(self.runs[label][size]) if size in self.runs[label] else None

    def spreads(self) -> list[float]:
        """(fastest − slowest) / median of the runs of each point."""
        points = [runs for by_size in self.runs.values() for runs in by_size.values()]
        return [(max(runs) - min(runs)) / median(runs) for runs in points]

    def labels(self, of_papers: bool, without: Sequence[str] = ()) -> list[str]:
        return [c.label for c in self.contestants if c.of_papers == of_papers and c.label not in without]


@dataclass(frozen=True)
class Comparison:
    """How many times as fast one kernel is as another, or as the fastest of several."""

    name: str
    label: str
    others: Sequence[str]
    published_mean: float | None = None
    published_most: float | None = None

    def ratios(self, sweep: Sweep, rate: Callable[[str, int], float | None]) -> dict[int, float]:
        found = {}
        for size in sweep.sizes:
            ours = rate(self.label, size)
            theirs = [other for label in self.others if (other := rate(label, size)) is not None]
            if ours is not None and theirs and size >= min(LEAST_SIZE, max(sweep.sizes)):
                found[size] = ours / max(theirs)
        return found

    def row(self, sweep: Sweep) -> list[Cell]:
        by_best = self.ratios(sweep, sweep.best)
        by_median = self.ratios(sweep, sweep.median)
        return [
            sweep.title,
            self.name,
            mean(by_best.values()),
            mean(by_median.values()),
            self.published_mean,
            max(by_best.values()),
            self.published_most,
            _always_faster_from(by_best),
        ]

    def figures(self, sweep: Sweep) -> list[Figure]:
        ratios = list(self.ratios(sweep, sweep.best).values())
        name = f"{sweep.title}: {self.name}"
        return [
            Figure(f"{name}, mean", mean(ratios), "times", baseline=self.published_mean),
            Figure(f"{name}, most", max(ratios), "times", baseline=self.published_most),
        ]

    def sentence(self, sweep: Sweep) -> str:
        ratios = list(self.ratios(sweep, sweep.best).values())
        published = (
            f" (published: {self.published_mean:.3g} and {self.published_most:.3g})"
            if self.published_mean and self.published_most
            else ""
        )
        return (
            f"{sweep.title}: {self.name}, {mean(ratios):.2f} times as fast on average and "
            f"{max(ratios):.2f} times at most{published}."
        )


def sweep(
    title: str,
    size_name: str,
    contestants: Sequence[Contestant],
    sizes: Sequence[int],
    make_input: Callable[[int, int, int], np.ndarray],
    slides: Callable[[int], int],
    prepare: Prepare,
) -> Sweep:
    """Kernels take turns within a run, so that whatever disturbs a run disturbs all of them."""
    runs: dict[str, dict[int, list[float]]] = {c.label: {} for c in contestants}
    left = list(contestants)
    for size in sizes:
        seconds = dict.fromkeys(left, 0.0)
        for run in range(RUNS):
            values = make_input(size + slides(size), size * RUNS + run, size)
            for contestant in left:
                direct = prepare(contestant, values, size)
                direct.advance(size)  # until the window is full; compiles as well
                seconds[contestant] = direct.advance(slides(size))
                runs[contestant.label].setdefault(size, []).append(slides(size) / seconds[contestant])
        left = [contestant for contestant in left if seconds[contestant] < MOST_SECONDS]
    return Sweep(title, size_name, contestants, runs)


def rates_table(sweep: Sweep) -> Table:
    labels = list(sweep.runs)
    rows: list[list[Cell]] = [
        [size, *(_in_millions(sweep.median(label, size)) for label in labels)] for size in sweep.sizes
    ]
    spreads = sweep.spreads()
    note = (
        f"Millions of slides per second, medians of {RUNS} runs. The fastest and the slowest run of a cell "
        f"differ by {100 * median(spreads):.0f} % of the median, in the middle of all cells, and by "
        f"{100 * max(spreads):.0f} % at most."
    )
    return Table(sweep.title, [sweep.size_name, *labels], rows, note)


def rates_chart(sweep: Sweep) -> Chart:
    return Chart(
        title=sweep.title,
        x_label=sweep.size_name,
        y_label="slides per second",
        x=sweep.sizes,
        series={label: [sweep.best(label, size) for size in sweep.sizes] for label in sweep.runs},
        log_x=True,
        log_y=True,
    )


def comparison_table(title: str, compared: Sequence[tuple[Sweep, Comparison]], note: str = "") -> Table:
    headings = [
        "experiment",
        "comparison",
        "mean",
        "mean of medians",
        "published mean",
        "most",
        "published most",
        "faster from",
    ]
    how = (
        f"How many times as many slides per second, over sizes from {LEAST_SIZE} on, by the best of {RUNS} "
        "runs of each kernel. The last column is the size from which on the ratio is never below one."
    )
    return Table(title, headings, [c.row(sweep) for sweep, c in compared], f"{how} {note}".strip())


def _always_faster_from(ratios: Mapping[int, float]) -> int | None:
    slower = [size for size, ratio in ratios.items() if ratio < 1]
    faster = [size for size in ratios if size > max(slower, default=0)]
    return min(faster, default=None)


def _in_millions(rate: float | None) -> float | None:
    return None if rate is None else rate / UNIT
