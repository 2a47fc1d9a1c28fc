"""`whatif`: what every strategy would make of a plan's queries; the plan page starts it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.planning.identity import plan_identity
from dashboard.planning.what_if import PATIENCE_SECONDS, Comparison
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


def _run(comparison: Comparison) -> None:
    asked = comparison.read("run") or {}
    plan, known, nodes = (
        Plan.from_json(asked["plan"]),
        Statistics.from_json(asked["statistics"]),
        asked["nodes"],
    )
    alone = optimize(plan.all_queries, known, strategy="no_share").total_cost
    unit = alone / len(plan.all_queries) if plan.all_queries and alone else 1.0
    outcomes: list[dict[str, Any]] = []
    for strategy in STRATEGIES:
        comparison.write("progress", {"done": len(outcomes), "now": strategy})
        outcomes.append(_outcome(comparison, strategy, plan, known, nodes, unit))
        comparison.write("outcomes", {"outcomes": outcomes})
    comparison.write("summary", {"strategies": len(outcomes)})


def _outcome(
    comparison: Comparison, strategy: str, plan: Plan, known: Statistics, nodes: int, unit: float
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
        "total": found.total_cost / unit,
        "max_node": found.max_node_cost / unit,
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
