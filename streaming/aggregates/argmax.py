"""The argument (a time, a number of another field) of the greatest value; of equal values the oldest's."""

from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate, where_ordered


class ArgMax(NamedTuple):
    """(greatest value, its argument, 1), or no values: a value that is less than all, 0, 0."""

    name = "argmax"
    dtype = np.float64
    identity = (-np.inf, 0.0, 0.0)
    commutative = False  # of equal values the oldest is kept
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        kept = (older[2] > 0.0) & (older[0] >= newer[0])
        return (
            older[0] if kept else newer[0],
            older[1] if kept else newer[1],
            older[2] if kept else newer[2],
        )


def _lift(pair: Any) -> tuple[State, ...]:
    value, argument = pair
    return ((value, argument, 1.0) if value == value else ArgMax.identity,)


argmax = Aggregate(
    "argmax",
    (ArgMax(),),
    _lift,
    lambda values, state: where_ordered(values, state[1], np.asarray(state[2]) > 0),
    takes="pairs",
)
