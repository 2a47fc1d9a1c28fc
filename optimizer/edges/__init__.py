"""Edges: how many slices a set of windows needs, counted exactly."""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

from optimizer.durations import UNITS_MS
from optimizer.edges.bit_set import bit_set
from optimizer.edges.classes import EdgeClass, coarsened, composite_slide, without_contained
from optimizer.edges.coprime_split import coprime_split
from optimizer.edges.f1 import f1

EdgeCounter = Callable[[Iterable[EdgeClass]], int]
METHODS: list[EdgeCounter] = [bit_set, f1, coprime_split]

FEW_CLASSES = 6  # up to here F1 has at most 63 terms and is the fastest


def count_edges(classes: Collection[EdgeClass]) -> tuple[int, int]:
    """Distinct edges in the composite slide, and its length in ticks.

    >>> count_edges([(9000, 0), (9000, 3000), (6000, 0), (6000, 4000)])
    (8, 18000)
    """
    coarse = coarsened(classes)
    pattern = without_contained(coarse)
    # Contained classes may take factors of the span with them: the pattern then repeats within it.
    repeats = composite_slide(coarse) // composite_slide(pattern)
    return _count(pattern) * repeats, composite_slide(classes)


@lru_cache(maxsize=1 << 14)  # weaving asks for the same sets again and again
def _count(pattern: tuple[EdgeClass, ...]) -> int:
    return f1(pattern) if len(pattern) <= FEW_CLASSES else coprime_split(pattern)


def edge_rate(classes: Collection[EdgeClass]) -> float:
    """Edges per second of event time (the papers' E)."""
    edges, span = count_edges(classes)
    return edges * UNITS_MS["s"] / span
