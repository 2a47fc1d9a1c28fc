"""Coverage: which windows can be computed from the answers of another window (FACTOR theorems 1 to 4).

A window is covered by another where each of its spans is the union of the other's spans inside it, and
partitioned where those do not overlap. Spans run through all of time, so an offset matters only by where it
falls in the other's slide: both windows must start on the same beat.
"""

from dataclasses import replace

from optimizer.windows import Window


def is_covered_by(window: Window, other: Window) -> bool:
    """Whether each span of `window` is a union of spans of `other` (theorem 1, with offsets).

    Definition 1 asks for a longer range, or for the same window; an equal range with a finer slide does as
    well, for then each span of `window` is one of the other's.

    >>> is_covered_by(Window(10, 2), Window(8, 2)), is_covered_by(Window(10, 2), Window(8, 4))
    (True, False)
    """
    return (
        window.range >= other.range
        and window.slide % other.slide == 0
        and (window.range - other.range) % other.slide == 0
        and (window.offset - other.offset) % other.slide == 0
    )


def is_partitioned_by(window: Window, other: Window) -> bool:
    """Whether each span of `window` is a union of spans of `other` that do not overlap (theorem 4).

    >>> is_partitioned_by(Window(10, 2), Window(8, 2)), is_partitioned_by(Window(10, 2), Window(2, 2))
    (False, True)
    """
    tumbling = other.range == other.slide
    return (tumbling or window.range == other.range) and is_covered_by(window, other)


def covering_multiplier(window: Window, other: Window) -> int:
    """How many answers of `other` make one answer of `window` (theorem 3).

    >>> covering_multiplier(Window(10, 2), Window(8, 2))
    2
    """
    if not is_covered_by(window, other):
        raise ValueError(f"{window} is not covered by {other}: compute it from the events.")
    return 1 + (window.range - other.range) // other.slide


def normalised(window: Window) -> Window:
    """The one window among those with the same spans whose offset is within its slide."""
    return replace(window, offset=window.offset % window.slide)
