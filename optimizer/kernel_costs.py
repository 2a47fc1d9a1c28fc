"""Kernel costs: what kernels take on one machine, measured at some points and interpolated between them.

Between two points that were measured seconds are taken to be powers of the numbers that they depend on, and
beyond the last to stay what they are. Where points do not make a grid, each number of groups has the ranges
that were measured with it, and each number of ranges its own windows.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import exp, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optimizer.aggregates import AGGREGATES, NONE, plain

FORMAT = 1
SUM, MAX = "sum", "max"  # measured for all that can be taken off again, and for all that cannot


@dataclass(frozen=True)
class KernelCost:
    """Busy seconds per slide and group, with all of the ranges answered at every slide."""

    kernel: str
    algebra: str  # the aggregate that was measured: max, sum or count
    ranges: int
    window: int  # partials that the longest range spans
    groups: int
    seconds: float

    def __post_init__(self) -> None:
        for name in ("ranges", "window", "groups"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"A kernel cost's {name} must be a whole number above zero, not {value}.")
        if not _is_number(self.seconds) or self.seconds <= 0:
            raise ValueError(f"A kernel cost's seconds must be a number above zero, not {self.seconds}.")
        for name in ("kernel", "algebra"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"A kernel cost's {name} must be a text, not {getattr(self, name)}.")


@dataclass(frozen=True)
class KernelCosts:
    """All that was measured on one machine."""

    points: tuple[KernelCost, ...]
    machine: str = ""
    copy_seconds: float = 0.0  # to copy one number: what no kernel can undercut

    def seconds(self, kernel: str, algebra: str, ranges: float, window: float, groups: float) -> float | None:
        """Per slide and group; None for a kernel that was not measured."""
        surface = self.surface(kernel, algebra, groups)
        return None if surface is None else surface.at(ranges, window)

    def surface(self, kernel: str, algebra: str, groups: float) -> "Surface | None":
        """Seconds by ranges and window for so many groups; None for a kernel that was not measured."""
        key = kernel, algebra, groups
        if key not in self._surfaces:
            measured = self._measured.get(kernel)
            points = measured[_nearest(algebra, measured)] if measured else None
            self._surfaces[key] = Surface.of(points, groups) if points else None
        return self._surfaces[key]

    @cached_property
    def _surfaces(self) -> dict[tuple[str, str, float], "Surface | None"]:
        return {}

    @cached_property
    def _measured(self) -> dict[str, dict[str, list[KernelCost]]]:
        measured: defaultdict[str, defaultdict[str, list[KernelCost]]]
        measured = defaultdict(lambda: defaultdict(list))
        for point in self.points:
            measured[point.kernel][point.algebra].append(point)
        return {kernel: dict(points) for kernel, points in measured.items()}

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "machine": self.machine,
            "copy_seconds": self.copy_seconds,
            "points": [asdict(point) for point in self.points],
        }

    @classmethod
    def from_json(cls, value: Any) -> "KernelCosts":
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            found = value.get("format") if isinstance(value, dict) else type(value).__name__
            raise ValueError(f"These kernel costs have format {found}, not {FORMAT}.")
        points, copy_seconds = value.get("points"), value.get("copy_seconds", 0.0)
        if not isinstance(points, list):
            raise ValueError("Kernel costs need a list of points.")
        if not _is_number(copy_seconds) or copy_seconds < 0:
            raise ValueError(f"copy_seconds must be a number not below zero, not {copy_seconds}.")
        return cls(tuple(map(_point, points)), str(value.get("machine", "")), copy_seconds)


def _point(value: Any) -> KernelCost:
    names = list(KernelCost.__dataclass_fields__)
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"A kernel cost is an object with {', '.join(names)}, not {value}.")
    return KernelCost(**value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _nearest(algebra: str, measured: Mapping[str, object]) -> str:
    """The aggregate that was measured for this kernel and is likest to the one that is asked about."""
    algebra = plain(algebra)
    known = AGGREGATES.get(algebra)
    alike = SUM if known is not None and known.invertible != NONE else MAX
    return next((name for name in (algebra, alike) if name in measured), min(measured))


@dataclass(frozen=True)
class Surface:
    """Seconds of one kernel for one number of groups, on a grid of ranges and windows."""

    ranges: tuple[int, ...]
    windows: tuple[int, ...]
    logs: tuple[tuple[float, ...], ...]  # of seconds, by ranges and windows

    @classmethod
    def of(cls, points: Sequence[KernelCost], groups: float) -> "Surface":
        by_groups: dict[int, dict[int, dict[int, float]]] = {}
        for point in points:
            rows = by_groups.setdefault(point.groups, {})
            rows.setdefault(point.ranges, {})[point.window] = log(point.seconds)
        ranges = tuple(sorted({point.ranges for point in points}))
        windows = tuple(sorted({point.window for point in points}))
        logs = tuple(
            tuple(_in_three(by_groups, groups, count, window) for window in windows) for count in ranges
        )
        return cls(ranges, windows, logs)

    def at(self, ranges: float, window: float) -> float:
        row, down = _place(self.ranges, ranges)
        column, right = _place(self.windows, window)
        upper = _blend(self.logs[row], column, right)
        if not down:
            return exp(upper)
        return exp(upper + down * (_blend(self.logs[row + 1], column, right) - upper))

    def least_from(self, ranges: NDArray[np.float64], windows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds that no larger ranges and windows undercut; measured seconds need not grow with either."""
        rows = np.searchsorted(self.ranges, ranges, side="right") - 1
        columns = np.searchsorted(self.windows, windows, side="right") - 1
        least: NDArray[np.float64] = self._least[np.maximum(0, rows), np.maximum(0, columns)]
        return least

    @cached_property
    def _least(self) -> NDArray[np.float64]:
        """By corner of the grid, the least of it and all further ones; between corners nothing is less."""
        seconds = np.exp(np.array(self.logs))
        seconds = np.minimum.accumulate(seconds[::-1], axis=0)[::-1]
        return np.minimum.accumulate(seconds[:, ::-1], axis=1)[:, ::-1]


def _in_three(
    by_groups: dict[int, dict[int, dict[int, float]]], groups: float, ranges: float, window: float
) -> float:
    of_groups = {
        count: _between({number: _between(row, window) for number, row in rows.items()}, ranges)
        for count, rows in by_groups.items()
    }
    return _between(of_groups, groups)


def _between(known: Mapping[int, float], at: float) -> float:
    axis = sorted(known)
    place, share = _place(axis, at)
    return _blend([known[number] for number in axis], place, share)


def _place(axis: Sequence[int], at: float) -> tuple[int, float]:
    """The last number of the axis that is not above, and how far it is to the next one, in logarithms."""
    place = bisect_right(axis, at) - 1
    if place < 0:
        return 0, 0.0
    if place == len(axis) - 1:
        return place, 0.0
    return place, log(at / axis[place]) / log(axis[place + 1] / axis[place])


def _blend(values: Sequence[float], place: int, share: float) -> float:
    return values[place] + share * (values[place + 1] - values[place]) if share else values[place]
