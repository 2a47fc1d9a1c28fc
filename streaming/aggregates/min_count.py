"""How many values share the least one."""

from typing import NamedTuple

import numpy as np

from streaming.aggregates.base import Aggregate, where_ordered


class MinCount(NamedTuple):
    """(least value, how many of it)."""

    name = "min_count"
    dtype = np.float64
    identity = (np.inf, 0.0)
    commutative = True
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    def combine(self, older, newer):
        return (
            older[0] if older[0] < newer[0] else newer[0],
            (older[1] if older[0] <= newer[0] else 0.0) + (newer[1] if newer[0] <= older[0] else 0.0),
        )


min_count = Aggregate(
    "min_count",
    (MinCount(),),
    lambda value: ((value, 1.0) if value == value else MinCount.identity,),
    lambda values, state: where_ordered(values, state[1], np.asarray(state[1]) > 0),
    lift_column=lambda values, times: (
        (np.where(values == values, values, np.inf), (values == values) * 1.0),
    ),
)
