"""Element by element: one partial in, the due answers out. For reading, teaching and the papers' counts.

>>> from streaming.aggregates.max import Max
>>> from streaming.kernels.flatfit import FlatFit
>>> kernel = Element(FlatFit, Max(), [5])
>>> [kernel.push((value,))[0][0] for value in (2, 4, 0, 3, 7, 6, 1, 8, 9, 5)]
[2, 4, 4, 4, 7, 7, 7, 8, 9, 9]
>>> kernel.operations
21
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from streaming.aggregates.algebra import Algebra, State
from streaming.kernels.base import drive
from streaming.kernels.run.workbench import workbench


class Element:
    """A kernel over one group. Ranges are numbers of slices; or say with each push what is due."""

    def __init__(self, kernel: Any, algebra: Algebra, ranges: Sequence[int]) -> None:
        self.ranges = list(ranges)
        self.kernel = kernel.new(self.ranges, 0, algebra.commutative, True)
        self.bench = workbench(algebra, self.kernel.rows(), self.kernel.traits.running)
        self._next = 0

    @property
    def operations(self) -> int:
        return self.bench.operations

    def push(self, partial: State, lows: Sequence[int | None] | None = None) -> list[State]:
        """Take a partial and answer; `lows` are the first slices of the queries' windows, None: not due."""
        number = self._next
        if lows is None:
            lows = [number - length + 1 for length in self.ranges]
        dues = [(low, query) for query, low in enumerate(lows) if low is not None]
        self.bench.slices[number] = partial
        self.bench.slices.pop(number - 2 * max(self.ranges) - 1, None)  # a query that lags lets old ones go
        if hasattr(self.kernel, "forget"):
            self.kernel.forget(number - 2 * max(self.ranges))
        rows = [(number, low, 1, query, query) for low, query in sorted(dues)]  # longest first
        drive.py_func(
            self.kernel, self.bench, number, 1, np.array(rows, np.int64).reshape(-1, 5), np.zeros(2, np.int64)
        )
        self._next += 1
        return [self.bench.answers[query] for _, query in sorted(dues, key=lambda due: due[1])]

    def amend(self, number: int, partial: State) -> None:
        """A late partial: fold it into the slice that it belongs to."""
        bench = self.bench
        bench.slices[number] = bench.algebra.combine(bench.slice(number), partial)
        if not self.kernel.amend(bench, number, self._next - 1):
            self.rebuild()

    def rebuild(self) -> None:
        """Make the kernel anew from the slices."""
        bench = self.bench
        first = self._next - max(self.ranges)
        self.kernel = type(self.kernel).new(self.ranges, first, bench.algebra.commutative)
        bench.store[:] = workbench(bench.algebra, self.kernel.rows(), self.kernel.traits.running).store
        none_due = np.zeros((0, 5), np.int64)
        drive.py_func(self.kernel, bench, first, self._next - first, none_due, np.zeros(2, np.int64))
