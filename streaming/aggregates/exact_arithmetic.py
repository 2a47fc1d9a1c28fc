"""Arithmetic that keeps what rounding loses: of two floats, and of numbers that are sums of two."""

from typing import Any

import numpy as np
from numba.extending import overload

from streaming.compiled import jitable

SPLITTER = 134217729.0  # 2²⁷ + 1


def quotient(one: Any, other: Any) -> Any:
    """one / other, for another than 0."""
    return one / other


@overload(quotient)
def _compiled_quotient(one, other):
    # Compiled `/` looks for zeros first, as Python does; loops with it are not vectorised.
    return lambda one, other: np.divide(one, other)


@jitable
def two_sum(one, other):
    """one + other, and what rounding lost of it (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


@jitable
def quick_two_sum(large, small):
    """The same where |large| ≥ |small|."""
    total = large + small
    return total, small - (total - large)


@jitable
def two_product(one, other):
    """one · other, and what rounding lost of it (Dekker, Veltkamp)."""
    product = one * other
    wide, wider = SPLITTER * one, SPLITTER * other
    one_high, other_high = wide - (wide - one), wider - (wider - other)
    one_low, other_low = one - one_high, other - other_high
    lost = one_low * other_low - (
        ((product - one_high * other_high) - one_low * other_high) - one_high * other_low
    )
    return product, lost


@jitable
def wide_product(one, one_rest, other, other_rest):
    """(one + one_rest) · (other + other_rest) to about 104 bits, as such a sum."""
    product, lost = two_product(one, other)
    return quick_two_sum(product, lost + (one * other_rest + one_rest * other))


@jitable
def wide_quotient(one, one_rest, other, other_rest):
    """(one + one_rest) / (other + other_rest), likewise."""
    ratio = quotient(one, other)
    product, lost = two_product(ratio, other)
    remainder = (((one - product) - lost) + one_rest) - ratio * other_rest
    return quick_two_sum(ratio, quotient(remainder, other))
