"""The best factor window where answers must not overlap: for all aggregates (FACTOR algorithms 4 and 5)."""

from collections.abc import Collection, Sequence
from fractions import Fraction

from optimizer.coverage import is_partitioned_by
from optimizer.factor_windows.candidates import common_slide
from optimizer.factor_windows.costs import WindowCosts
from optimizer.windows import Window


def best_partitioning(
    source: Window | None, downstream: Sequence[Window], taken: Collection[Window], costs: WindowCosts
) -> Window | None:
    """The tumbling window not yet `taken` that saves most between a source (None: the events) and these.

    Every candidate divides the longest one, which therefore is the only one that algorithm 5 does not remove
    as dependent; and a longer one is always the more beneficial, so where it fails, all do. Algorithm 5 as
    printed takes the gcd of the ranges alone; theorem 4 needs the slides as well.
    """
    length = common_slide(downstream)
    longest = Window(length, length, downstream[0].offset % length)
    if longest in taken or (source is not None and not is_partitioned_by(longest, source)):
        return None
    return longest if is_beneficial(longest, source, downstream, costs) else None


def is_beneficial(
    factor: Window, source: Window | None, downstream: Sequence[Window], costs: WindowCosts
) -> bool:
    """Whether a tumbling factor window costs no more than it saves (eq. 8, of which algorithm 4 lists cases).

    Unlike the list it also holds for fewer than one event per tick, and for a downstream window that
    recurs once in the period, where the printed fraction divides by zero.
    """
    read_per_span = costs.per_span(factor, source)  # the paper's r_f / r_W
    shares = (costs.recurrences(window) * Fraction(window.range, costs.period) for window in downstream)
    weight = sum(shares, Fraction(0))  # the paper's λ (eq. 4)
    return read_per_span * (weight - 1) >= weight
