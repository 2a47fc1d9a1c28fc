"""Oldest value."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_any


class First(NamedTuple):
    """(value, 1), or (0, 0) without one."""

    name = "first"
    dtype = np.float64
    identity = (0.0, 0.0)
    commutative = False
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        kept = older[1] > 0.0
        return (older[0] if kept else newer[0], older[1] if kept else newer[1])


first = Aggregate(
    "first",
    (First(),),
    lambda value: ((value, 1.0),),
    lambda values, state: where_any(values, state[0]),
)
