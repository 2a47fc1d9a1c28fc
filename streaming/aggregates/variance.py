"""Variance: of a sample as SQL's `variance`, and of a whole population."""

from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate
from streaming.aggregates.exact_arithmetic import quotient
from streaming.aggregates.gathering import Columns


class Moments(NamedTuple):
    """(n, mean, sum of squared distances from it). Chan, Golub, LeVeque: Updating formulae, 1979."""

    name = "moments"
    dtype = np.float64
    identity = (0.0, 0.0, 0.0)
    commutative = True
    # On paper there is one; but an outlier that is taken off leaves its rounding in the squares for good.
    inverse = "none"
    selective = False
    idempotent = False
    running_identity = ()

    def combine(self, older, newer):
        count = older[0] + newer[0]
        share = quotient(newer[0], count if count > 0.0 else 1.0)
        apart = newer[1] - older[1] if (older[0] > 0.0) & (newer[0] > 0.0) else 0.0
        mean = (older[1] if older[0] > 0.0 else newer[1]) + apart * share
        return (count, mean, older[2] + newer[2] + apart * apart * older[0] * share)


def as_moments(value: Any) -> tuple[State, ...]:
    return ((1.0, value, value - value),)  # infinite and NaN values have no distance


def as_moments_each(values: np.ndarray, times: np.ndarray) -> tuple[Columns, ...]:
    with np.errstate(invalid="ignore"):
        return ((np.ones_like(values), values, values - values),)


def sample_variance(values, state):
    enough = np.asarray(values) > 1
    return np.where(enough, state[2] / np.where(enough, state[0] - 1.0, 1.0), np.nan)[()]


def population_variance(values, state):
    enough = np.asarray(values) > 0
    return np.where(enough, state[2] / np.where(enough, state[0], 1.0), np.nan)[()]


variance = Aggregate("variance", (Moments(),), as_moments, sample_variance, lift_column=as_moments_each)
variance_population = Aggregate(
    "variance_population", (Moments(),), as_moments, population_variance, lift_column=as_moments_each
)
