"""Greatest value."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_ordered


class Max(NamedTuple):
    name = "max"
    dtype = np.float64
    identity = (-np.inf,)
    commutative = True
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        return (older[0] if older[0] > newer[0] else newer[0],)


maximum = Aggregate(
    "max",
    (Max(),),
    lambda value: ((value,) if value == value else Max.identity,),
    # A window of nothing but −∞ looks like one of nothing but NaN, and has no answer either.
    lambda values, state: where_ordered(values, state[0], state[0] != -np.inf),
    lift_column=lambda values, times: ((np.where(values == values, values, -np.inf),),),
)
