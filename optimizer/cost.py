"""Cost: what trees and plans take, in the papers' operations per second and in this machine's busy seconds.

A plan of m trees costs `C = m·λ + Σ E·Ω` (SHEIN eq. 7.1): each event is folded into one partial per tree, and
each edge takes Ω operations to answer the windows. A tree with a group-by does its Ω for every group; without
one it has a single group and the formula is the printed one.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

from optimizer.edges import edge_rate
from optimizer.kernels import Kernel, cheapest_kernel, runnable_kernels
from optimizer.plan import Plan, Tree
from optimizer.queries import Query
from optimizer.windows import Window

UNMEASURED_GROUPS = 100  # taken for a group-by until its groups have been counted


@dataclass(frozen=True)
class Calibration:
    """What the steps of the data path take on this machine."""

    seconds_per_event: float = 2.0e-6  # read, decode and filter, once for the source
    seconds_per_partial: float = 0.3e-6  # fold one event into one tree's partial
    seconds_per_step: float = 20e-9  # one kernel operation for one group
    cores: int = 2

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isfinite(value) or value < 0:
                raise ValueError(f"A calibration's {name} must be a number not below zero, not {value}.")
        if not self.seconds_per_event or not self.cores:
            raise ValueError("A calibration needs seconds_per_event and cores above zero.")


@dataclass(frozen=True)
class Statistics:
    """What is known of a source's stream and of the machine that computes it."""

    rate: float = 1000.0  # λ, events per second
    groups: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    calibration: Calibration = Calibration()

    def __post_init__(self) -> None:
        if not isfinite(self.rate) or self.rate < 0:
            raise ValueError(f"The rate must be a number of events per second, not {self.rate}.")

    def groups_of(self, group_by: tuple[str, ...]) -> int:
        """How many groups a group-by has."""
        return max(1, self.groups.get(group_by, UNMEASURED_GROUPS)) if group_by else 1

    def to_json(self) -> dict[str, Any]:
        groups = [{"group_by": list(names), "groups": count} for names, count in sorted(self.groups.items())]
        return {"rate": self.rate, "groups": groups, "calibration": asdict(self.calibration)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Statistics":
        return cls(
            rate=value["rate"],
            groups={tuple(entry["group_by"]): entry["groups"] for entry in value["groups"]},
            calibration=Calibration(**value["calibration"]),
        )


@dataclass(frozen=True)
class TreeCost:
    """What one tree is estimated to take."""

    kernel: Kernel
    edge_rate: float  # E
    omega: float  # Ω
    total: float  # λ + E·Ω for every group


class FamilyCosts:
    """Costs of the trees that queries of one family could form."""

    def __init__(self, family: Collection[Query], statistics: Statistics) -> None:
        self._kernels = runnable_kernels({query.aggregate for query in family})
        self._groups = statistics.groups_of(next(iter(family)).group_by)
        self._rate = statistics.rate

    def tree(self, windows: Collection[Window]) -> TreeCost:
        classes = frozenset[tuple[int, int]]().union(*(window.edge_classes for window in windows))
        return self.tree_at(windows, edge_rate(classes))

    def tree_at(self, windows: Collection[Window], edges_per_second: float) -> TreeCost:
        """The cost of a tree whose edge rate is known, or supposed."""
        kernel = cheapest_kernel(self._kernels, windows, edges_per_second)
        omega = kernel.omega(windows, edges_per_second)
        total = self._rate + edges_per_second * omega * self._groups
        return TreeCost(kernel, edges_per_second, omega, total)


def tree_cost(queries: Collection[Query], statistics: Statistics) -> TreeCost:
    """What these queries take as one tree; queries with the same window are answered once."""
    return FamilyCosts(queries, statistics).tree({query.window for query in queries})


def steps_per_second(trees: Iterable[Tree], statistics: Statistics) -> float:
    """Kernel operations a second, over all groups."""
    return sum(tree.edge_rate * tree.omega * statistics.groups_of(tree.queries[0].group_by) for tree in trees)


def load(plan: Plan, statistics: Statistics) -> float:
    """The fraction of the cores' time that the plan takes at the measured rate; above 1 it falls behind."""
    calibration = statistics.calibration
    busy = statistics.rate * _seconds_per_event(plan, calibration)
    return (busy + _kernel_seconds(plan, statistics)) / calibration.cores


def estimated_throughput(plan: Plan, statistics: Statistics) -> float:
    """The highest rate, in events per second, that the plan can keep up with."""
    calibration = statistics.calibration
    spare = calibration.cores - _kernel_seconds(plan, statistics)
    return max(0.0, spare / _seconds_per_event(plan, calibration))


def _seconds_per_event(plan: Plan, calibration: Calibration) -> float:
    return calibration.seconds_per_event + len(plan.trees) * calibration.seconds_per_partial


def _kernel_seconds(plan: Plan, statistics: Statistics) -> float:
    return steps_per_second(plan.trees, statistics) * statistics.calibration.seconds_per_step
