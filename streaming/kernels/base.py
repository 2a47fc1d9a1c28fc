"""One small protocol for kernels: slices go in one by one, answers over the last of them come out.

Slices are numbered 0, 1, 2, … per lane. A kernel works on rows: one number per group, all groups of a
shard at once. What a kernel holds is derived from the slices and can be built anew by pushing them again.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

Rows = Callable[[int], np.ndarray]  # the row of a slice that is still kept, by its number


class Kernel(Protocol):
    steps: int  # operations done so far, one per group touched

    def push(self, number: int, row: np.ndarray) -> None:
        """Take the next slice's row; its width is the number of groups known by now."""

    def answer(self, query: str, low: int, width: int) -> np.ndarray:
        """The aggregate of slices `low` to the newest, for a query whose `low` never goes back."""

    def peek(self, query: str, low: int, width: int) -> np.ndarray:
        """The same without moving the query on: for windows that are not yet final."""

    def evict(self, low: int) -> None:
        """No answer will reach below slice `low` any more."""
