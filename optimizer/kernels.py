"""Kernels: which final aggregations a tree may run on, and how many operations each takes per edge (Ω).

The formulas are those of SHEIN Table 11 for nQ distinct windows; nP is how many partials a window spans on
average, its range times the tree's edge rate.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import factorial, floor, log2

from optimizer.durations import UNITS_MS
from optimizer.windows import Window

Omega = Callable[[Collection[Window], float], float]

# What lets an aggregate be kept up to date: undoing an old value, or being one of its operands.
PROPERTIES = {
    "count": "invertible",
    "sum": "invertible",
    "mean": "invertible",
    "min": "selective",
    "max": "selective",
}


@dataclass(frozen=True)
class Kernel:
    """A final-aggregation algorithm as the optimizer sees it."""

    name: str
    label: str
    needs: str | None  # the property an aggregate must have; None: any aggregate will do
    omega: Omega

    def allows(self, aggregate: str) -> bool:
        return self.needs is None or PROPERTIES[aggregate] == self.needs


def partials_per_window(window: Window, edge_rate: float) -> float:
    """How many slices one span of the window holds on average (nP)."""
    return max(1.0, edge_rate * window.range / UNITS_MS["s"])


def _panes(windows: Collection[Window], edge_rate: float) -> float:
    return sum(window.range / window.slide for window in windows)


def _flatfat(windows: Collection[Window], edge_rate: float) -> float:
    partials = (round(partials_per_window(window, edge_rate)) for window in windows)
    # Eq. 7.4 is undefined for a single partial: it is the answer itself and takes no operation.
    return sum(floor(log2(n - 1)) + (n - 1) / 2 ** floor(log2(n)) for n in partials if n > 1)


def _flatfit(windows: Collection[Window], edge_rate: float) -> float:
    # With all ranges at once it takes about 1 operation per answer; 3 holds for the sparse sets people use.
    return 3.0 * len(windows)


def _slickdeque_inv(windows: Collection[Window], edge_rate: float) -> float:
    # Eq. 7.6 and Table 11 leave out the 2 (add the new, take off the old) that the text derives.
    # Under one edge rate windows span equally many partials exactly where their ranges are equal.
    return 2.0 * len({window.range for window in windows})


def _slickdeque_noninv(windows: Collection[Window], edge_rate: float) -> float:
    longest = max(partials_per_window(window, edge_rate) for window in windows)
    # Eq. 7.7 as printed; on random input the deque's mean length is the harmonic number, not Σ 1/i!.
    deque_length = sum(1 / factorial(i) for i in range(1, min(round(longest), 20) + 1))
    return 2 - 2 / longest + len(windows) + deque_length


KERNELS = [
    Kernel("slickdeque_inv", "SlickDeque (Inv)", "invertible", _slickdeque_inv),
    Kernel("slickdeque_noninv", "SlickDeque (Non-Inv)", "selective", _slickdeque_noninv),
    Kernel("flatfit", "FlatFIT", None, _flatfit),
    Kernel("flatfat", "FlatFAT", None, _flatfat),
    Kernel("panes", "Panes", None, _panes),
]
BY_NAME = {kernel.name: kernel for kernel in KERNELS}
RUNNABLE = ("slickdeque_inv", "slickdeque_noninv", "flatfit")  # those the job has; a plan names no other


def kernel_named(name: str, aggregates: Iterable[str]) -> Kernel:
    """The kernel of this name, refused where one of the aggregates lacks what it needs."""
    if name not in BY_NAME:
        raise ValueError(f"No kernel “{name}”: use one of {', '.join(BY_NAME)}.")
    kernel = BY_NAME[name]
    for aggregate in aggregates:
        if not kernel.allows(aggregate):
            others = ", ".join(other.name for other in KERNELS if other.allows(aggregate))
            raise ValueError(
                f"The kernel “{name}” cannot compute {aggregate}, which is not {kernel.needs}: use {others}."
            )
    return kernel


def runnable_kernels(aggregates: Collection[str]) -> list[Kernel]:
    """The kernels of the job that can compute all of these aggregates."""
    kernels = (BY_NAME[name] for name in RUNNABLE)
    return [kernel for kernel in kernels if all(map(kernel.allows, aggregates))]


def cheapest_kernel(kernels: Iterable[Kernel], windows: Collection[Window], edge_rate: float) -> Kernel:
    """The kernel with the least Ω for these windows; the first one listed where several are equal."""
    return min(kernels, key=lambda kernel: kernel.omega(windows, edge_rate))
