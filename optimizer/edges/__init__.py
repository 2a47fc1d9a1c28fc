"""Edges: how many slices a set of windows needs, counted exactly."""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

from optimizer.durations import UNITS_MS
from optimizer.edges.bit_set import bit_set
from optimizer.edges.classes import EdgeClass, coarsened, composite_slide, without_contained
from optimizer.edges.coprime_split import coprime_split
from optimizer.edges.f1 import f1, general_f1

EdgeCounter = Callable[[Iterable[EdgeClass]], int]
METHODS: dict[str, EdgeCounter] = {
    "bit_set": bit_set,
    "f1": f1,  # refuses windows with fragments
    "general_f1": general_f1,
    "coprime_split": coprime_split,
}


def count_edges(classes: Collection[EdgeClass], method: str = "coprime_split") -> tuple[int, int]:
    """Distinct edges in the composite slide, and its length in ticks.

    >>> count_edges([(9000, 0), (9000, 3000), (6000, 0), (6000, 4000)])
    (8, 18000)
    """
    if method not in METHODS:
        raise ValueError(f"No way to count edges is called “{method}”: use one of {', '.join(METHODS)}.")
    coarse = coarsened(classes)
    pattern = without_contained(coarse)
    # Contained classes may take factors of the span with them: the pattern then repeats within it.
    repeats = composite_slide(coarse) // composite_slide(pattern)
    return _counted(pattern, method) * repeats, composite_slide(classes)


@lru_cache(maxsize=1 << 14)  # weaving asks for the same sets again and again
def _counted(pattern: tuple[EdgeClass, ...], method: str) -> int:
    return METHODS[method](pattern)


def edge_rate(classes: Collection[EdgeClass]) -> float:
    """Edges per second of event time (the papers' E)."""
    return pattern_rate(without_contained(classes))


def pattern_rate(pattern: Collection[EdgeClass]) -> float:
    """Edges per second of classes of which none is inside another."""
    return _counted(coarsened(pattern), "coprime_split") * UNITS_MS["s"] / composite_slide(pattern)
