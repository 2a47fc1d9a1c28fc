"""F1 (SHEIN 5.2): distinct edges by inclusion and exclusion over all groups of slides, as printed.

The plain formula (eq. 5.1) knows no shifts; the general one (eq. 5.7) adds the overlap check. Both are what
the other counts are measured against: their work doubles with every slide that is no multiple of another.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import gcd

from optimizer.edges.classes import EdgeClass, composite_slide, without_contained
from optimizer.edges.gcd_table import Gcd


def f1(classes: Iterable[EdgeClass], gcd: Gcd = gcd) -> int:
    """Distinct edges in one composite slide, by eq. 5.1: slides without fragments only.

    >>> f1([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)])
    44
    """
    distinct = set(classes)
    if any(residue for _, residue in distinct):
        raise ValueError("F1 without fragments knows no shifts: count these edges by the general F1.")
    span = composite_slide(distinct)
    slides = [period for period, _ in without_contained(distinct)]
    return sum(
        (-1) ** (size + 1) * sum(span // _lcm(group, gcd) for group in combinations(slides, size))
        for size in range(1, len(slides) + 1)
    )


def general_f1(classes: Iterable[EdgeClass], gcd: Gcd = gcd) -> int:
    """Distinct edges in one composite slide, by eq. 5.7.

    >>> general_f1([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    27
    """
    distinct = set(classes)
    span = composite_slide(distinct)
    kept = without_contained(distinct)
    return sum((-1) ** (size + 1) * (span // period) for size, period in _overlapping_groups(kept, gcd))


def alternating_terms(classes: Iterable[EdgeClass]) -> list[int]:
    """The formula's terms LCM·G(n, i) as its examples print them: contained slides are not left out first.

    >>> alternating_terms([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)])
    [87, 70, 36, 10, 1]
    """
    distinct = sorted(set(classes))
    span = composite_slide(distinct)
    terms: Counter[int] = Counter()
    for size, period in _overlapping_groups(distinct, gcd):
        terms[size] += span // period
    return [terms[size] for size in sorted(terms)]


def _overlapping_groups(classes: Sequence[EdgeClass], gcd: Gcd) -> Iterator[tuple[int, int]]:
    """Size and LCM of every group whose classes all overlap; a group that fails is not added to."""
    groups: list[tuple[tuple[EdgeClass, ...], int, int]] = [
        ((edge_class,), edge_class[0], position) for position, edge_class in enumerate(classes, 1)
    ]
    while groups:
        members, period, following = groups.pop()
        yield len(members), period
        for position in range(following, len(classes)):
            added = classes[position]
            if all(_overlap(member, added, gcd) for member in members):
                groups.append(((*members, added), _lcm((period, added[0]), gcd), position + 1))


def _overlap(one: EdgeClass, other: EdgeClass, gcd: Gcd) -> bool:
    """The overlap check, eq. 5.6."""
    return (one[1] - other[1]) % gcd(one[0], other[0]) == 0


def _lcm(periods: Sequence[int], gcd: Gcd) -> int:
    common = periods[0]
    for period in periods[1:]:
        common = common // gcd(common, period) * period
    return common
