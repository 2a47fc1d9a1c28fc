"""Newest value."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_any


class Last(NamedTuple):
    """(value, 1), or (0, 0) without one."""

    name = "last"
    dtype = np.float64
    identity = (0.0, 0.0)
    commutative = False
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        kept = newer[1] > 0.0
        return (newer[0] if kept else older[0], newer[1] if kept else older[1])


last = Aggregate(
    "last",
    (Last(),),
    lambda value: ((value, 1.0),),
    lambda values, state: where_any(values, state[0]),
)
