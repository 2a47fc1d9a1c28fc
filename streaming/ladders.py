"""Windows made of the answers to another window, and those perhaps of a third one's: factor windows.

The answers to the window in between stand in rings of their own, as slices do, and kernels answer from
them. Like all that kernels keep they are derived: made anew from the slices when a plan or a restart asks.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from optimizer.windows import Window
from streaming.aggregates.base import Part
from streaming.kernels import SliceRing
from streaming.lane_kernels import Asked, Chain, ColumnKernels, Due, Wanted, spans

States = Sequence[np.ndarray]  # of each part: (columns, windows, groups)


class Rung:
    """The answers to one window, and the kernels that make longer windows of them."""

    def __init__(self, window: Window, parts: Sequence[Part], done: int) -> None:
        self.window = window
        self.done = done  # answers are there up to this end
        self._rings = [SliceRing(part.algebra) for part in parts]
        self._kernels: list[ColumnKernels] = []
        self._ends: list[int] = []  # of the answers that are kept

    def ask(self, kernels: Sequence[str], windows: Collection[Window]) -> None:
        """New kernels, for these windows."""
        most = {each: (each.range - self.window.range) // self.window.slide + 1 for each in windows}
        self._kernels = [
            ColumnKernels(name, ring, most) for name, ring in zip(kernels, self._rings, strict=True)
        ]

    @property
    def steps(self) -> int:
        return sum(kernels.steps for kernels in self._kernels)

    def due(self, until: int, starts: Sequence[int]) -> list[int]:
        """Ends up to `until` whose answers are missing, of windows that hold a slice; moves on."""
        found = list(self._ends_with_slices(until, starts))
        self.done = max(self.done, until)
        return found

    def _ends_with_slices(self, until: int, starts: Sequence[int]) -> Iterator[int]:
        at = 0
        end = self.window.first_end_after(self.done)
        while True:
            at = bisect_left(starts, end - self.window.range, at)
            if at == len(starts):
                return
            end = max(end, self.window.first_end_after(starts[at]))
            if end > until:
                return
            yield end
            end += self.window.slide

    def append(self, ends: Sequence[int], states: States) -> None:
        for ring, rows in zip(self._rings, states, strict=True):
            ring.append(rows)
        self._ends += ends

    def widen(self, width: int) -> None:
        for ring in self._rings:
            ring.widen(width)

    def finals(self, dues: Sequence[Due]) -> States:
        """Windows that are made of these answers."""
        starts, ends = spans(dues)
        firsts = starts + self.window.range  # where the first of these answers ends
        newest = [bisect_right(self._ends, end) - 1 for end in ends.tolist()]
        oldest = [bisect_left(self._ends, end) for end in firsts.tolist()]
        numbers = self._rings[0].first + np.array([newest, oldest], np.int64)
        asked = Asked(dues, *numbers)
        return [kernels.finals(asked) for kernels in self._kernels]

    def evict_before(self, instant: int) -> None:
        """Forget answers that no window reaches back to that starts at `instant` or later."""
        gone = bisect_left(self._ends, instant + self.window.range)
        del self._ends[:gone]
        for ring in self._rings:
            ring.evict_before(ring.first + gone)

    def fit(self) -> None:
        for ring in self._rings:
            ring.fit()


class Ladders:
    """All rungs of a lane, by the chain of windows that leads to them."""

    def __init__(self) -> None:
        self._rungs: dict[Chain, Rung] = {}

    @property
    def steps(self) -> int:
        return sum(rung.steps for rung in self._rungs.values())

    def ask(self, wanted: Wanted, kernels: Sequence[str]) -> None:
        """Let rungs answer other windows, by new kernels; those that nothing is made of go."""
        self._rungs = {chain: rung for chain, rung in self._rungs.items() if chain in wanted}
        for chain, rung in self._rungs.items():
            rung.ask(kernels, wanted[chain])

    def complete(self, chains: Collection[Chain], new: Callable[[Chain], Rung]) -> None:
        """Make the rungs that are missing, those that lead to others before these."""
        for chain in sorted(chains, key=len):
            if chain and chain not in self._rungs:
                self._rungs[chain] = new(chain)

    def after(self, chain: Chain) -> list[tuple[Chain, Rung]]:
        """The rungs that are made of this one's answers; of the slices for the empty chain."""
        return [(known, rung) for known, rung in self._rungs.items() if known[:-1] == chain]

    def rung(self, chain: Chain) -> Rung:
        return self._rungs[chain]

    def evict_before(self, instant: int) -> None:
        for rung in self._rungs.values():
            rung.evict_before(instant)

    def fit(self) -> None:
        for rung in self._rungs.values():
            rung.fit()
