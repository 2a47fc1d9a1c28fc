"""Greatest value."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_any


class Max(NamedTuple):
    """The greatest value; NaN, which is no value of an order, where there is none."""

    name = "max"
    dtype = np.float64
    identity = (np.nan,)
    commutative = True
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        return (older[0] if (older[0] > newer[0]) | (newer[0] != newer[0]) else newer[0],)


maximum = Aggregate(
    "max",
    (Max(),),
    lambda value: ((value,),),
    lambda values, state: where_any(values, state[0]),
    lift_column=lambda values, times: ((values,),),
)
