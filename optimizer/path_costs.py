"""Path costs: what one of each step of the data path takes on one machine, fitted to what batches took.

A batch's work is counted in steps that are known before it runs (`optimizer/path_work.py`); the job's meters
say how long its map tasks and its shards worked. From batches of several plans follows what one step takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = Mapping[str, float]  # steps by name; one that is not named is not taken

MAP_STEPS = ("read", "keyed", "joined", "filtered", "folded", "fed", "made", "packed")
SHARD_STEPS = ("begun", "visited", "gathered", "closed", "answered", "told")
SWEEPS = 2_000  # of a fit of a few numbers: some milliseconds


@dataclass(frozen=True)
class PathCosts:
    """Seconds of each step; kernels are measured apart."""

    # Map tasks
    read: float = 0.0  # an event, decoded
    keyed: float = 0.0  # an event, its group by one group-by numbered
    joined: float = 0.0  # likewise, in addition where the group-by has several fields
    filtered: float = 0.0  # an event, put to one filter
    folded: float = 0.0  # an event into one partial
    fed: float = 0.0  # a partial into one of another tree
    made: float = 0.0  # a tree's partials of one batch, however many
    packed: float = 0.0  # a partial's column, on its way to its shard
    # Shards; but for the first, each for every column that a tree's partials have
    begun: float = 0.0  # a batch
    visited: float = 0.0  # a tree in one shard, in one batch
    gathered: float = 0.0  # a partial into its slice
    closed: float = 0.0  # a slice of one tree in one shard, however many groups it has
    answered: float = 0.0  # a window of one query in one shard, final or not, likewise
    told: float = 0.0  # one group's answer

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isfinite(value) or value < 0:
                raise ValueError(
                    f"The seconds of the step “{name}” must be a number not below zero, not {value}."
                )

    def of(self, counts: Counts) -> float:
        """Seconds of so many steps."""
        return self.in_map_tasks(counts) + self.in_shards(counts)

    def in_map_tasks(self, counts: Counts) -> float:
        return sum(getattr(self, step) * counts.get(step, 0.0) for step in MAP_STEPS)

    def in_shards(self, counts: Counts) -> float:
        return sum(getattr(self, step) * counts.get(step, 0.0) for step in SHARD_STEPS)

    def scaled(self, map_factor: float, shard_factor: float) -> "PathCosts":
        """As on a machine whose map tasks and shards take so many times as long."""
        factors = dict.fromkeys(MAP_STEPS, map_factor) | dict.fromkeys(SHARD_STEPS, shard_factor)
        return PathCosts(**{step: getattr(self, step) * factor for step, factor in factors.items()})

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> "PathCosts":
        names = {each.name for each in fields(cls)}
        if not isinstance(value, dict) or not set(value) <= names:
            raise ValueError(f"Path costs are an object with seconds for {', '.join(sorted(names))}.")
        return cls(**value)


@dataclass(frozen=True)
class Metered:
    """What batches of one plan did, and how long they took by their meters."""

    counts: Counts
    map_seconds: float
    shard_seconds: float  # without what kernels take


def fitted(metered: Sequence[Metered]) -> PathCosts:
    """The costs that come nearest to all that was metered, in parts of what each took in all."""
    taken = np.array([[each.map_seconds, each.shard_seconds] for each in metered])
    weight = 1 / taken.sum(axis=1)
    found: dict[str, float] = {}
    for stage, steps in enumerate((MAP_STEPS, SHARD_STEPS)):
        counted = np.array([[each.counts.get(step, 0.0) for step in steps] for each in metered])
        seconds = _not_negative(counted * weight[:, None], taken[:, stage] * weight)
        found |= dict(zip(steps, seconds.tolist(), strict=True))
    return PathCosts(**found)


def _not_negative(counted: Floats, taken: Floats) -> Floats:
    """Least squares with no seconds below zero, one step after another again and again."""
    size = np.sqrt((counted**2).sum(axis=0))
    size[size == 0] = 1.0
    counted = counted / size
    products, wanted = counted.T @ counted, counted.T @ taken
    seconds = np.zeros(len(size))
    for _ in range(SWEEPS):
        for step in np.flatnonzero(products.diagonal()):
            seconds[step] = max(0.0, seconds[step] + wanted[step] - products[step] @ seconds)
    return seconds / size
