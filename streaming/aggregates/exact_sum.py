"""Exact sum of whole numbers, or of decimals with a fixed number of places."""

from decimal import Context, Decimal, Inexact, InvalidOperation
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate

BITS = 62  # of the low part: two of them add up without overflow
LOW = (1 << BITS) - 1
GREATEST = 1 << 120  # of a value or a sum, in units of the last place

PLACES = Context(prec=60, traps=[Inexact, InvalidOperation])  # more than 2¹²⁰ has: nothing is ever rounded


class ExactSum(NamedTuple):
    """(high, low): high · 2⁶² + low, 0 ≤ low < 2⁶²."""

    name = "exact_sum"
    dtype = np.int64
    identity = (0, 0)
    commutative = True
    inverse = "exact"
    selective = False
    idempotent = False
    running_identity = (0, 0)

    def combine(self, older, newer):
        low = older[1] + newer[1]
        return (older[0] + newer[0] + (low >> BITS), low & LOW)

    def enter(self, running, partial):
        low = running[1] + partial[1]
        return (running[0] + partial[0] + (low >> BITS), low & LOW)

    def leave(self, running, partial):
        low = running[1] - partial[1]
        return (running[0] - partial[0] + (low >> BITS), low & LOW)

    def settle(self, running):
        return running

    def intact(self, running):
        return True


def _units(value: Any, scale: int) -> int:
    """The value in units of the last place."""
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(
            f"exact_sum is for whole numbers and decimals: {value!r} is a float with a fraction."
        )
    number = int(value) if isinstance(value, float | Integral) else value
    try:
        units = int(Decimal(number).quantize(Decimal(1).scaleb(-scale), context=PLACES).scaleb(scale, PLACES))
    except (Inexact, InvalidOperation, ValueError):
        units = GREATEST + 1
    if abs(units) > GREATEST:
        raise ValueError(f"exact_sum with {scale} decimal places cannot hold {value}.")
    return units


def exact_sum(scale: int = 0) -> Aggregate:
    """`scale`: how many decimal places values have at most. Answers are ints without any, else decimals."""

    def lift(value: Any) -> tuple[State, ...]:
        units = _units(value, scale)
        return ((units >> BITS, units & LOW),)

    def answer(values: int, high: int, low: int) -> int | Decimal | None:
        if not values:
            return None
        units = (int(high) << BITS) + int(low)
        return Decimal(units).scaleb(-scale, PLACES) if scale else units

    def lower(values, state):
        return np.frompyfunc(answer, 3, 1)(values, *state)

    def lift_column(values, times):
        if scale or not (np.abs(values) < 2.0**53).all() or (values != np.floor(values)).any():
            raise ValueError("Not all are whole numbers: one by one it is said of each.")
        units = values.astype(np.int64)
        return ((units >> BITS, units & LOW),)

    return Aggregate("exact_sum", (ExactSum(),), lift, lower, lift_column=lift_column)
