"""Bit Set (SHEIN 5.2.1): mark every edge of the composite slide and count the marks."""

from collections.abc import Iterable

import numpy as np

from optimizer.edges.classes import EdgeClass, composite_slide

LONGEST_SPAN = 1 << 30  # ticks; one byte each


def bit_set(classes: Iterable[EdgeClass]) -> int:
    """Distinct edges in one composite slide, in time and memory that follow its length.

    >>> bit_set([(3, 0), (4, 0), (4, 3), (6, 0), (6, 2), (9, 0)])
    27
    """
    distinct = set(classes)
    span = composite_slide(distinct)
    if span > LONGEST_SPAN:
        raise ValueError(f"A composite slide of {span} ticks is too long for a bit set: count by F1.")
    marks = np.zeros(span, dtype=np.bool_)
    for period, residue in distinct:
        marks[residue::period] = True
    return int(np.count_nonzero(marks))
