"""Decimal numbers to the nearest float, exactly, or not at all."""

import numpy as np

from streaming.compiled import jitable
from streaming.formats.scan.words import (
    HIGH,
    as_float,
    byte_at,
    high_product,
    leading_zeros,
    trailing_zeros,
    word_at,
)

MOST_DIGITS = 19  # any so many digits fit into 64 bits
MOST_EXACT_POWER = 22  # 10**22 is the greatest power of ten that is a float
MOST_POWER = 64  # beyond it numbers are rare enough to be left to others

MOST_UNITS = 18  # digits of a decimal, of which any fit into 63 bits

_POWERS = 10.0 ** np.arange(MOST_EXACT_POWER + 1)
_TENS = np.array([10**power for power in range(MOST_UNITS + 1)], np.uint64)
_STEPS = np.array([10**power for power in range(9)], np.uint64)


def _five_to_the(power: int) -> int:
    """5**power scaled by a power of two to exactly 128 bits, as the table of Lemire's method has it."""
    value = 5 ** abs(power)
    if power >= 0:
        shift = 128 - value.bit_length()
        return value << shift if shift >= 0 else value >> -shift
    quotient = (1 << (value.bit_length() + 127)) // value
    return quotient + 1 if power >= -27 else quotient


_FIVES = [_five_to_the(power) for power in range(-MOST_POWER, MOST_POWER + 1)]
_FIVES_HIGH = np.array([five >> 64 for five in _FIVES], np.uint64)
_FIVES_LOW = np.array([five & (2**64 - 1) for five in _FIVES], np.uint64)


@jitable
def digits(data, position, end, mantissa):
    """Read digits on to `mantissa`; returns where they end and the number they make."""
    while True:
        word = word_at(data, position) ^ np.uint64(0x3030303030303030)
        others = (((word & ~HIGH) + np.uint64(0x7676767676767676)) | word) & HIGH
        count = min(trailing_zeros(others) >> 3, end - position)
        if count <= 0:
            return position, mantissa
        # The digits as the last of eight, the others zero; then pairs, fours and the eight are summed.
        word <<= np.uint64(64 - 8 * count)
        word = word * np.uint64(10) + (word >> np.uint64(8))
        word = (
            (word & np.uint64(0x000000FF000000FF)) * np.uint64(0x000F424000000064)
            + ((word >> np.uint64(16)) & np.uint64(0x000000FF000000FF)) * np.uint64(0x0000271000000001)
        ) >> np.uint64(32)
        mantissa = mantissa * _STEPS[count] + word
        position += count
        if count < 8:
            return position, mantissa


@jitable
def number(data, position, end):
    """The JSON number at `position`: where it ends, or -1 if it is left to others, and its value."""
    negative = byte_at(data, position) == 45
    if negative:
        position += 1
    start = position
    position, mantissa = digits(data, position, end, np.uint64(0))
    count = position - start
    if count == 0 or (count > 1 and byte_at(data, start) == 48):
        return -1, 0.0
    power = 0
    whole = True
    if position < end and byte_at(data, position) == 46:
        whole = False
        start = position + 1
        position, mantissa = digits(data, start, end, mantissa)
        power = start - position
        count -= power
        if power == 0:
            return -1, 0.0
    if count > MOST_DIGITS:
        return -1, 0.0
    if position < end and (byte_at(data, position) | 32) == 101:
        whole = False
        start = position + 1
        less = False
        if start < end and (byte_at(data, start) == 43 or byte_at(data, start) == 45):
            less = byte_at(data, start) == 45
            start += 1
        position, exponent = digits(data, start, end, np.uint64(0))
        if position == start or position - start > 4:
            return -1, 0.0
        power += -np.int64(exponent) if less else np.int64(exponent)
    if whole:
        # A whole zero has no sign, as in msgspec.
        value = np.float64(mantissa)
        return position, -value if negative and mantissa != np.uint64(0) else value
    value = nearest(mantissa, power)
    return (position if value >= 0 else -1), -value if negative else value


@jitable
def units(data, position, end, places):
    """The JSON number at `position` in units of a decimal place: where it ends, or -1 as above, and how many.

    They come as the bits of a float, for a place among floats.
    """
    negative = byte_at(data, position) == 45
    if negative:
        position += 1
    start = position
    position, mantissa = digits(data, position, end, np.uint64(0))
    count = position - start
    if count == 0 or (count > 1 and byte_at(data, start) == 48):
        return -1, 0.0
    given = 0
    if position < end and byte_at(data, position) == 46:
        start = position + 1
        position, mantissa = digits(data, start, end, mantissa)
        given = position - start
        if given == 0:
            return -1, 0.0
    if given > places or count + places > MOST_UNITS:
        return -1, 0.0
    if position < end and (byte_at(data, position) | 32) == 101:
        return -1, 0.0
    bits = mantissa * _TENS[places - given]
    return position, as_float(~bits + np.uint64(1) if negative else bits)


@jitable
def nearest(mantissa, power):
    """The float nearest to mantissa * 10**power; -1 if it takes more than 64-bit arithmetic to tell."""
    if mantissa <= np.uint64(1 << 53) and -MOST_EXACT_POWER <= power <= MOST_EXACT_POWER:
        # Both are exact, so that the one rounding is the right one (Clinger).
        value = np.float64(mantissa)
        return value / _POWERS[-power] if power < 0 else value * _POWERS[power]
    if mantissa == np.uint64(0) or not -MOST_POWER <= power <= MOST_POWER:
        return -1.0
    return _eisel_lemire(mantissa, power)


@jitable
def _eisel_lemire(mantissa, power):
    """Lemire: Number Parsing at a Gigabyte per Second, section 5; doubtful cases give -1."""
    zeros = leading_zeros(mantissa)
    mantissa <<= np.uint64(zeros)
    high = high_product(mantissa, _FIVES_HIGH[power + MOST_POWER])
    low = mantissa * _FIVES_HIGH[power + MOST_POWER]
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more = high_product(mantissa, _FIVES_LOW[power + MOST_POWER])
        low += more
        if low < more:
            high += np.uint64(1)
        if low == np.uint64(0xFFFFFFFFFFFFFFFF):
            return -1.0
    top = high >> np.uint64(63)
    bits = high >> (top + np.uint64(9))
    exponent = ((217706 * power) >> 16) + 63 + np.int64(top) - zeros + 1023
    # Half way between two floats, or so near that it cannot be told: 54 bits ending in 1, and no more.
    if low <= np.uint64(1) and bits & np.uint64(3) == np.uint64(1) and bits << (top + np.uint64(9)) == high:
        return -1.0
    bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
    if bits >> np.uint64(53):
        bits >>= np.uint64(1)
        exponent += 1
    return as_float((np.uint64(exponent) << np.uint64(52)) | (bits & np.uint64((1 << 52) - 1)))
