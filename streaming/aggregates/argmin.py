"""The argument (a time, a number of another field) of the least value; of equal values the oldest's."""

from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate, where_ordered
from streaming.aggregates.gathering import Ordered


class ArgMin(NamedTuple):
    """(least value, its argument, 1), or no values: a value that is greater than all, 0, 0."""

    name = "argmin"
    dtype = np.float64
    identity = (np.inf, 0.0, 0.0)
    commutative = False  # of equal values the oldest is kept
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        kept = (older[2] > 0.0) & (older[0] <= newer[0])
        return (
            older[0] if kept else newer[0],
            older[1] if kept else newer[1],
            older[2] if kept else newer[2],
        )


class GatheredArgMin(NamedTuple):
    """With time and place of the event."""

    name = "gathered_argmin"
    dtype = np.float64
    identity = (np.inf, 0.0, 0.0, 0.0, 0.0)
    commutative = True
    inverse = "none"
    selective = True
    idempotent = True
    running_identity = ()

    def combine(self, older, newer):
        before = (older[3] < newer[3]) | ((older[3] == newer[3]) & (older[4] <= newer[4]))
        better = (older[0] < newer[0]) | ((older[0] == newer[0]) & before)
        kept = (newer[2] == 0.0) | ((older[2] > 0.0) & better)
        return (
            older[0] if kept else newer[0],
            older[1] if kept else newer[1],
            older[2] if kept else newer[2],
            older[3] if kept else newer[3],
            older[4] if kept else newer[4],
        )


def _lift(pair: Any) -> tuple[State, ...]:
    value, argument = pair
    return ((value, argument, 1.0) if value == value else ArgMin.identity,)


def _lift_column(values, times):
    """The argument is the time of the event."""
    known = values == values
    return ((np.where(known, values, np.inf), np.where(known, times, 0.0), known * 1.0),)


argmin = Aggregate(
    "argmin",
    (ArgMin(),),
    _lift,
    lambda values, state: where_ordered(values, state[1], np.asarray(state[2]) > 0),
    takes="pairs",
    lift_column=_lift_column,
    gatherings=(Ordered(GatheredArgMin()),),
)
