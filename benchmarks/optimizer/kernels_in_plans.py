"""Kernels in plans (SHEIN 7.3, Table 12): what WeaveShare's and TriWeave's plans cost with each kernel.

Five sweeps, one parameter at a time, with slides that are factors of the longest one. Costs are the papers'
operations per second, so nothing here is timed: the same draws give the same figures on any machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from benchmarks.figures import Figure
from benchmarks.optimizer.workloads import Setting, as_queries, windows_of
from benchmarks.report import Chart, Report, Table
from optimizer.cost import FamilyCosts, Statistics
from optimizer.group_costs import group_costs
from optimizer.kernels import BY_NAME
from optimizer.queries import Query
from optimizer.strategies.triweave import triweave
from optimizer.strategies.weave_share import starting_trees, weave_share
from optimizer.weaver import weave
from optimizer.workload import Workload

KERNELS = {  # with an aggregate that each can compute
    "panes": "sum",
    "flatfat": "sum",
    "flatfit": "sum",
    "slickdeque_inv": "sum",
    "slickdeque_noninv": "max",
}
SLICKDEQUES = ("slickdeque_inv", "slickdeque_noninv")
OPTIMIZERS = {"WeaveShare": weave_share, "TriWeave": triweave}
FREE_SLICES = "TriWeave, slices handed on for nothing"
MIDDLE = Setting(queries=100, longest_slide=1000, rate=1.0, largest_overlap=10_000, slides="factors")
MANY_QUERIES = 1000  # beyond so many one draw says enough


@dataclass(frozen=True)
class Experiment:
    """One row of Table 12: the parameter that is varied, and what was published."""

    label: str
    settings: dict[float, Setting]  # by the value of the parameter
    panes_to_slickdeque: float  # at most
    triweave_gain: float  # mean, as a share of WeaveShare's cost
    log_x: bool = True


EXPERIMENTS = (
    Experiment("queries", {n: replace(MIDDLE, queries=n) for n in (1, 10, 100, 1000, 10_000)}, 5_000, 0.08),
    Experiment(
        "longest slide",
        {n: replace(MIDDLE, longest_slide=n) for n in (10, 100, 1000, 10_000, 100_000)},
        4_300,
        0.02,
    ),
    Experiment(
        "largest overlap",
        {n: replace(MIDDLE, largest_overlap=n) for n in (100, 1000, 10_000, 100_000, 1_000_000)},
        270_000,
        0.02,
    ),
    Experiment(
        "events per second", {n: replace(MIDDLE, rate=n) for n in (0.01, 0.1, 1, 10, 100)}, 3_000, 0.18
    ),
    Experiment(
        "skew of slides", {n: replace(MIDDLE, skew=n) for n in (-1, -0.5, 0, 0.5, 1)}, 4_200, 0.05, False
    ),
)
FLATFIT_TO_SLICKDEQUE = 3  # at most, experiment 1

Costs = dict[tuple[str, str], list[float]]  # by optimizer and kernel: the mean at each value


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    draws, most_queries = (2, 1000) if quick else (10, 10_000)
    measured: list[tuple[Experiment, Costs]] = []
    for number, experiment in enumerate(EXPERIMENTS, 1):
        progress(f"experiment {number} of {len(EXPERIMENTS)}: {experiment.label}")
        settings = {x: s for x, s in experiment.settings.items() if s.queries <= most_queries}
        varied = replace(experiment, settings=settings)
        measured.append((varied, _costs(varied, draws)))
    return Report(
        title="Kernels in plans",
        summary=_summary(measured, draws),
        tables=[_kernel_table(measured), _triweave_table(measured)],
        charts=[
            _chart(*sweep, number, name) for number, sweep in enumerate(measured, 1) for name in OPTIMIZERS
        ],
        figures=_figures(measured),
    )


def _costs(experiment: Experiment, draws: int) -> Costs:
    costs: Costs = {(name, kernel): [] for name in (*OPTIMIZERS, FREE_SLICES) for kernel in KERNELS}
    for setting in experiment.settings.values():
        seeds = range(draws if setting.queries <= MANY_QUERIES else 1)
        for kernel, aggregate in KERNELS.items():
            drawn = [_plan_costs(setting, kernel, aggregate, seed) for seed in seeds]
            for name in drawn[0]:
                costs[name, kernel].append(mean(plan[name] for plan in drawn))
    return costs


def _plan_costs(setting: Setting, kernel: str, aggregate: str, seed: int) -> dict[str, float]:
    queries = as_queries(windows_of(setting, seed), aggregate)
    statistics = Statistics(rate=setting.rate, model="papers", kernel=kernel)
    workload = Workload(tuple(queries), statistics, same_slides_together=True)
    totals = {
        name: sum(cost.total for cost in group_costs(place(workload), statistics))
        for name, place in OPTIMIZERS.items()
    }
    return {**totals, FREE_SLICES: _cost_of_free_slices(queries, statistics)}


def _cost_of_free_slices(queries: Sequence[Query], statistics: Statistics) -> float:
    """Another reading of TriWeave, `C = λ + Σ E_i·Ω_i`: trees take the common slices without folding them."""
    costs = FamilyCosts(queries, statistics, input_rate=0.0)
    windows = sorted({query.window for query in queries})
    trees = weave(starting_trees(windows, same_slides_together=True), costs)
    return statistics.rate + sum(costs.tree(tree).total for tree in trees)


def _most_times(costs: Costs, kernel: str) -> float:
    """How many times SlickDeque's cost this kernel's is, at most over values, optimizers and both deques."""
    return max(
        dear / cheap
        for name in OPTIMIZERS
        for deque in SLICKDEQUES
        for dear, cheap in zip(costs[name, kernel], costs[name, deque], strict=True)
    )


def _gain(costs: Costs, name: str, kernels: Sequence[str] = tuple(KERNELS)) -> float:
    """How much cheaper than WeaveShare on average, over values and kernels."""
    return mean(
        1 - cost / woven
        for kernel in kernels
        for cost, woven in zip(costs[name, kernel], costs["WeaveShare", kernel], strict=True)
    )


def _summary(measured: Sequence[tuple[Experiment, Costs]], draws: int) -> str:
    most = max(_most_times(costs, "panes") for _, costs in measured)
    return (
        f"With SlickDeque plans cost up to {most:,.0f} times less than with Panes (published: 270,000).\n\n"
        "Table 12's five experiments: each varies one parameter and keeps the others at 100 queries, a "
        "longest slide of 1,000 s, overlap factors up to 10,000, one event a second and no skew. Slides are "
        f"factors of the longest. Costs are means of {draws} draws (published: ten), of one beyond 1,000 "
        "queries. Queries with the same slide start in one tree (SHEIN 6.5, note). The charts stand for "
        "Figures 42 to 46."
    )


def _kernel_table(measured: Sequence[tuple[Experiment, Costs]]) -> Table:
    rows = [
        [
            f"{number}: {experiment.label}",
            _most_times(costs, "panes"),
            experiment.panes_to_slickdeque,
            _most_times(costs, "flatfat"),
            _most_times(costs, "flatfit"),
            FLATFIT_TO_SLICKDEQUE if number == 1 else None,
        ]
        for number, (experiment, costs) in enumerate(measured, 1)
    ]
    headings = ["experiment", "Panes", "published", "FlatFAT", "FlatFIT", "published"]
    note = (
        "How many times SlickDeque's cost a plan has, at the most; the published figures are of other draws."
    )
    return Table("Times the cost of SlickDeque", headings, rows, note)


def _triweave_table(measured: Sequence[tuple[Experiment, Costs]]) -> Table:
    rows = [
        [
            f"{number}: {experiment.label}",
            *(_percent(_gain(costs, "TriWeave", [kernel])) for kernel in KERNELS),
            _percent(_gain(costs, "TriWeave")),
            _percent(experiment.triweave_gain),
            _percent(_gain(costs, FREE_SLICES)),
        ]
        for number, (experiment, costs) in enumerate(measured, 1)
    ]
    labels = [BY_NAME[kernel].label for kernel in KERNELS]
    headings = ["experiment", *labels, "all", "published", "slices for nothing"]
    note = (
        "How much cheaper TriWeave is than WeaveShare, on average. The thesis gives no formula. Ours charges "
        "every tree for the common slices, `λ + Σ (E_all + E·Ω)`, and keeps WeaveShare's plan where that is "
        "cheaper. One query with a slide of 1 s among factors of 1,000 makes E_all one a second, as many as "
        "there are events in all experiments but the fourth, so nothing can be gained there. The last column "
        "lets trees have the slices for nothing, `λ + Σ E·Ω`: it meets what was published for experiments 1 "
        "and 4, not for the others."
    )
    return Table("TriWeave against WeaveShare", headings, rows, note)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _chart(experiment: Experiment, costs: Costs, number: int, optimizer: str) -> Chart:
    return Chart(
        title=f"Experiment {number}: {optimizer}",
        x_label=experiment.label,
        y_label="operations per second",
        x=list(experiment.settings),
        series={BY_NAME[kernel].label: costs[optimizer, kernel] for kernel in KERNELS},
        log_x=experiment.log_x,
        log_y=True,
    )


def _figures(measured: Sequence[tuple[Experiment, Costs]]) -> list[Figure]:
    ratios = [
        Figure(
            f"Panes to SlickDeque, by {experiment.label}",
            _most_times(costs, "panes"),
            "times",
            baseline=experiment.panes_to_slickdeque,
        )
        for experiment, costs in measured
    ]
    gains = [
        Figure(
            f"TriWeave under WeaveShare, by {experiment.label}",
            100 * _gain(costs, "TriWeave"),
            "%",
            baseline=100 * experiment.triweave_gain,
        )
        for experiment, costs in measured
    ]
    return [*ratios, *gains]
