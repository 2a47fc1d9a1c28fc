"""Omegas: operations per edge (Ω) of trees as one, for a row of pairs at once and without their windows.

What a kernel's Ω needs to know of a tree is a few numbers that merging adds up, joins or takes the larger of.
For kernels not known here by name the work of two trees as one is at least that of either.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import factorial

import numpy as np
from numpy.typing import NDArray

from optimizer.durations import UNITS_MS
from optimizer.kernels import Kernel
from optimizer.windows import Window

Floats = NDArray[np.float64]
Trees = NDArray[np.intp]

PER_WINDOW: dict[str, Callable[[Window], float]] = {
    "panes": lambda window: window.range / window.slide,
    "flatfit": lambda window: 3.0,
    "slickdeque_noninv": lambda window: 1.0,
}
PER_RANGE = {"slickdeque_inv": 2.0}
LEAST_KEPT = {
    "flatfat": 0.8
}  # eq. 7.4 falls where a window comes to span a power of two, by less than a fifth
DEQUE_LENGTHS = np.cumsum([0.0, *(1 / factorial(i) for i in range(1, 21))])  # of eq. 7.7


class Omegas:
    """What kernels need to know of every tree."""

    def __init__(self, kernels: Sequence[Kernel], starts: Iterable[Iterable[Window]], room: int) -> None:
        self._kernels = kernels
        self.exact = all(kernel.name in {*PER_WINDOW, *PER_RANGE} for kernel in kernels)
        ranges = sorted({window.range for windows in starts for window in windows})
        self._bit = {length: divmod(number, 64) for number, length in enumerate(ranges)}
        self._ranges = np.zeros((room, len(ranges) // 64 + 1), dtype=np.uint64)
        self._longest = np.zeros(room)  # range
        self._per_window = np.zeros((room, len(kernels)))
        self._least_work = np.zeros((room, len(kernels)))  # of kernels that are not known

    @staticmethod
    def add_up(kernels: Sequence[Kernel]) -> bool:
        """Whether Ω of two trees as one is the sum of theirs."""
        return all(kernel.name in {"panes", "flatfit"} for kernel in kernels) and len(kernels) == 1

    def add_start(self, tree: int, windows: Iterable[Window], edges: float) -> None:
        for window in windows:
            word, bit = self._bit[window.range]
            self._ranges[tree, word] |= np.uint64(1 << bit)
            self._longest[tree] = max(self._longest[tree], window.range)
            for position, kernel in enumerate(self._kernels):
                if kernel.name in PER_WINDOW:
                    self._per_window[tree, position] += PER_WINDOW[kernel.name](window)
        self._note_work(tree, windows, edges)

    def add_merged(self, tree: int, one: int, other: int, windows: Iterable[Window], edges: float) -> None:
        self._ranges[tree] = self._ranges[one] | self._ranges[other]
        self._longest[tree] = max(self._longest[one], self._longest[other])
        self._per_window[tree] = self._per_window[one] + self._per_window[other]
        self._note_work(tree, windows, edges)

    def _note_work(self, tree: int, windows: Iterable[Window], edges: float) -> None:
        for position, kernel in enumerate(self._kernels):
            if kernel.name not in PER_WINDOW and kernel.name not in PER_RANGE:
                omega = kernel.omega(frozenset(windows), edges) * LEAST_KEPT.get(kernel.name, 1.0)
                self._least_work[tree, position] = edges * omega

    def keep(self, trees: Trees) -> None:
        """Moves these trees to the front."""
        for of_trees in (self._ranges, self._longest, self._per_window, self._least_work):
            of_trees[: len(trees)] = of_trees[trees]

    def work(self, trees: Trees, others: Trees, edges: Floats) -> Floats:
        """E·Ω of pairs of trees as one, at these edges per second; at least, if not exact."""
        works = (self._work(position, trees, others, edges) for position in range(len(self._kernels)))
        return reduce(np.minimum, works)

    def _work(self, position: int, trees: Trees, others: Trees, edges: Floats) -> Floats:
        name = self._kernels[position].name
        if name in PER_RANGE:
            return (
                edges * PER_RANGE[name] * np.bitwise_count(self._ranges[trees] | self._ranges[others]).sum(1)
            )
        if name not in PER_WINDOW:
            return np.maximum(self._least_work[trees, position], self._least_work[others, position])
        omegas = self._per_window[trees, position] + self._per_window[others, position]
        if name == "slickdeque_noninv":
            longest = np.maximum(self._longest[trees], self._longest[others])
            partials = np.maximum(1.0, edges * longest / UNITS_MS["s"])
            omegas += 2 - 2 / partials + DEQUE_LENGTHS[np.minimum(np.rint(partials), 20).astype(np.intp)]
        return edges * omegas
