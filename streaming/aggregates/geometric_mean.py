"""Geometric mean of the values: 0 with a zero among them; there is none with a negative value among them."""

import math
from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.exact_arithmetic import two_sum


class LogSum(NamedTuple):
    """(sum of logarithms, zeros, negatives): what has no logarithm is counted, and can leave again."""

    name = "log_sum"
    dtype = np.float64
    identity = (0.0, 0.0, 0.0)
    commutative = True
    inverse = "rounded"
    selective = False
    idempotent = False
    running_identity = (0.0, 0.0, 0.0, 0.0)  # with what rounding lost of the sum

    def combine(self, older, newer):
        return (older[0] + newer[0], older[1] + newer[1], older[2] + newer[2])

    def enter(self, running, partial):
        logs, lost = two_sum(running[0], partial[0])
        return (logs, running[1] + lost, running[2] + partial[1], running[3] + partial[2])

    def leave(self, running, partial):
        logs, lost = two_sum(running[0], -partial[0])
        return (logs, running[1] + lost, running[2] - partial[1], running[3] - partial[2])

    def settle(self, running):
        logs = running[0] + running[1] if running[0] - running[0] == 0.0 else running[0]
        return (logs, running[2], running[3])

    def intact(self, running):
        logs = running[0] + running[1]
        return logs - logs == 0.0  # neither infinite nor NaN


def _lift(value: Any) -> tuple[State, ...]:
    if value == 0:
        return ((0.0, 1.0, 0.0),)
    if value < 0:
        return ((0.0, 0.0, 1.0),)
    return ((math.log(value), 0.0, 0.0),)


def _lower(values, state):
    logs, zeros, negatives = (np.asarray(part) for part in state)
    mean = np.exp(logs / np.maximum(values, 1))
    nothing = np.where(np.isfinite(logs), 0.0, np.nan)  # 0 · ∞ is no number
    return where_any(values, np.where(negatives > 0, np.nan, np.where(zeros > 0, nothing, mean)))


def _lift_column(values, times):
    # math.log's own results, so that a value is the same whichever way it came.
    logs = [0.0 if value <= 0 else math.log(value) for value in values.tolist()]
    return ((np.array(logs), (values == 0) * 1.0, (values < 0) * 1.0),)


geometric_mean = Aggregate("geometric_mean", (LogSum(),), _lift, _lower, lift_column=_lift_column)
