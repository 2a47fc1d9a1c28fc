"""Count: how many events, or how many values of a field that are not null."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.algebra import Algebra
from streaming.aggregates.base import Aggregate


class Count(NamedTuple):
    """Numbers of things. Floats count exactly up to 2⁵³, and so share columns with other states."""

    name = "count"
    dtype = np.float64
    identity = (0.0,)
    commutative = True
    inverse = "exact"
    selective = False
    idempotent = False
    running_identity = (0.0,)

    def combine(self, older, newer):
        return (older[0] + newer[0],)

    def enter(self, running, partial):
        return (running[0] + partial[0],)

    def leave(self, running, partial):
        return (running[0] - partial[0],)

    def settle(self, running):
        return running

    def intact(self, running):
        return True


COUNT: Algebra = Count()

# Values are counted beside every aggregate, so a count needs no part of its own.
count = Aggregate("count", (), lambda value: (), lambda values: values, takes="anything")
