"""How a window's past is laid out: segments of full detail, and levels of thinned ones above them.

A segment holds some hundreds of results of each group: short enough to be written anew every minute, long
enough to be read fast. Every segment lies within one segment of the level above.
"""

from collections.abc import Iterator
from itertools import pairwise

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

FULL = 0
THINNED = {MINUTE: 6 * HOUR, 10 * MINUTE: 2 * DAY, HOUR: 14 * DAY}  # span: length of a segment
FULL_LENGTHS = (5 * MINUTE, 30 * MINUTE, HOUR, 6 * HOUR, 2 * DAY, 14 * DAY)
RESULTS_IN_SEGMENT = 240  # of one group, at least
WORTH_THINNING = 5  # results in a span, of which two are kept


def length(level: int, slide: int) -> int:
    """Of a segment, in ms.

    >>> [length(FULL, slide) // MINUTE for slide in (1_000, 10_000, 60_000, 3_600_000)]
    [5, 60, 360, 20160]
    """
    if level:
        return THINNED[level]
    long_enough = (each for each in FULL_LENGTHS if each >= RESULTS_IN_SEGMENT * slide)
    return next(long_enough, FULL_LENGTHS[-1])


def levels(slide: int) -> list[int]:
    """Those of a window, from full detail to the coarsest.

    >>> levels(10_000), levels(60_000), levels(3_600_000)
    ([0, 60000, 600000, 3600000], [0, 600000, 3600000], [0])
    """
    return [FULL, *(span for span in THINNED if span >= WORTH_THINNING * slide)]


def pairs(slide: int) -> Iterator[tuple[int, int]]:
    """Each level with the one above it, finest first."""
    yield from pairwise(levels(slide))


def segment_start(end: int, level: int, slide: int) -> int:
    size = length(level, slide)
    return end // size * size
