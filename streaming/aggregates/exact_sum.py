"""Exact sum of whole numbers, or of decimals with a fixed number of places."""

from decimal import Context, Decimal, Inexact, InvalidOperation
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from optimizer.aggregates import with_parameter
from streaming.aggregates.algebra import State
from streaming.aggregates.base import Aggregate
from streaming.aggregates.gathering import Columns

BITS = 62  # of the low part: two of them add up without overflow
LOW = (1 << BITS) - 1
HALF_BITS = 31
HALF = (1 << HALF_BITS) - 1
PLACES_OF_FLOATS = 9  # that are summed up of numbers that are no decimals
GREATEST = 1 << 120  # of a value or a sum, in units of the last place

EXACTLY = Context(prec=60, traps=[Inexact, InvalidOperation])  # more than 2¹²⁰ has: nothing is ever rounded


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
    """The value in units of the last place; a float is the shortest decimal that it is nearest to."""
    exact = repr(float(value)) if isinstance(value, float) else value
    try:
        number = Decimal(int(exact) if isinstance(exact, Integral) else exact)
        units = int(number.quantize(Decimal(1).scaleb(-scale), context=EXACTLY).scaleb(scale, EXACTLY))
    except (Inexact, InvalidOperation, ValueError):
        units = GREATEST + 1
    if abs(units) > GREATEST:
        raise ValueError(f"exact_sum with {scale} decimal places cannot hold {value}.")
    return units


def _whole(values: np.ndarray, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Floats as whole numbers and the powers of ten that make units of them; raises where one is not."""
    whole, missing = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    rest = np.arange(len(values))
    for places in range(scale + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.rint(values[rest] * 10.0**places)
        # Division of two floats that are exact gives the float that is nearest to the decimal.
        found = (np.abs(scaled) < 2.0**53) & (scaled / 10.0**places == values[rest])
        whole[rest[found]], missing[rest[found]] = scaled[found].astype(np.int64), scale - places
        rest = rest[~found]
        if not len(rest):
            return whole, 10**missing
    raise ValueError("Not all have so few places: one by one it is said of each.")


def _limbs(whole: np.ndarray, factor: np.ndarray) -> Columns:
    """whole · factor, for factors of less than 2³⁰, as states have it."""
    low = (whole & HALF) * factor
    high = (whole >> HALF_BITS) * factor + (low >> HALF_BITS)
    return high >> HALF_BITS, ((high & HALF) << HALF_BITS) | (low & HALF)


def _of_decimals(units: np.ndarray) -> Columns:
    """Of the upper and lower 64 bits of decimals."""
    high, low = units
    return (high << 2) | ((low >> BITS) & 3), low & LOW


def exact_sum(scale: int = 0) -> Aggregate:
    """`scale`: how many decimal places values have at most. Answers are ints without any, else decimals."""

    def lift(value: Any) -> tuple[State, ...]:
        units = _units(value, scale)
        return ((units >> BITS, units & LOW),)

    def answer(values: int, high: int, low: int) -> int | Decimal | None:
        if not values:
            return None
        units = (int(high) << BITS) + int(low)
        return Decimal(units).scaleb(-scale, EXACTLY) if scale else units

    def lower(values, state):
        return np.frompyfunc(answer, 3, 1)(values, *state)

    def lift_column(values, times):
        if scale > PLACES_OF_FLOATS:
            raise ValueError("Units may not fit into 64 bits: one by one they are told.")
        return (_limbs(*_whole(values, scale)),)

    def lift_units(units, places):
        if places != scale:
            raise ValueError("They have another number of places: one by one they are told them.")
        return (_of_decimals(units),)

    return Aggregate(
        "exact_sum",
        (ExactSum(),),
        lift,
        lower,
        lift_column=lift_column,
        lift_units=lift_units,
        state_names=(with_parameter("exact_sum", scale),),
    )
