"""General Formula F1 (SHEIN 5.2): distinct edges by inclusion and exclusion over overlapping classes.

Subsets with the same overlap are merged into one signed term as soon as they arise, so the work follows the
number of distinct overlaps and not the 2^n subsets of the printed formula.
"""

from collections import Counter
from collections.abc import Iterable

from optimizer.edges.classes import EdgeClass, composite_slide, intersection


def f1(classes: Iterable[EdgeClass]) -> int:
    """Distinct edges in one composite slide.

    >>> f1([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)])
    44
    """
    distinct = sorted(set(classes))
    signed: Counter[EdgeClass] = Counter()
    for added in distinct:
        overlaps = Counter({added: 1})
        for term, sign in signed.items():
            overlap = intersection(term, added)
            if overlap:
                overlaps[overlap] -= sign
        for overlap, sign in overlaps.items():
            signed[overlap] += sign
            if not signed[overlap]:
                del signed[overlap]
    span = composite_slide(distinct)
    return sum(sign * (span // period) for (period, _), sign in signed.items())


def alternating_terms(classes: Iterable[EdgeClass]) -> list[int]:
    """The formula's terms LCM·G(n, i) as printed, one for each subset size i that still overlaps.

    >>> alternating_terms([(2, 0), (3, 0), (4, 0), (5, 0), (6, 0)])
    [87, 70, 36, 10, 1]
    """
    distinct = sorted(set(classes))
    subsets: Counter[tuple[EdgeClass, int]] = Counter()  # how many subsets of a size have this overlap
    for added in distinct:
        for (term, size), count in list(subsets.items()):
            overlap = intersection(term, added)
            if overlap:
                subsets[overlap, size + 1] += count
        subsets[added, 1] += 1
    span = composite_slide(distinct)
    terms: Counter[int] = Counter()
    for ((period, _), size), count in subsets.items():
        terms[size] += count * (span // period)
    return [terms[size] for size in sorted(terms)]
