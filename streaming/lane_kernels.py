"""The kernels of a lane: which windows they have been asked for, and windows ahead of the final ones."""

from collections.abc import Iterable, Sequence

import numpy as np

from optimizer.windows import Window
from streaming.kernels import SliceRing, batched, traits_of
from streaming.kernels.run.batched import NONE_DUE, Batched
from streaming.kernels.slickdeque_noninv import BatchedDeques


class ColumnKernels:
    """What answers from one column: the planned kernel, and one beside it that looks ahead of the finals."""

    def __init__(self, kernel: str, ring: SliceRing) -> None:
        self._kernel = kernel
        self._ring = ring
        self._final: dict[Window | None, Batched | BatchedDeques] = {}
        self._windows: dict[Window, int] = {}  # by window, its query number
        rewinds = traits_of(kernel).rewinds
        # A window that is not final yet lies ahead of the final ones: most kernels cannot go back after it.
        self._ahead = None if rewinds else batched("b_int", ring, [1])

    @property
    def steps(self) -> int:
        kernels = [*self._final.values(), *([self._ahead] if self._ahead else [])]
        return round(sum(kernel.operations for kernel in kernels) * self._ring.groups)

    def finals(self, dues: Sequence[tuple[Window, int, int]]) -> list[np.ndarray]:
        """Answers (columns, groups) of `(window, newest slice, low)`, by slices; takes all new slices in."""
        self._know(window for window, _, _ in dues)
        answers: dict[int, np.ndarray] = {}
        for key, kernel in self._final.items():
            chosen = [at for at, (window, _, _) in enumerate(dues) if key is None or window == key]
            table = np.array(
                [
                    (dues[at][1], dues[at][2], 1, self._windows[dues[at][0]] if key is None else 0, place)
                    for place, at in enumerate(chosen)
                ],
                np.int64,
            ).reshape(-1, 5)
            table = table[np.lexsort((table[:, 1], table[:, 0]))]
            found = kernel.advance(table)
            answers.update((at, found[:, place].copy()) for place, at in enumerate(chosen))
        if self._ahead is not None:
            self._ahead.advance(NONE_DUE)
        return [answers[at] for at in range(len(dues))]

    def ahead(self, lows: Sequence[int]) -> list[np.ndarray]:
        """The aggregates of slices `low` to the newest, for lows in ascending order."""
        kernel = self._ahead or self._final.get(None)
        if kernel is None:
            self._know([Window(1, 1)])
            kernel = self._final[None]
        newest = self._ring.next - 1
        table = np.array([(newest, low, 1, 0, place) for place, low in enumerate(lows)], np.int64)
        found = kernel.advance(table.reshape(-1, 5))
        return [found[:, place].copy() for place in range(len(lows))]

    def _know(self, windows: Iterable[Window]) -> None:
        """Make room for windows that were not asked for before."""
        for window in windows:
            if window in self._windows:
                continue
            self._windows[window] = len(self._windows)
            if traits_of(self._kernel).many:
                spans = [kernel.spans for kernel in self._final.values()]
                self._final[None] = batched(self._kernel, self._ring, [*(spans[0] if spans else []), 1])
            else:
                self._final[window] = batched(self._kernel, self._ring, [1])
