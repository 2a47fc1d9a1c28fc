"""Schedule: what a tree does at each of its edges, produced one edge at a time.

A composite slide can hold millions of edges. Nothing is laid out in advance: memory follows the spans that
are open at one instant, time follows the edges that are asked for.
"""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace

from optimizer.windows import Window


@dataclass(frozen=True)
class Closing:
    """A window with a span that ends at an edge, and how many slices that span holds."""

    window: Window
    partials: int


@dataclass(frozen=True)
class Edge:
    """An instant at which a slice ends."""

    instant: int
    length: int  # of the slice that ends here, in ticks
    closing: tuple[Closing, ...]  # in order of window


class Schedule:
    """The edges that windows have as one tree, from any instant on."""

    def __init__(self, windows: Collection[Window]) -> None:
        if not windows:
            raise ValueError("A schedule needs at least one window.")
        self._windows = sorted(set(windows))

    def edges_from(self, instant: int) -> Iterator[Edge]:
        """All edges later than `instant`, in order and without end.

        >>> tree = Schedule([Window(12, 9), Window(10, 6)])
        >>> edges = tree.edges_from(0)
        >>> [(edge.instant, edge.length) for edge, _ in zip(edges, range(4))]
        [(3, 3), (4, 1), (6, 2), (9, 3)]
        """
        # Spans that are open at the instant count their slices from their starts, so the walk begins there.
        begin = min(window.first_end_after(instant) - window.range for window in self._windows)
        started: list[deque[tuple[int, int]]] = [deque() for _ in self._windows]  # starts, edges until then
        previous = begin
        for edges, (now, starting, ending) in enumerate(self._bounds_from(begin), 1):
            closing = []
            for position in ending:
                window = self._windows[position]
                if started[position] and started[position][0][0] == now - window.range:
                    closing.append(Closing(window, edges - started[position].popleft()[1]))
            for position in starting:
                started[position].append((now, edges))
            if now > instant:
                yield Edge(now, now - previous, tuple(closing))
            previous = now

    def partials(self, window: Window, end: int) -> int:
        """How many slices the span of this window that ends at `end` holds.

        >>> Schedule([Window(12, 9), Window(10, 6)]).partials(Window(12, 9), 21)
        5
        """
        if window not in self._windows or window.last_end_until(end) != end:
            raise ValueError(f"No span of {window} ends at {end} in this schedule.")
        start = end - window.range
        return next(count for count, (now, _, _) in enumerate(self._bounds_from(start + 1), 1) if now == end)

    def _bounds_from(self, instant: int) -> Iterator[tuple[int, list[int], list[int]]]:
        """Instants from `instant` on at which spans start or end, and the positions of those windows."""
        ahead: list[tuple[int, int, bool]] = []  # next bound, position of its window, whether spans end there
        for position, window in enumerate(self._windows):
            next_end = window.first_end_after(instant - 1)
            next_start = instant + (window.offset - instant) % window.slide
            ahead += [(next_start, position, False), (next_end, position, True)]
        heapify(ahead)
        while True:
            now = ahead[0][0]
            bounds: tuple[list[int], list[int]] = [], []
            while ahead[0][0] == now:
                _, position, ends = ahead[0]
                bounds[ends].append(position)
                heapreplace(ahead, (now + self._windows[position].slide, position, ends))
            yield now, *bounds
