"""Small sets: how often each strategy finds the optimum, where all partitions can be searched (SAVINGS 2.4).

Savings are counted as in SAVINGS theorem 1: what a plan costs less than a tree for each window, as a share of
what the optimum costs less.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from statistics import mean

from benchmarks.figures import Figure
from benchmarks.optimizer.workloads import SECOND, Setting, as_queries, windows_of
from benchmarks.report import Cell, Chart, Report, Table
from optimizer.cost import Statistics, edges_of
from optimizer.group_costs import group_costs
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from optimizer.workload import Group, Workload

OPTIMUM = "exhaustive"
COMPARED = (
    "no_share",
    "all_shared",
    "random_share",
    "local_search",
    "insert_then_weave",
    "weave_share",
    "pairing",
    "contiguous",
    "best_woven",
    "best",
)
PROVEN = 0.25  # of the optimum's savings, SAVINGS theorem 1
MOST_QUERIES = 10
ROUNDING = 1e-9


@dataclass(frozen=True)
class Outcome:
    """One set: what each strategy's plan costs."""

    costs: dict[str, float]

    def is_optimal(self, strategy: str) -> bool:
        return self.costs[strategy] <= self.costs[OPTIMUM] * (1 + ROUNDING)

    def excess(self, strategy: str) -> float:
        return self.costs[strategy] / self.costs[OPTIMUM]

    def saved_share(self, strategy: str) -> float | None:
        """Of the optimum's savings; None where nothing can be saved."""
        apart = self.costs["no_share"]
        savings = apart - self.costs[OPTIMUM]
        return (apart - self.costs[strategy]) / savings if savings > ROUNDING * apart else None


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    sets = 100 if quick else 1000
    draws = Random(1)
    outcomes = []
    for number in range(sets):
        if number % 50 == 0:
            progress(f"{number} of {sets} sets")
        outcomes.append(_outcome(_random_workload(draws, number)))
    progress("sets for which the theorem holds")
    in_theorem = _theorem_shares(sets, draws)
    return Report(
        title="Small sets",
        summary=_summary(outcomes, in_theorem),
        tables=[_strategy_table(outcomes), _savings_table(outcomes, in_theorem)],
        charts=[_chart(outcomes)],
        figures=_figures(outcomes, in_theorem),
    )


def _random_workload(draws: Random, seed: int) -> Workload:
    """Two to ten queries with different windows, over all kinds of slides, ranges, rates and kernels."""
    setting = Setting(
        queries=draws.randint(2, MOST_QUERIES),
        longest_slide=draws.choice((12, 30, 60, 120)),
        rate=10 ** draws.uniform(-2, 2),
        largest_overlap=draws.choice((1, 4, 16, 64)),
        slides=draws.choice(("any", "factors", "primes")),
        fragments=draws.random() < 0.5,
    )
    windows = sorted(set(windows_of(setting, seed)))
    queries = as_queries(windows, draws.choice(("sum", "max")))
    kernel = draws.choice((None, "panes", "flatfit"))
    return Workload(tuple(queries), Statistics(rate=setting.rate, kernel=kernel), seed=seed)


def _outcome(workload: Workload) -> Outcome:
    return Outcome({name: _cost(name, workload)[0] for name in (OPTIMUM, *COMPARED)})


def _cost(strategy: str, workload: Workload) -> tuple[float, list[Group]]:
    groups = STRATEGIES[strategy].place(workload)
    return sum(cost.total for cost in group_costs(groups, workload.statistics)), groups


def _theorem_shares(sets: int, draws: Random) -> list[float]:
    """WeaveShare's share of the optimum's savings where the theorem's three conditions are met."""
    shares: list[float] = []
    while len(shares) < sets:
        slides = draws.sample(range(1, 61), draws.randint(3, MOST_QUERIES - 2))
        windows = [Window(slide * SECOND, slide * SECOND) for slide in sorted(slides)]
        edges_of_pairs = max(map(edges_of, combinations(windows, 2)))
        statistics = Statistics(rate=2 * edges_of_pairs * draws.choice((1, 1.5, 3)), kernel="panes")
        workload = Workload(tuple(as_queries(windows)), statistics)
        costs, trees = {}, {}
        for name in ("no_share", "weave_share", OPTIMUM):
            costs[name], groups = _cost(name, workload)
            trees[name] = len(groups)
        share = Outcome(costs).saved_share("weave_share")
        enough_merges = 2 * (len(windows) - trees["weave_share"]) >= len(windows) - trees[OPTIMUM]
        if share is not None and enough_merges:
            shares.append(share)
    return shares


def _shares(outcomes: Sequence[Outcome], strategy: str) -> list[float]:
    shares = (outcome.saved_share(strategy) for outcome in outcomes)
    return [share for share in shares if share is not None]


def _optimal(outcomes: Sequence[Outcome], strategy: str) -> int:
    return sum(outcome.is_optimal(strategy) for outcome in outcomes)


def _summary(outcomes: Sequence[Outcome], in_theorem: Sequence[float]) -> str:
    woven, best = (_optimal(outcomes, name) for name in ("weave_share", "best"))
    return (
        f"WeaveShare finds the optimum in {woven:,} of {len(outcomes):,} random sets of two to ten queries, "
        f"best in {best:,}. The paper has WeaveShare optimal in all but one of its small instances, without "
        "saying how many there were.\n\n"
        f"Where the theorem's conditions are met, the worst of WeaveShare's plans still saves "
        f"{min(in_theorem):.0%} of what the optimum saves; proven is a quarter. The optimum is that of all "
        "partitions into trees that read the events themselves, found by exhaustive search."
    )


def _strategy_table(outcomes: Sequence[Outcome]) -> Table:
    rows: list[list[Cell]] = [
        [
            STRATEGIES[name].label,
            _optimal(outcomes, name),
            f"{_optimal(outcomes, name) / len(outcomes):.1%}",
            mean(outcome.excess(name) for outcome in outcomes),
            max(outcome.excess(name) for outcome in outcomes),
        ]
        for name in COMPARED
    ]
    headings = ["strategy", "optimal in", "of all", "mean cost to optimum", "worst cost to optimum"]
    note = (
        "Best makes trees of other trees' slices or answers too, and can so fall below the optimum of trees "
        "that read the events; that counts as optimal."
    )
    return Table(f"Plans of {len(outcomes):,} random sets", headings, rows, note)


def _savings_table(outcomes: Sequence[Outcome], in_theorem: Sequence[float]) -> Table:
    everywhere = _shares(outcomes, "weave_share")
    rows: list[list[Cell]] = [
        ["all random sets", len(everywhere), mean(everywhere), min(everywhere), None],
        ["sets as in the theorem", len(in_theorem), mean(in_theorem), min(in_theorem), PROVEN],
    ]
    note = (
        "The theorem asks for tumbling windows, a rate of at least twice the edge rate of any two of them, "
        "and at least half as many merges as the optimum has. Sets where nothing can be saved are left out."
    )
    headings = ["sets", "count", "mean", "worst", "proven"]
    return Table("WeaveShare's savings as a share of the optimum's", headings, rows, note)


def _chart(outcomes: Sequence[Outcome]) -> Chart:
    return Chart(
        title="How often the optimum is found",
        x_label="strategy",
        y_label="% of sets",
        x=[STRATEGIES[name].label for name in COMPARED],
        series={"optimal": [100 * _optimal(outcomes, name) / len(outcomes) for name in COMPARED]},
        kind="bar",
    )


def _figures(outcomes: Sequence[Outcome], in_theorem: Sequence[float]) -> list[Figure]:
    optimal = {name: 100 * _optimal(outcomes, name) / len(outcomes) for name in ("weave_share", "best")}
    return [
        Figure("small sets in which best is optimal", optimal["best"], "%", target=100),
        Figure("small sets in which WeaveShare is optimal", optimal["weave_share"], "%"),
        Figure("WeaveShare's worst share of the optimum's savings", min(in_theorem), "of 1", target=PROVEN),
    ]
