"""The figures that all pages and the API share, each defined here alone; docs/plan.md says them in words.

A *query* is what a person saved. A *measure* is one thing that it computes, such as the average of a field. A
*window* is one measure over one of the query's windows: what trees answer, and what costs are counted in.

The *load* is the core time that work takes of the core time there is: what meters of the last quarter of a
minute tell, and the estimate until they tell something. All else follows from it: the *capacity* is the rate
at which the load would be full if events took as long as now, the *headroom* what is left of that, the *cost*
the load in windows that run alone. Another plan takes as much more or less as it was estimated to, so that
whatever costs less also loads less and leaves more headroom.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from dashboard.live.history import query_key
from dashboard.live.meters import SourceLoad, process_meters
from dashboard.live.relay import wall_clock
from dashboard.live.shares import measured_shares, of_late
from dashboard.planning.calibration import calibrated_statistics
from dashboard.planning.models import PlanVersion
from dashboard.sources.models import Source
from optimizer.cost import Statistics
from optimizer.estimates import query_estimates
from optimizer.plan import Plan
from optimizer.planning import optimize
from optimizer.queries import AnyQuery
from optimizer.throughput import busy, load


@dataclass(frozen=True)
class Figures:
    """What some plans take together; capacity and headroom are in events a second."""

    windows: int
    cost: float  # in windows that run alone
    load: float  # a share of the cores' time
    load_alone: float  # estimated, without any sharing
    capacity: float
    rate: float  # of the events that arrive
    is_measured: bool  # else the load is the estimate, and all that follows from it

    @property
    def headroom(self) -> float:
        return max(0.0, self.capacity - self.rate)


@dataclass(frozen=True)
class PlanLoad:
    """What one source's plan takes; two of the same source differ by what was estimated of them."""

    plan: Plan
    statistics: Statistics
    measured: SourceLoad | None  # of the plan that runs, whichever this one is
    running: Plan

    @classmethod
    def of(cls, source: Source, plan: Plan) -> "PlanLoad":
        """Of the plan that runs."""
        return cls(plan, calibrated_statistics(source), process_meters.load(source.key), plan)

    def under(self, plan: Plan) -> "PlanLoad":
        """What another plan would take in the place of the one that runs."""
        return replace(self, plan=plan)

    @property
    def windows(self) -> int:
        return len(self.plan.all_queries)

    @property
    def rate(self) -> float:
        return self.measured.rate if self.measured else self.statistics.rate

    @property
    def load(self) -> float:
        return self.measured_of_estimated * self.estimated

    @cached_property
    def estimated(self) -> float:
        return estimated_load(self.plan, self.statistics)

    @cached_property
    def alone(self) -> float:
        """Estimated, without any sharing."""
        return estimated_load(without_sharing(self.plan, self.statistics), self.statistics)

    @cached_property
    def measured_of_estimated(self) -> float:
        """How many times what was estimated of it the running plan takes."""
        expected = estimated_load(self.running, self.statistics)
        return self.measured.load / expected if self.measured and expected else 1.0

    def window_loads(self) -> dict[str, float]:
        """By id of a single window; they add up to the load."""
        found = query_estimates(self.plan, self.statistics)
        return {window: self.measured_of_estimated * one.load for window, one in found.items()}

    @property
    def cost(self) -> float:
        """In windows that run alone."""
        return cost_in_windows(self.plan, self.estimated, self.alone)


def together(plans: Sequence[PlanLoad], others: Sequence[PlanLoad] = ()) -> Figures:
    """`others` share the cores, and are counted in nothing else."""
    every = [*plans, *others]
    used, rate = sum(one.load for one in every), sum(one.rate for one in every)
    own, alone = (
        sum(one.load for one in plans),
        sum(one.measured_of_estimated * one.alone for one in plans),
    )
    windows = sum(one.windows for one in plans)
    return Figures(
        windows=windows,
        cost=windows * own / alone if alone else 0.0,
        load=used,
        load_alone=sum(one.measured_of_estimated * one.alone for one in every),
        capacity=rate / used if rate and used else _expected_capacity(every),
        rate=rate,
        is_measured=bool(every) and all(one.measured is not None for one in every),
    )


def _expected_capacity(plans: Iterable[PlanLoad]) -> float:
    """While no event arrives: at the rates that estimates reckon with."""
    known = list(plans)
    expected = sum(one.estimated for one in known)
    return sum(one.statistics.rate for one in known) / expected if expected else 0.0


def estimated_load(plan: Plan, statistics: Statistics) -> float:
    """The share of the cores' time that the cost model foresees; a plan without trees takes none."""
    return load(plan, statistics) if plan.all_trees else 0.0


def without_sharing(plan: Plan, statistics: Statistics) -> Plan:
    return optimize(plan.all_queries, statistics, source=plan.source, strategy="no_share")


def saved_queries(plan: Plan) -> int:
    """How many queries a plan answers, each with all its windows."""
    return len({query_key(query.id) for query in plan.all_queries})


def cost_in_windows(plan: Plan, taken: float, alone: float) -> float:
    """A load as so many windows that run alone, of all that a plan answers."""
    return len(plan.all_queries) * taken / alone if alone else 0.0


def saving(before: Plan, after: Plan, added: Sequence[AnyQuery], statistics: Statistics) -> float:
    """The part of what new windows would take alone that sharing saves, 0 to 1; reading the events aside."""
    reading = busy(Plan(after.source, 0, after.strategy), statistics).total
    alone = busy(optimize(added, statistics, strategy="no_share"), statistics).total - reading
    known = busy(before, statistics).total if before.all_trees else reading
    more = busy(after, statistics).total - known
    return min(1.0, max(0.0, 1 - more / alone)) if alone > 0 else 0.0


def running_loads(sources: Iterable[Source] | None = None) -> dict[str, PlanLoad]:
    """By key of each source that has a plan with trees."""
    found = {}
    for source in Source.objects.all() if sources is None else sources:
        version = PlanVersion.objects.filter(source=source).first()
        plan = version.value() if version is not None else None
        if plan is not None and plan.all_trees:
            found[source.key] = PlanLoad.of(source, plan)
    return found


def query_shares(loads: Iterable[PlanLoad]) -> dict[str, float]:
    """By key of a saved query, its share of what all take, together one: estimated until it is measured."""
    now = wall_clock()
    recent = {key: of_late(batches, now) for key, batches in process_meters.all_recent().items()}
    return measured_shares(recent) or _estimated_shares(list(loads))


def _estimated_shares(loads: list[PlanLoad]) -> dict[str, float]:
    whole = sum(one.estimated for one in loads)
    shares: dict[str, float] = {}
    for one in loads:
        for query, estimate in query_estimates(one.plan, one.statistics).items():
            key = query_key(query)
            shares[key] = shares.get(key, 0.0) + estimate.load / whole
    return shares
