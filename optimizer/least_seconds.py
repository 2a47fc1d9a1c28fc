"""Least seconds: what the kernels of trees as one take at least, where kernels were measured.

Measured seconds need not grow with windows as operations do, so nothing is known of two trees as one but what
no point that was measured undercuts.
"""

from collections.abc import Iterable

import numpy as np

from optimizer.durations import UNITS_MS
from optimizer.measured_kernels import Floats, MeasuredKernels
from optimizer.omegas import Trees
from optimizer.windows import Window


class LeastSeconds:
    """As `Omegas`, in seconds in place of operations."""

    exact = False

    def __init__(self, measured: MeasuredKernels, room: int) -> None:
        self._measured = measured
        self._edges = np.zeros(room)
        self._answers = np.zeros(room)  # per second
        self._longest = np.zeros(room)  # range, in seconds

    def add_start(self, tree: int, windows: Iterable[Window], edges: float) -> None:
        self._edges[tree] = edges
        for window in windows:
            self._answers[tree] += UNITS_MS["s"] / window.slide
            self._longest[tree] = max(self._longest[tree], window.range / UNITS_MS["s"])

    def add_merged(self, tree: int, one: int, other: int, windows: Iterable[Window], edges: float) -> None:
        self._edges[tree] = edges
        self._answers[tree] = self._answers[one] + self._answers[other]
        self._longest[tree] = max(self._longest[one], self._longest[other])

    def keep(self, trees: Trees) -> None:
        """Moves these trees to the front."""
        for of_trees in (self._edges, self._answers, self._longest):
            of_trees[: len(trees)] = of_trees[trees]

    def work(self, trees: Trees, others: Trees, edges: Floats) -> Floats:
        """Seconds a second of pairs of trees as one, at least, with so many edges or more."""
        answers = self._answers[trees] + self._answers[others]
        due = answers / (self._edges[trees] + self._edges[others])  # no pair has more edges than its parts
        longest = edges * np.maximum(self._longest[trees], self._longest[others])
        least: Floats = self._measured.at_least(due, longest) * np.minimum(edges, answers)
        return least
