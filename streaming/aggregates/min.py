"""Least value."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_any


class Min(NamedTuple):
    """The least value; NaN, which is no value of an order, where there is none."""

    name = "min"
    dtype = np.float64
    identity = (np.nan,)
    commutative = True
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        return (older[0] if (older[0] < newer[0]) | (newer[0] != newer[0]) else newer[0],)


minimum = Aggregate(
    "min",
    (Min(),),
    lambda value: ((value,),),
    lambda values, state: where_any(values, state[0]),
    lift_column=lambda values, times: ((values,),),
)
