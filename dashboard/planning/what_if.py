"""What other strategies would make of a plan's queries: worked out in a process of its own, once a plan.

Some strategies take long; each gets a limited time, and the process gives way to others.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from dashboard.live.meters import statistics
from dashboard.planning.calibration import calibrated_statistics
from dashboard.planning.figures import PlanLoad
from dashboard.planning.measured import with_measured_kernels
from dashboard.planning.models import PlanVersion
from dashboard.platform.folder_tasks import DONE, RUNNING, FolderTask, all_tasks, tidy
from optimizer.strategies import STRATEGIES

PATIENCE_SECONDS = 20.0  # with one strategy
QUICK_SECONDS = 5.0  # what people wait for when they adopt a strategy
AT_ONCE = 2
# In the panel of the plan page, as far as there are costs; the page of all strategies has the others.
SHOWN_FIRST = (
    "best", "best_woven", "triweave", "weave_share", "insert_then_weave", "local_search", "all_shared",
    "no_share",
)  # fmt: skip
LEAST_APART = 1e-6  # the running plan and no sharing, to tell what lies in between
LONGEST_BAR = 10.0  # or twice the cheapest plan, where that is more; a longer one is broken and labelled


@dataclass(frozen=True)
class Outcome:
    """What one strategy would make of the queries; costs are in windows that run alone."""

    strategy: str
    total: float | None  # None: it refused, or took too long
    max_node: float = 0.0
    trees: int = 0
    seconds: float = 0.0
    refusal: str = ""
    plan: str = ""  # its identity
    room: float = LONGEST_BAR  # the cost that a whole bar stands for

    @property
    def label(self) -> str:
        return STRATEGIES[self.strategy].label

    @property
    def kind(self) -> str:
        return STRATEGIES[self.strategy].kind

    @property
    def bar(self) -> float:
        """Per cent of the room."""
        return min(100.0, 100 * (self.total or 0.0) / self.room)

    @property
    def is_broken(self) -> bool:
        return (self.total or 0.0) > self.room

    @property
    def why_not(self) -> str:
        """Why it can be neither previewed nor adopted; empty where it can."""
        if self.total is None:
            return "No plan to preview."
        if self.seconds > QUICK_SECONDS:
            return f"Planning took over {QUICK_SECONDS:.0f}\N{NARROW NO-BREAK SPACE}s: too long to wait for."
        return ""


@dataclass(frozen=True)
class Comparison(FolderTask):
    """All strategies on one plan's queries and some number of nodes."""

    @classmethod
    def of(cls, version: PlanVersion, nodes: int) -> "Comparison":
        told = f"{version.source.key} {version.version} {version.created_at.isoformat()} {nodes}"
        digest = hashlib.sha256(told.encode()).hexdigest()[:16]
        return cls(_root() / digest)

    def start(self, version: PlanVersion, nodes: int) -> None:
        """Unless it runs, is done, or others are at work."""
        if self.state in (RUNNING, DONE):
            return
        others = all_tasks(Comparison, _root(), "run.json")
        tidy(others)
        if sum(task.state == RUNNING for task in others) >= AT_ONCE:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = with_measured_kernels(statistics(version.source.key))
        run = {
            "plan": version.plan,
            "statistics": known.to_json(),  # that plans are made by
            "estimates": calibrated_statistics(version.source).to_json(),  # that their loads are told by
            "nodes": nodes,
        }
        self.launch("whatif", run, ["outcomes.json"])

    def outcomes(self, running: PlanLoad) -> list[Outcome]:
        """As many as there are yet, cheapest first; those that refused last.

        They were worked out once; what the running plan costs now, by its meters, is told everywhere else.
        """
        kept = self.read("outcomes") or {"outcomes": []}
        told = _as_of_now(kept["outcomes"], kept.get("running"), running.cost, running.windows)
        cheapest = min((one["total"] for one in told if one["total"] is not None), default=0.0)
        room = max(LONGEST_BAR, 2 * cheapest)
        found = [Outcome(**one, room=room) for one in told if one["strategy"] in STRATEGIES]
        return sorted(found, key=lambda one: (one.total is None, one.total or 0.0, one.plan, one.label))

    def progress(self) -> dict[str, Any]:
        told = self.read("progress") or {"done": 0, "now": ""}
        total = len(STRATEGIES)
        now = STRATEGIES.get(told["now"])
        words = f"{told['done']} of {total} strategies" + (f", at {now.label} now" if now else "")
        return {"percent": round(100 * told["done"] / total), "words": f"{words}."}


def _as_of_now(
    told: list[dict[str, Any]], then: float | None, now: float, alone: int
) -> list[dict[str, Any]]:
    """The running plan at its cost of now, no sharing at one a window, the others in between as before."""
    if then is None or abs(alone - then) < LEAST_APART or now >= alone:
        return told
    moved = (alone - now) / (alone - then)
    found = []
    for one in told:
        total = None if one["total"] is None else max(0.0, alone - (alone - one["total"]) * moved)
        part = one.get("max_node", 0.0) / one["total"] if one["total"] else 0.0
        found.append(one if total is None else {**one, "total": total, "max_node": part * total})
    return found


def by_plan(outcomes: list[Outcome]) -> list[list[Outcome]]:
    """Those beside each other that come to the same plan; one that has none, or an unknown one, is alone."""
    groups: list[list[Outcome]] = []
    for one in outcomes:
        if groups and one.plan and one.plan == groups[-1][0].plan:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def first_ones(outcomes: list[Outcome], adopted: str) -> list[Outcome]:
    return [one for one in outcomes if one.strategy in (*SHOWN_FIRST, adopted) and one.total is not None]


def _root() -> Path:
    return Path(settings.VAR_DIR) / "what-if"
