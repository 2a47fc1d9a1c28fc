"""`whatif`: what every strategy would make of a plan's queries; the plan page starts it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.planning.figures import cost_in_windows, estimated_load, without_sharing
from dashboard.planning.identity import plan_identity
from dashboard.planning.what_if import PATIENCE_SECONDS, Comparison
from dashboard.planning.work import estimated_work
from dashboard.platform.folder_tasks import Cancelled
from optimizer.cost import Statistics
from optimizer.plan import Plan
from optimizer.planning import optimize
from optimizer.strategies import STRATEGIES

LOOK_SECONDS = 0.5  # whether it was cancelled, or a strategy has had its time
NICENESS = 10


class Command(BaseCommand):
    help = "Compare all strategies on a plan's queries, for the plan page."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        os.nice(NICENESS)
        comparison = Comparison(options["folder"])
        try:
            _run(comparison)
        except Cancelled:
            return
        except Exception:
            sentence = "It failed on our side; the log of the web server says why."
            comparison.write("problem", {"sentence": sentence})
            raise


@dataclass(frozen=True)
class Costs:
    """By load, as the plan page tells costs: what is called cheaper leaves more headroom."""

    estimates: Statistics
    alone: float  # the load without any sharing

    def of(self, plan: Plan) -> float:
        return cost_in_windows(plan, estimated_load(plan, self.estimates), self.alone)

    def of_busiest_node(self, plan: Plan) -> float:
        taken = estimated_work(plan, self.estimates)
        nodes = [0.0] * len(plan.nodes)
        for tree in plan.all_trees:
            nodes[tree.node] += taken[tree.id].total / self.estimates.calibration.cores
        return cost_in_windows(plan, max(nodes), self.alone)


def _run(comparison: Comparison) -> None:
    asked = comparison.read("run") or {}
    plan, nodes = Plan.from_json(asked["plan"]), asked["nodes"]
    known, estimates = (Statistics.from_json(asked[name]) for name in ("statistics", "estimates"))
    costs = Costs(estimates, estimated_load(without_sharing(plan, estimates), estimates))
    outcomes: list[dict[str, Any]] = []
    for strategy in STRATEGIES:
        comparison.write("progress", {"done": len(outcomes), "now": strategy})
        outcomes.append(_outcome(comparison, strategy, plan, known, nodes, costs))
        comparison.write("outcomes", {"outcomes": outcomes, "running": costs.of(plan)})
    comparison.write("summary", {"strategies": len(outcomes)})


def _outcome(
    comparison: Comparison, strategy: str, plan: Plan, known: Statistics, nodes: int, costs: Costs
) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        with _limited(comparison):
            found = optimize(plan.all_queries, known, strategy=strategy, nodes=nodes)
    except TimeoutError:
        sentence = f"Took longer than {PATIENCE_SECONDS:.0f} s on these queries."
        return {"strategy": strategy, "total": None, "seconds": PATIENCE_SECONDS, "refusal": sentence}
    except ValueError as refusal:
        seconds = time.perf_counter() - began
        return {"strategy": strategy, "total": None, "seconds": seconds, "refusal": str(refusal)}
    return {
        "strategy": strategy,
        "total": costs.of(found),
        "max_node": costs.of_busiest_node(found),
        "trees": len(found.all_trees),
        "seconds": time.perf_counter() - began,
        "plan": plan_identity(found),
    }


@contextmanager
def _limited(comparison: Comparison) -> Iterator[None]:
    """A strategy is one long computation: the clock looks in from outside."""
    began = time.monotonic()

    def look(number: int, frame: FrameType | None) -> None:
        if comparison.is_cancelled:
            raise Cancelled
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise TimeoutError

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
