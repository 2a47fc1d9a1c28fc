"""`plan`: which trees the queries of a spec would run in, at what cost, beside what other strategies do."""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandParser

from dashboard.planning.measured import with_measured_kernels
from dashboard.planning.printed import Outcome, comparison, plan_json, plan_text
from dashboard.planning.spec_file import SpecQueries, read_queries
from dashboard.platform.problems import Problem
from optimizer.cost import Statistics
from optimizer.kernels import ALIASES, kernel_named
from optimizer.planning import optimize
from optimizer.strategies import DEFAULT_STRATEGY, STRATEGIES, Strategy, strategy_named

DEFAULT_RATES = {"papers": 1.0, "calibrated": Statistics().rate}
MOST_NODES = 10_000
Number = TypeVar("Number", int, float)


class Command(BaseCommand):
    help = "Print the plan of a spec's queries, why it is so, and what other strategies would cost."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        # Values are checked here rather than by the parser, so that each mistake is answered by a sentence.
        parser.add_argument("--spec", required=True, help="queries (and perhaps their source), as JSON")
        parser.add_argument("--strategy", default=DEFAULT_STRATEGY, help=", ".join(STRATEGIES))
        parser.add_argument("--nodes", default="1", help="how many nodes, or what each can do: 2,1,1")
        parser.add_argument("--rate", help="events per second (papers: 1, calibrated: 1000)")
        parser.add_argument("--model", default="papers", help="costs to count with: papers, calibrated")
        parser.add_argument("--kernel", help="the one to plan with: panes, flatfat, flatfit, slickdeque")
        parser.add_argument("--seed", default="0", help="for strategies that draw lots")
        parser.add_argument("--same-slides", action="store_true", help="identical slides start in one tree")
        parser.add_argument("--compare", action="store_true", help="all strategies for these queries")
        parser.add_argument("--json", action="store_true", help="only the plan, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            asked = _asked(options)
            strategy = strategy_named(options["strategy"])
        except ValueError as error:
            raise Problem(str(error)) from error
        strategies = list(STRATEGIES.values()) if options["compare"] else [strategy]
        outcomes = sorted((asked.outcome(one) for one in strategies), key=_cheapest_first)
        if options["json"]:
            self._print_json(asked, outcomes, options["compare"])
        else:
            self._print_text(asked, outcomes, strategy, options["compare"])

    def _print_json(self, asked: "_Asked", outcomes: list[Outcome], compare: bool) -> None:
        plans = [plan_json(outcome.plan, asked.spec.labels) for outcome in outcomes if outcome.plan]
        for outcome in outcomes:
            if outcome.refusal and not compare:
                raise Problem(outcome.refusal)
            if outcome.refusal:
                print(f"{outcome.strategy.label}: {outcome.refusal}", file=sys.stderr)
        self.stdout.write(json.dumps(plans if compare else plans[0]))

    def _print_text(
        self, asked: "_Asked", outcomes: list[Outcome], strategy: Strategy, compare: bool
    ) -> None:
        chosen = next(outcome for outcome in outcomes if outcome.strategy == strategy)
        if chosen.plan is None:
            raise Problem(chosen.refusal)
        self.stdout.write(plan_text(chosen.plan, strategy, asked.spec.labels, asked.statistics))
        if compare:
            self.stdout.write("\n" + comparison(outcomes))


@dataclass(frozen=True)
class _Asked:
    """What is to be planned, and under which circumstances."""

    spec: SpecQueries
    statistics: Statistics
    nodes: int | list[float]
    seed: int
    same_slides: bool

    def outcome(self, strategy: Strategy) -> Outcome:
        began = time.perf_counter()
        try:
            plan = optimize(
                self.spec.queries,
                self.statistics,
                strategy=strategy.name,
                nodes=self.nodes,
                seed=self.seed,
                same_slides_together=self.same_slides,
            )
        except ValueError as error:
            return Outcome(strategy, None, time.perf_counter() - began, str(error))
        return Outcome(strategy, plan, time.perf_counter() - began)


def _asked(options: dict[str, Any]) -> _Asked:
    return _Asked(
        spec=_spec(Path(options["spec"])),
        statistics=_statistics(options["model"], options["rate"], options["kernel"]),
        nodes=_nodes(str(options["nodes"])),
        seed=_number(int, options["seed"], "The seed must be a whole number"),
        same_slides=options["same_slides"],
    )


def _spec(path: Path) -> SpecQueries:
    try:
        return read_queries(path.read_bytes())
    except FileNotFoundError as error:
        raise Problem(f"There is no file {path}.") from error
    except OSError as error:
        raise Problem(f"{path} cannot be read: {error.strerror}.") from error


def _statistics(model: str, rate: str | None, kernel: str | None) -> Statistics:
    if kernel is not None and kernel not in ALIASES:
        kernel_named(kernel, ())
    known = with_measured_kernels(Statistics(model=model, kernel=kernel))
    events = DEFAULT_RATES[model] if rate is None else rate
    return replace(known, rate=_number(float, events, "The rate must be a number of events per second"))


def _nodes(text: str) -> int | list[float]:
    if "," in text:
        return [_number(float, part, "A node's capacity must be a number") for part in text.split(",")]
    nodes = _number(int, text, "The nodes must be a number of them, or what each can do, such as 2,1,1")
    if nodes > MOST_NODES:
        raise Problem(f"A plan can have up to {MOST_NODES:,} nodes, not {nodes:,}.")
    return nodes


def _number(kind: Callable[[Any], Number], text: Any, rule: str) -> Number:
    try:
        return kind(text)
    except ValueError as error:
        raise Problem(f"{rule}, not “{text}”.") from error


def _cheapest_first(outcome: Outcome) -> float:
    return outcome.plan.total_cost if outcome.plan else inf
