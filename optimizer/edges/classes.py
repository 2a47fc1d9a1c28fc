"""Edge classes: the instants `residue + k·period` at which slices must end, as pairs of integers."""

from collections.abc import Iterable
from math import gcd, lcm

EdgeClass = tuple[int, int]  # (period, residue) in ticks, 0 ≤ residue < period; the papers' slide and shift


def composite_slide(classes: Iterable[EdgeClass]) -> int:
    """The span after which all edges repeat: the least common multiple of the periods.

    >>> composite_slide([(4, 0), (6, 2)])
    12
    """
    return lcm(*(period for period, _ in classes))


def intersection(one: EdgeClass, other: EdgeClass) -> EdgeClass | None:
    """The instants in both classes, again a class, or None where they never meet.

    >>> intersection((3, 0), (6, 3)), intersection((3, 0), (6, 2))
    ((6, 3), None)
    """
    (period, residue), (other_period, other_residue) = one, other
    shared = gcd(period, other_period)
    if (other_residue - residue) % shared:  # the overlap check, SHEIN eq. 5.6
        return None
    step = other_period // shared
    turns = (other_residue - residue) // shared * pow(period // shared, -1, step) % step
    return period * step, residue + period * turns


def contains(outer: EdgeClass, inner: EdgeClass) -> bool:
    """Whether every instant of `inner` is one of `outer`: (3, 0) contains (6, 3)."""
    return inner[0] % outer[0] == 0 and inner[1] % outer[0] == outer[1]


def without_contained(classes: Iterable[EdgeClass]) -> tuple[EdgeClass, ...]:
    """The classes that add instants of their own, in order of period and residue."""
    kept: dict[EdgeClass, None] = {}
    periods: list[int] = []
    for period, residue in sorted(set(classes)):  # a class can only be contained in one of a shorter period
        if not any(period % shorter == 0 and (shorter, residue % shorter) in kept for shorter in periods):
            kept[period, residue] = None
            if not periods or periods[-1] != period:
                periods.append(period)
    return tuple(kept)


def coarsened(classes: Iterable[EdgeClass]) -> tuple[EdgeClass, ...]:
    """The same pattern of instants on the coarsest tick that holds it, from the first residue on.

    >>> coarsened([(60_000, 5_000), (90_000, 35_000)])
    ((2, 0), (3, 1))
    """
    ordered = sorted(set(classes))
    if not ordered:
        return ()
    origin = ordered[0][1]
    tick = gcd(*(period for period, _ in ordered), *(residue - origin for _, residue in ordered))
    return tuple((period // tick, (residue - origin) % period // tick) for period, residue in ordered)
