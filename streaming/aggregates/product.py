"""Product of the values."""

import math
from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate, where_any
from streaming.aggregates.exact_arithmetic import wide_product, wide_quotient
from streaming.compiled import jitable

FARTHEST = 5000  # exponents beyond are infinite or zero as a float anyway


class Product(NamedTuple):
    """(mantissa, its rest, exponent, zeros): (mantissa + rest) · 2^exponent, 1 ≤ |mantissa| < 2.

    The exponent apart: nothing overflows on the way. The rest: values leave without a trace. Zeros are only
    counted, so that they can leave at all.
    """

    name = "product"
    dtype = np.float64
    identity = (1.0, 0.0, 0.0, 0.0)
    commutative = True
    inverse = "rounded"
    selective = False
    idempotent = False
    running_identity = (1.0, 0.0, 0.0, 0.0)

    def combine(self, older, newer):
        return _times(older, newer)

    def enter(self, running, partial):
        return _times(running, partial)

    def leave(self, running, partial):
        plain = running[0] * partial[0]  # infinite or NaN where the state is past mending
        high, low = wide_quotient(running[0], running[1], partial[0], partial[1])
        return _normal(plain, high, low, running[2] - partial[2], running[3] - partial[3])

    def settle(self, running):
        return running

    def intact(self, running):
        return running[0] - running[0] == 0.0  # neither infinite nor NaN


@jitable
def _times(one, other):
    high, low = wide_product(one[0], one[1], other[0], other[1])
    return _normal(one[0] * other[0], high, low, one[2] + other[2], one[3] + other[3])


@jitable
def _normal(plain, high, low, exponent, zeros):
    """With the mantissa in its bounds; `plain` stands in for one that is infinite or NaN."""
    finite = plain - plain == 0.0
    size = abs(high)
    large, small = finite & (size >= 2.0), finite & (size < 1.0)
    scale = 0.5 if large else (2.0 if small else 1.0)
    shift = 1.0 if large else (-1.0 if small else 0.0)
    return (high * scale if finite else plain, low * scale if finite else 0.0, exponent + shift, zeros)


def _lift(value: Any) -> tuple[State, ...]:
    if value == 0:
        return ((1.0, 0.0, 0.0, 1.0),)
    mantissa, exponent = math.frexp(value)
    if not math.isfinite(mantissa):
        return ((mantissa, 0.0, 0.0, 0.0),)
    return ((2.0 * mantissa, 0.0, exponent - 1.0, 0.0),)


def _lower(values, state):
    mantissa, rest, exponent, zeros = (np.asarray(part) for part in state)
    with np.errstate(over="ignore", under="ignore"):
        product = np.ldexp(mantissa + rest, np.clip(exponent, -FARTHEST, FARTHEST).astype(np.int64))
    nothing = np.where(np.isfinite(mantissa), 0.0, np.nan)  # 0 · ∞ is no number
    return where_any(values, np.where(zeros > 0, nothing, product))


def _lift_column(values, times):
    mantissa, exponent = np.frexp(values)
    plain = np.isfinite(values) & (values != 0)
    one = np.where(plain, 2.0 * mantissa, np.where(values == 0, 1.0, values))
    return ((one, np.zeros_like(values), np.where(plain, exponent - 1.0, 0.0), (values == 0) * 1.0),)


product = Aggregate("product", (Product(),), _lift, _lower, lift_column=_lift_column)
