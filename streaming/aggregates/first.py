"""Oldest value."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.gathering import Ordered


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


class GatheredFirst(NamedTuple):
    """With time and place of the event."""

    name = "gathered_first"
    dtype = np.float64
    identity = (0.0, 0.0, 0.0, 0.0)
    commutative = True
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        before = (older[2] < newer[2]) | ((older[2] == newer[2]) & (older[3] <= newer[3]))
        kept = (newer[1] == 0.0) | ((older[1] > 0.0) & before)
        return (
            older[0] if kept else newer[0],
            older[1] if kept else newer[1],
            older[2] if kept else newer[2],
            older[3] if kept else newer[3],
        )


first = Aggregate(
    "first",
    (First(),),
    lambda value: ((value, 1.0),),
    lambda values, state: where_any(values, state[0]),
    lift_column=lambda values, times: ((values, np.ones_like(values)),),
    gatherings=(Ordered(GatheredFirst()),),
)
