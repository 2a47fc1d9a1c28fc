"""Kernels: which final aggregations a tree may run on, and how many operations each takes per edge (Ω).

The first formulas are those of SHEIN Table 11 for nQ distinct windows; nP is how many partials a window spans
on average, its range times the tree's edge rate. They count every window at every edge. The others are what
the job's kernels take: those work on an answer only when it is due, and a window is due on
`1 / (slide · edge rate)` of the edges.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import ceil, factorial, floor, log2

from optimizer.aggregates import AGGREGATES, EXACT, NONE
from optimizer.durations import UNITS_MS
from optimizer.windows import Window

Omega = Callable[[Collection[Window], float], float]

# Properties that a kernel may need of an aggregate; the names are those of the job's kernels.
INVERTIBLE = "invertible"  # an old partial can be taken off again
EXACTLY_INVERTIBLE = "exactly invertible"  # and what is left is exact
SELECTIVE = "selective"
IDEMPOTENT = "idempotent"


@dataclass(frozen=True)
class Kernel:
    """A final-aggregation algorithm as the optimizer sees it."""

    name: str
    label: str
    needs: str | None  # the property an aggregate must have; None: any aggregate will do
    omega: Omega
    many: bool = True  # answers several windows from one structure
    idle: float = 1.0  # share of its work that is left at an edge where nothing is due, about

    def allows(self, aggregate: str) -> bool:
        return self.needs is None or _has(aggregate, self.needs)


def _has(name: str, needed: str) -> bool:
    aggregate = AGGREGATES[name]
    return {
        INVERTIBLE: aggregate.invertible != NONE,
        EXACTLY_INVERTIBLE: aggregate.invertible == EXACT,
        SELECTIVE: aggregate.selective,
        IDEMPOTENT: aggregate.idempotent,
    }[needed]


def partials_per_window(window: Window, edge_rate: float) -> float:
    """How many slices one span of the window holds on average (nP)."""
    return max(1.0, edge_rate * window.range / UNITS_MS["s"])


def longest_window(windows: Collection[Window], edge_rate: float) -> float:
    """How many slices the longest of the windows spans (nP)."""
    return max(partials_per_window(window, edge_rate) for window in windows)


def answers_due(windows: Collection[Window], edge_rate: float) -> float:
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
    longest = longest_window(windows, edge_rate)
    # Eq. 7.7 as printed; on random input the deque's mean length is the harmonic number, not Σ 1/i!.
    deque_length = sum(1 / factorial(i) for i in range(1, min(round(longest), 20) + 1))
    return 2 - 2 / longest + len(windows) + deque_length


def _constant(operations: float) -> Omega:
    return lambda windows, edge_rate: operations


def _b_int(windows: Collection[Window], edge_rate: float) -> float:
    """Every second slice makes an interval of two, every fourth one of four; an answer joins the longest.

    Wherever it lies, a window of n slices holds (n + 1) / 2ˡ − 1 whole intervals of 2ˡ slices on average, up
    to k = ⌊log2 n⌋. Of each length those inside a longer one are left out: k − 1 + (n + 1) / 2ᵏ are joined.
    """
    made = 1 - 0.5 ** floor(log2(round(longest_window(windows, edge_rate))))
    return made + sum(_interval_joins(window, edge_rate) for window in windows)


def _interval_joins(window: Window, edge_rate: float) -> float:
    partials = round(partials_per_window(window, edge_rate))
    level = floor(log2(partials))
    return (level - 2 + (partials + 1) / 2**level) * answers_due([window], edge_rate)


def _van_herk(windows: Collection[Window], edge_rate: float) -> float:
    return sum(_block_scan(window, edge_rate) for window in windows)


def _block_scan(window: Window, edge_rate: float) -> float:
    """Behind each boundary a window's slices are folded backwards; the answers after it fold forwards."""
    answers = ceil(window.range / window.slide)  # from one boundary to the next
    slices = edge_rate * window.slide / UNITS_MS["s"]  # from one answer to the next
    backwards = partials_per_window(window, edge_rate) - 1
    forwards = max(0.0, (answers - 1) * slices - 1)
    return (backwards + forwards + answers - 1) / (answers * slices)


def _accumulators(windows: Collection[Window], edge_rate: float) -> float:
    # Every slice that the longest window may start with is kept, whether or not a window does start there.
    return longest_window(windows, edge_rate) - 1


def _sparse_table(windows: Collection[Window], edge_rate: float) -> float:
    # A window that spans a power of two takes no operation for its answer, but few do so every time.
    return floor(log2(longest_window(windows, edge_rate))) + answers_due(windows, edge_rate)


def _prefix_difference(windows: Collection[Window], edge_rate: float) -> float:
    return 1 + answers_due(windows, edge_rate)


def _finger_tree(windows: Collection[Window], edge_rate: float) -> float:
    """Mending both edges of the tree takes about 8, less in small trees; shorter windows are gathered."""
    longest = longest_window(windows, edge_rate)
    answers = (_gathering(window, longest, edge_rate) for window in windows)
    return max(0.0, 8 - 32 / longest) + sum(answers)


def _gathering(window: Window, longest: float, edge_rate: float) -> float:
    partials = partials_per_window(window, edge_rate)
    joins = 1.0 if partials >= longest else max(1.0, log2(partials))  # the whole tree is its two edges
    return joins * answers_due([window], edge_rate)


KERNELS = [
    Kernel("slickdeque_inv", "SlickDeque (Inv)", INVERTIBLE, _slickdeque_inv),
    Kernel("slickdeque_noninv", "SlickDeque (Non-Inv)", SELECTIVE, _slickdeque_noninv),
    Kernel("flatfit", "FlatFIT", None, _flatfit, idle=1 / 3),
    Kernel("flatfat", "FlatFAT", None, _flatfat, idle=0.5),
    Kernel("b_int", "B-Int", None, _b_int, idle=0.2),
    Kernel("panes", "Panes", None, _panes, idle=0.0),
    Kernel("panes_inv", "Panes (Inv)", INVERTIBLE, _constant(2), many=False),
    Kernel("two_stacks", "TwoStacks", None, _constant(3), many=False, idle=2 / 3),
    Kernel("two_stacks_lite", "TwoStacks Lite", None, _constant(3), many=False, idle=2 / 3),
    Kernel("daba", "DABA", None, _constant(5), many=False, idle=4 / 5),
    Kernel("daba_lite", "DABA Lite", None, _constant(4), many=False, idle=3 / 4),
    Kernel("van_herk", "van Herk block scan", None, _van_herk, idle=2 / 3),
    Kernel("accumulators", "per-start accumulators", None, _accumulators),
    Kernel("sparse_table", "sparse table", IDEMPOTENT, _sparse_table),
    Kernel("prefix_difference", "prefix difference", EXACTLY_INVERTIBLE, _prefix_difference, idle=0.5),
    Kernel("finger_tree", "FiBA", None, _finger_tree, idle=0.8),
]
BY_NAME = {kernel.name: kernel for kernel in KERNELS}
RUNNABLE = tuple(BY_NAME)  # those the job has; its plans name no other
# Between which the papers' model chooses: by operations alone it would take others for their small constants.
PAPERS_CHOICE = ("slickdeque_inv", "slickdeque_noninv", "flatfit")
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


def allowed_kernels(
    aggregates: Collection[str], wanted: str | None = None, choice: Iterable[str] = PAPERS_CHOICE
) -> list[Kernel]:
    """The kernels that can compute all of these aggregates: of those to choose from, or the wanted one."""
    if wanted is None:
        return [BY_NAME[name] for name in choice if all(map(BY_NAME[name].allows, aggregates))]
    if wanted not in ALIASES:
        return [kernel_named(wanted, aggregates)]
    fitting = allowed_kernels(aggregates, choice=ALIASES[wanted])
    if not fitting:
        others = ", ".join(other.name for other in allowed_kernels(aggregates, choice=BY_NAME))
        raise ValueError(f"No “{wanted}” kernel can compute {', '.join(sorted(aggregates))}: use {others}.")
    return fitting


def cheapest_kernel(
    kernels: Iterable[Kernel], windows: Collection[Window], edge_rate: float
) -> tuple[Kernel, float]:
    """The kernel with the least Ω for these windows, and that Ω; the first listed of several equal ones."""
    fitting = fitting_kernels(kernels, windows)
    omegas = [kernel.omega(windows, edge_rate) for kernel in fitting]
    least = min(omegas)
    return fitting[omegas.index(least)], least


def fitting_kernels(kernels: Iterable[Kernel], windows: Collection[Window]) -> list[Kernel]:
    """Those that can answer so many windows; refused where there is none."""
    fitting = [kernel for kernel in kernels if kernel.many or len(windows) == 1]
    if not fitting:
        raise ValueError("The kernel answers one window alone: choose one that shares, such as flatfit.")
    return fitting
