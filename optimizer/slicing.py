"""Slicing: where the partial aggregates of a single window are cut (SHEIN 2.3.1, Table 1)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from optimizer.windows import Window


@dataclass(frozen=True)
class Slicing:
    """The slices of one window: a pattern of lengths that fills its slide, from the start of a span on."""

    pattern: tuple[int, ...]  # ticks
    repeats: int  # how many times the pattern follows itself within one slide
    partials: int  # how many slices, whole or in the making, answer one span


def panes(window: Window) -> Slicing:
    """Slices of one length, the longest with which all spans start and end on a cut.

    >>> panes(Window(14, 8))
    Slicing(pattern=(2,), repeats=4, partials=7)
    """
    length = gcd(window.range, window.slide)
    return Slicing((length,), window.slide // length, window.range // length)


def pairs(window: Window) -> Slicing:
    """Slices cut where a span starts or ends: two in a slide, or one where both fall together.

    >>> pairs(Window(14, 8))
    Slicing(pattern=(6, 2), repeats=1, partials=3)
    """
    # SHEIN 2.3.1 prints 2 before 6 for this window, counted from the end of a span: its r mod s is the 6.
    slides, first = divmod(window.range, window.slide)
    if not first:
        return Slicing((window.slide,), 1, slides)
    return Slicing((first, window.slide - first), 1, 2 * slides + 1)


def cutty(window: Window) -> Slicing:
    """Slices cut only where a span starts; a span that ends within a slice takes what is in it so far.

    >>> cutty(Window(14, 8))
    Slicing(pattern=(8,), repeats=1, partials=2)
    """
    return Slicing((window.slide,), 1, -(-window.range // window.slide))


SLICINGS: dict[str, Callable[[Window], Slicing]] = {"panes": panes, "pairs": pairs, "cutty": cutty}
