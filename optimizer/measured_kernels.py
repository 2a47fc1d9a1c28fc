"""Measured kernels: those that one family's trees may run on, by the seconds that they take here."""

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from optimizer.kernel_costs import KernelCosts, Surface
from optimizer.kernels import Kernel, answers_due, fitting_kernels, longest_window
from optimizer.windows import Window

Floats = NDArray[np.float64]


class MeasuredKernels:
    """What kernels take per edge and group, for one aggregate and number of groups."""

    def __init__(self, kernels: Iterable[Kernel], costs: KernelCosts, algebra: str, groups: int) -> None:
        surfaces = {kernel: costs.surface(kernel.name, algebra, groups) for kernel in kernels}
        self._surfaces = {kernel: surface for kernel, surface in surfaces.items() if surface is not None}

    @property
    def kernels(self) -> list[Kernel]:
        return list(self._surfaces)

    def cheapest(self, windows: Collection[Window], edge_rate: float) -> tuple[Kernel, float]:
        """The kernel that takes the fewest seconds for these windows, and those seconds."""
        fitting = fitting_kernels(self._surfaces, windows)
        due, longest = answers_due(windows, edge_rate), longest_window(windows, edge_rate)
        seconds = [_seconds(kernel, self._surfaces[kernel], due, longest) for kernel in fitting]
        least = min(seconds)
        return fitting[seconds.index(least)], least

    def at_least(self, due: Floats, longest: Floats, *, alone: bool = False) -> Floats:
        """Seconds that no tree undercuts with no fewer answers due nor a shorter longest window.

        They are per edge, or where fewer than one answer is due per edge, per answer. `alone`: the tree may
        be one window's, so that kernels which cannot share count too.
        """
        able = (surface for kernel, surface in self._surfaces.items() if kernel.many or alone)
        return np.minimum.reduce([surface.least_from(due, longest) for surface in able])


def _seconds(kernel: Kernel, surface: Surface, due: float, longest: float) -> float:
    """Measured with an answer at every edge; where fewer are due, a part of the work goes on regardless."""
    share = 1.0 if due >= 1 else kernel.idle + (1 - kernel.idle) * due
    return share * surface.at(max(1.0, due), longest)
