"""Cost: what trees and plans take, in the papers' operations per second or in this machine's busy seconds.

A plan of m trees costs `C = m·λ + Σ E·Ω` (SHEIN eq. 7.1): each event is folded into one partial per tree, and
each edge takes Ω operations to answer the windows. A tree with a group-by does its Ω for every group; without
one it has a single group and the formula is the printed one. A tree that is made of another's slices folds
those instead of the events (TriWeave, phantoms), or combines another window's answers (factor windows).

Both models count the same things and differ in what one of each costs (`UnitCosts`). Where the kernels have
been measured, the calibrated model takes their seconds in place of operations times seconds per operation.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from optimizer.aggregates import WIDTH, least_invertible
from optimizer.durations import UNITS_MS
from optimizer.edges import edge_rate
from optimizer.group_windows import CountWindow, GroupWindow
from optimizer.kernel_costs import KernelCosts
from optimizer.kernels import RUNNABLE, Kernel, allowed_kernels, cheapest_kernel, longest_window
from optimizer.measured_kernels import MeasuredKernels
from optimizer.omegas import LEAST_KEPT
from optimizer.path_costs import PathCosts
from optimizer.queries import Query
from optimizer.weaving import FamilyKey, joint_key
from optimizer.windows import Window

UNMEASURED_GROUPS = 100  # taken for a field that is grouped by, until its groups have been counted
UNMEASURED_SHARE = 1.0  # of events that pass a filter until they have been counted
MODELS = ("papers", "calibrated")


@dataclass(frozen=True)
class UnitCosts:
    """What one of each counted thing costs."""

    fold: float  # one event or partial into one tree's partial
    row: float  # one partial of one group, closed and moved to where it is answered
    step: float  # one kernel operation for one group
    result: float  # one answer of one group


PAPERS = UnitCosts(fold=1, row=0, step=1, result=0)


@dataclass(frozen=True)
class Calibration:
    """What the steps of the data path take on this machine."""

    seconds_per_event: float = 2.0e-6  # read and decode, once for the source
    seconds_per_partial: float = 0.3e-6  # fold one event into one tree's partial
    seconds_per_row: float = 0.0  # shuffle one group's partial; until measured apart it is within the step
    seconds_per_step: float = 20e-9  # one kernel operation for one group
    seconds_per_result: float = 0.0  # write one answer; until measured apart it is within the step
    cores: int = 2
    kernels: KernelCosts | None = None  # measured one by one; None: Ω steps each
    path: PathCosts | None = None  # what loads and rates are estimated by; None: the seconds above

    def __post_init__(self) -> None:
        for name, value in self._numbers.items():
            if not isfinite(value) or value < 0:
                raise ValueError(f"A calibration's {name} must be a number not below zero, not {value}.")
        if not self.seconds_per_event or not self.cores:
            raise ValueError("A calibration needs seconds_per_event and cores above zero.")

    @property
    def unit_costs(self) -> UnitCosts:
        return UnitCosts(
            self.seconds_per_partial, self.seconds_per_row, self.seconds_per_step, self.seconds_per_result
        )

    @property
    def _numbers(self) -> dict[str, float]:
        measured = ("kernels", "path")
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in measured}

    def to_json(self) -> dict[str, Any]:
        return {
            **self._numbers,
            "kernels": self.kernels.to_json() if self.kernels else None,
            "path": self.path.to_json() if self.path else None,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Calibration":
        kernels, path = value.get("kernels"), value.get("path")
        measured = {
            "kernels": KernelCosts.from_json(kernels) if kernels else None,
            "path": PathCosts.from_json(path) if path else None,
        }
        return cls(**{**value, **measured})


@dataclass(frozen=True)
class Statistics:
    """What is known of a source's stream and of the machine that computes it, and how costs are counted."""

    rate: float = 1000.0  # λ, events per second
    groups: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    passing: Mapping[str, float] = field(default_factory=dict)  # share of events, by filter
    calibration: Calibration = Calibration()
    model: str = "papers"
    kernel: str | None = None  # the one kernel to plan with; None: the cheapest that the job has
    batch_seconds: float = 1.0  # event time that a batch brings

    def __post_init__(self) -> None:
        if not isfinite(self.rate) or self.rate < 0:
            raise ValueError(f"The rate must be a number of events per second, not {self.rate}.")
        if not isfinite(self.batch_seconds) or self.batch_seconds <= 0:
            raise ValueError(f"A batch must bring some seconds of event time, not {self.batch_seconds}.")
        if self.model not in MODELS:
            raise ValueError(f"No cost model “{self.model}”: use one of {', '.join(MODELS)}.")
        for where, share in self.passing.items():
            if not 0 <= share <= 1:
                raise ValueError(f"The share of events that pass “{where}” must be from 0 to 1, not {share}.")

    @property
    def unit_costs(self) -> UnitCosts:
        return PAPERS if self.model == "papers" else self.calibration.unit_costs

    @property
    def kernel_costs(self) -> KernelCosts | None:
        """Those that the model counts with."""
        return None if self.model == "papers" else self.calibration.kernels

    def groups_of(self, group_by: Collection[str]) -> int:
        """How many groups a group-by has, in any order of its fields.

        One that was not counted is taken to have what its counted parts multiply to, as if fields did not
        depend on each other, but no fewer than any part and no more than any whole that was counted.

        >>> known = Statistics(groups={("a",): 10, ("b",): 20, ("a", "b"): 50, ("c",): 7})
        >>> known.groups_of(("b", "a")), known.groups_of(("a", "b", "c")), known.groups_of(("d",))
        (50, 350, 100)
        """
        fields = frozenset(group_by)
        counted = self._counted_groups
        if fields in counted:
            return counted[fields]
        groups, rest, least = 1, fields, 1
        for part in (part for part in counted if part < fields):  # those of most fields first
            least = max(least, counted[part])
            if part <= rest:
                groups, rest = groups * counted[part], rest - part
        groups *= UNMEASURED_GROUPS ** len(rest)
        wholes = [count for whole, count in counted.items() if fields < whole]
        return max(least, min([groups, *wholes]))

    @cached_property
    def _counted_groups(self) -> dict[frozenset[str], int]:
        counted = {frozenset[str](): 1}
        for names, count in self.groups.items():
            fields = frozenset(names)
            counted[fields] = max(1, count, counted.get(fields, 1))
        return dict(sorted(counted.items(), key=lambda entry: (-len(entry[0]), sorted(entry[0]))))

    def groups_in(self, key: FamilyKey) -> int:
        """How many partials each slice of a family holds: its groups, for each combination of its filters."""
        return self.groups_of(key.group_by) * 2 ** len(key.fragments)

    def events_in(self, key: FamilyKey) -> float:
        """Events a second that a family's trees fold."""
        return self.rate * self.share_of(key)

    def share_of(self, key: FamilyKey) -> float:
        """The share of all events that pass a family's filter, or that of any of its fragments."""
        if not key.where:
            return 1.0
        if key.where in self.passing or not key.fragments:
            return self.passing.get(key.where, UNMEASURED_SHARE)
        return min(1.0, sum(self.passing.get(where, UNMEASURED_SHARE) for where in key.fragments))

    def to_json(self) -> dict[str, Any]:
        groups = [{"group_by": list(names), "groups": count} for names, count in sorted(self.groups.items())]
        return {
            "rate": self.rate,
            "groups": groups,
            "passing": dict(sorted(self.passing.items())),
            "calibration": self.calibration.to_json(),
            "model": self.model,
            "kernel": self.kernel,
            "batch_seconds": self.batch_seconds,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Statistics":
        return cls(
            rate=value["rate"],
            groups={tuple(entry["group_by"]): entry["groups"] for entry in value["groups"]},
            passing=value.get("passing", {}),
            calibration=Calibration.from_json(value["calibration"]),
            model=value.get("model", "papers"),
            kernel=value.get("kernel"),
            batch_seconds=value.get("batch_seconds", 1.0),
        )


@dataclass(frozen=True)
class TreeCost:
    """What one tree is estimated to take."""

    kernel: Kernel | None  # None: it answers nothing itself
    edge_rate: float  # E
    omega: float  # Ω
    total: float
    per_edge: float = 0.0  # what its kernel takes for one group


class FamilyCosts:
    """Costs of the trees that queries of one family could form."""

    def __init__(
        self,
        family: Collection[Query],
        statistics: Statistics,
        *,
        key: FamilyKey | None = None,  # where it is not the queries' own, as a phantom's is
        input_rate: float | None = None,  # events or partials a second; None: the events that pass the filter
    ) -> None:
        key = key or joint_key(family)
        aggregates = {query.aggregate for query in family}
        self.kernels = allowed_kernels(aggregates, statistics.kernel)
        self.groups = statistics.groups_in(key)
        self.width = WIDTH.get(key.family, 1)
        self.unit = statistics.unit_costs
        self.input_rate = statistics.events_in(key) if input_rate is None else input_rate
        self.measured = _measured_kernels(aggregates, statistics, self.groups)
        if self.measured is not None:
            self.kernels = self.measured.kernels
        self._kept = min(LEAST_KEPT.get(kernel.name, 1.0) for kernel in self.kernels)

    @property
    def may_share(self) -> bool:
        """Whether one tree can answer several windows."""
        return any(kernel.many for kernel in self.kernels)

    def tree(self, windows: Collection[Window]) -> TreeCost:
        return self.tree_at(windows, edges_of(windows))

    def tree_at(self, windows: Collection[Window], edges_per_second: float) -> TreeCost:
        """The cost of a tree whose edge rate is known, or supposed."""
        kernel, omega, per_edge = self._cheapest(windows, edges_per_second)
        total = self._total(windows, edges_per_second, edges_per_second * per_edge)
        return TreeCost(kernel, edges_per_second, omega, total, per_edge)

    def at_least(self, windows: Collection[Window], edges_per_second: float) -> float:
        """What no tree undercuts that answers these windows or more, with so many edges or more."""
        if self.measured is None:
            return self.tree_at(windows, edges_per_second).total * self._kept
        longest = np.array([longest_window(windows, edges_per_second)])
        least = self.measured.at_least(np.ones(1), longest, alone=len(windows) == 1)[0] * self.width
        return self._total(windows, edges_per_second, least * min(edges_per_second, answer_rate(windows)))

    def _cheapest(self, windows: Collection[Window], edges: float) -> tuple[Kernel, float, float]:
        """The kernel to take, its Ω, and what it costs per edge and group."""
        if self.measured is None:
            kernel, least = cheapest_kernel(self.kernels, windows, edges)
            return kernel, least * self.width, self.unit.step * (least * self.width)
        kernel, seconds = self.measured.cheapest(windows, edges)
        return kernel, kernel.omega(windows, edges) * self.width, seconds * self.width

    def _total(self, windows: Collection[Window], edges: float, work: float) -> float:
        per_group = edges * self.unit.row + work
        if self.unit.result:
            per_group += self.unit.result * answer_rate(windows)
        return self.unit.fold * self.input_rate + per_group * self.groups


def _measured_kernels(
    aggregates: Collection[str], statistics: Statistics, groups: int
) -> MeasuredKernels | None:
    """The kernels to choose from by measured seconds; None where operations have to do."""
    if statistics.kernel_costs is None:
        return None
    allowed = allowed_kernels(aggregates, statistics.kernel, RUNNABLE)
    algebra = least_invertible(aggregates)
    measured = MeasuredKernels(allowed, statistics.kernel_costs, algebra, groups)
    may_share = any(kernel.many for kernel in measured.kernels)
    return measured if may_share or (statistics.kernel and measured.kernels) else None


def answer_rate(windows: Iterable[Window]) -> float:
    """Answers per second to all these windows."""
    return sum(UNITS_MS["s"] / window.slide for window in windows)


def edges_of(windows: Iterable[Window]) -> float:
    """Edges per second of the slices that serve all these windows."""
    return edge_rate(frozenset[tuple[int, int]]().union(*(window.edge_classes for window in windows)))


def tree_cost(queries: Collection[Query], statistics: Statistics) -> TreeCost:
    """What these queries take as one tree; queries with the same window are answered once."""
    return FamilyCosts(queries, statistics).tree({query.window for query in queries})


def answers_cost(window: Window, through: Window, key: FamilyKey, statistics: Statistics) -> TreeCost:
    """What a window takes that is made of another window's answers (FACTOR theorem 3's multiplier)."""
    combined = 1 + (window.range - through.range) // through.slide
    per_second = UNITS_MS["s"] / window.slide * statistics.groups_in(key)
    unit = statistics.unit_costs
    total = per_second * (unit.step * combined * WIDTH.get(key.family, 1) + unit.result)
    return TreeCost(None, UNITS_MS["s"] / window.slide, combined, total)


def feeding_cost(
    windows: Collection[Window], key: FamilyKey, statistics: Statistics, input_rate: float
) -> TreeCost:
    """What a tree takes that answers nothing and only makes slices for others."""
    edges = edges_of(windows)
    rows = edges * statistics.groups_in(key)
    unit = statistics.unit_costs
    return TreeCost(None, edges, 0.0, unit.fold * input_rate + unit.row * rows)


def group_cost(window: GroupWindow, key: FamilyKey, statistics: Statistics) -> float:
    """What queries take that share a group window; how often sessions end is not known beforehand."""
    return statistics.events_in(key) * group_cost_per_event(window, key, statistics.unit_costs)


def group_cost_per_event(window: GroupWindow, key: FamilyKey, unit: UnitCosts) -> float:
    width = WIDTH.get(key.family, 1)
    cost = unit.fold + unit.row + unit.step * width
    if isinstance(window, CountWindow):
        cost += (unit.step * width * window.slices + unit.result) / window.every
    return cost
