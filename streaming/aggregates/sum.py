"""Sum of the values."""

from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.exact_arithmetic import two_sum
from streaming.aggregates.gathering import Columns, Sums
from streaming.compiled import jitable

LEAST_TRUST = 1e-15  # of a running sum: by how much of itself it may be off


class Sum(NamedTuple):
    """Sums of floats. A running one is (total, what rounding lost of it, how much of that may be lost again).

    It does not drift, and keeps no trace of a large value that has left: where the last of the three grows
    too large for what remains, the sum is made anew from its slices.
    """

    name = "sum"
    dtype = np.float64
    identity = (0.0,)
    commutative = True
    inverse = "rounded"
    selective = False
    idempotent = False
    running_identity = (0.0, 0.0, 0.0)

    def combine(self, older, newer):
        return (older[0] + newer[0],)

    def enter(self, running, partial):
        return _added(running, partial[0])

    def leave(self, running, partial):
        return _added(running, -partial[0])

    def settle(self, running):
        # A total that is infinite or no number says so; what rounding lost is no number beside it.
        return (running[0] + running[1] if running[0] - running[0] == 0.0 else running[0],)

    def intact(self, running):
        total = running[0] + running[1]
        return running[2] <= LEAST_TRUST * abs(total)  # false for infinities and NaN as well


@jitable
def _added(running, value):
    total, lost = two_sum(running[0], value)
    known, forgotten = two_sum(running[1], lost)
    return (total, known, running[2] + abs(forgotten))


def as_sum(value: Any) -> tuple[State, ...]:
    return ((value,),)


def as_sums(values: np.ndarray, times: np.ndarray) -> tuple[Columns, ...]:
    return ((values,),)


total = Aggregate(
    "sum",
    (Sum(),),
    as_sum,
    lambda values, state: where_any(values, state[0]),
    lift_column=as_sums,
    gatherings=(Sums(),),
)
