"""Kernels: which final aggregations a tree may run on, and how many operations each takes per edge (Ω).

The first formulas are those of SHEIN Table 11 for nQ distinct windows; nP is how many partials a window spans
on average, its range times the tree's edge rate. Newer kernels work on an answer only when it is due: a
window is due on `1 / (slide · edge rate)` of the edges.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import factorial, floor, log2

from optimizer.aggregates import AGGREGATES, INVERTIBLE, SELECTIVE
from optimizer.durations import UNITS_MS
from optimizer.windows import Window

Omega = Callable[[Collection[Window], float], float]


@dataclass(frozen=True)
class Kernel:
    """A final-aggregation algorithm as the optimizer sees it."""

    name: str
    label: str
    needs: str | None  # the property an aggregate must have; None: any aggregate will do
    omega: Omega
    many: bool = True  # answers several windows from one structure

    def allows(self, aggregate: str) -> bool:
        return self.needs is None or AGGREGATES[aggregate].algebra == self.needs


def partials_per_window(window: Window, edge_rate: float) -> float:
    """How many slices one span of the window holds on average (nP)."""
    return max(1.0, edge_rate * window.range / UNITS_MS["s"])


def _longest(windows: Collection[Window], edge_rate: float) -> float:
    return max(partials_per_window(window, edge_rate) for window in windows)


def _due(windows: Collection[Window], edge_rate: float) -> float:
    """Answers per edge on average: each window's own ends among all edges."""
    return sum(UNITS_MS["s"] / window.slide for window in windows) / edge_rate


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
    longest = _longest(windows, edge_rate)
    # Eq. 7.7 as printed; on random input the deque's mean length is the harmonic number, not Σ 1/i!.
    deque_length = sum(1 / factorial(i) for i in range(1, min(round(longest), 20) + 1))
    return 2 - 2 / longest + len(windows) + deque_length


def _constant(operations: float) -> Omega:
    return lambda windows, edge_rate: operations


def _van_herk(windows: Collection[Window], edge_rate: float) -> float:
    return 3.0 * len({window.range for window in windows})  # one pass per range


def _accumulators(windows: Collection[Window], edge_rate: float) -> float:
    """One operation for every start whose longest window is still open."""
    longest: dict[int, int] = {}
    for window in windows:
        longest[window.slide] = max(window.range, longest.get(window.slide, 0))
    return sum(length / slide for slide, length in longest.items())


def _sparse_table(windows: Collection[Window], edge_rate: float) -> float:
    return floor(log2(_longest(windows, edge_rate))) + _due(windows, edge_rate)


def _prefix_difference(windows: Collection[Window], edge_rate: float) -> float:
    return 1 + _due(windows, edge_rate)


def _finger_tree(windows: Collection[Window], edge_rate: float) -> float:
    partials = (partials_per_window(window, edge_rate) for window in windows)
    return 2 + sum(log2(n) * UNITS_MS["s"] / w.slide / edge_rate for w, n in zip(windows, partials))


KERNELS = [
    Kernel("slickdeque_inv", "SlickDeque (Inv)", INVERTIBLE, _slickdeque_inv),
    Kernel("slickdeque_noninv", "SlickDeque (Non-Inv)", SELECTIVE, _slickdeque_noninv),
    Kernel("flatfit", "FlatFIT", None, _flatfit),
    Kernel("flatfat", "FlatFAT", None, _flatfat),
    Kernel("panes", "Panes", None, _panes),
    Kernel("panes_inv", "Panes (Inv)", INVERTIBLE, _constant(2), many=False),
    Kernel("two_stacks", "TwoStacks", None, _constant(3), many=False),
    Kernel("daba", "DABA", None, _constant(5), many=False),
    Kernel("daba_lite", "DABA Lite", None, _constant(4), many=False),
    Kernel("van_herk", "van Herk block scan", None, _van_herk),
    Kernel("accumulators", "per-start accumulators", None, _accumulators),
    Kernel("sparse_table", "sparse table", SELECTIVE, _sparse_table),
    Kernel("prefix_difference", "prefix difference", INVERTIBLE, _prefix_difference),
    Kernel("finger_tree", "finger tree", None, _finger_tree),
]
BY_NAME = {kernel.name: kernel for kernel in KERNELS}
RUNNABLE = ("slickdeque_inv", "slickdeque_noninv", "flatfit")  # those the job has; its plans name no other
# One name for kernels that are the same idea for different aggregates.
ALIASES = {"slickdeque": ("slickdeque_inv", "slickdeque_noninv")}


def kernel_named(name: str, aggregates: Iterable[str]) -> Kernel:
    """The kernel of this name, refused where one of the aggregates lacks what it needs."""
    if name not in BY_NAME:
        raise ValueError(f"No kernel “{name}”: use one of {', '.join((*ALIASES, *BY_NAME))}.")
    kernel = BY_NAME[name]
    for aggregate in aggregates:
        if not kernel.allows(aggregate):
            others = ", ".join(other.name for other in KERNELS if other.allows(aggregate))
            raise ValueError(
                f"The kernel “{name}” cannot compute {aggregate}, which is not {kernel.needs}: use {others}."
            )
    return kernel


def allowed_kernels(aggregates: Collection[str], wanted: str | None = None) -> list[Kernel]:
    """The kernels that can compute all of these aggregates: those of the job, or the one that is wanted."""
    if wanted is None:
        return [BY_NAME[name] for name in RUNNABLE if all(map(BY_NAME[name].allows, aggregates))]
    fitting = [
        BY_NAME[name] for name in ALIASES.get(wanted, ()) if all(map(BY_NAME[name].allows, aggregates))
    ]
    return fitting or [kernel_named(wanted, aggregates)]


def cheapest_kernel(
    kernels: Iterable[Kernel], windows: Collection[Window], edge_rate: float
) -> tuple[Kernel, float]:
    """The kernel with the least Ω for these windows, and that Ω; the first listed of several equal ones."""
    fitting = [kernel for kernel in kernels if kernel.many or len(windows) == 1]
    if not fitting:
        raise ValueError("The kernel answers one window alone: choose one that shares, such as flatfit.")
    omegas = [kernel.omega(windows, edge_rate) for kernel in fitting]
    least = min(omegas)
    return fitting[omegas.index(least)], least
