"""Records of delimited fields: one pass over each message that takes the needed fields and counts the rest.

A message is taken only if Python's csv module would read the same record; anything else is doubtful.
"""

import numpy as np

from streaming.compiled import compiled, jitable
from streaming.formats.scan.kinds import DECIMAL, NUMBER, TEXT
from streaming.formats.scan.numbers import number, units
from streaming.formats.scan.texts import control_bytes, utf8, zero_bytes
from streaming.formats.scan.words import HIGH, NONE, ONES, byte_at, first_bytes, trailing_zeros, word_at

MOST_BYTES = 100_000  # Python's csv module has a limit for fields beyond that

_QUOTES = np.uint64(0x2222222222222222)
_CASES = np.uint64(0x2020202020)
_TRUE = np.uint64(int.from_bytes(b"true", "little"))
_FALSE = np.uint64(int.from_bytes(b"false", "little"))


@jitable
def _field_end(data, position, end, delimiters):
    """Where a delimiter, quote, control character or the end comes; whether more than ASCII came before."""
    bits = NONE
    while position < end:
        word = word_at(data, position)
        stops = zero_bytes(word ^ delimiters) | zero_bytes(word ^ _QUOTES) | control_bytes(word)
        if stops != NONE:
            bits |= word & ((stops & (~stops + np.uint64(1))) - np.uint64(1))
            position += trailing_zeros(stops) >> 3
            break
        bits |= word
        position += 8
    return min(position, end), bits & HIGH != NONE


@jitable
def _take(data, start, end, kind, field, row, numbers, starts, lengths):
    """Whether the bytes are a value of the kind; an empty one is null."""
    if start == end:
        return True
    if kind == TEXT:
        starts[field, row] = start
        lengths[field, row] = end - start
        return True
    lengths[field, row] = 0
    if kind == NUMBER:
        stop, value = number(data, start, end)
        numbers[field, row] = value
        # Python's float keeps the sign of a zero.
        return stop == end and not (value == 0 and byte_at(data, start) == 45)
    if kind >= DECIMAL:
        stop, value = units(data, start, end, kind - DECIMAL)
        numbers[field, row] = value
        return stop == end
    length = end - start
    numbers[field, row] = 1.0 if length == 4 else 0.0
    lower_case = first_bytes(word_at(data, start) | _CASES, length)
    return lower_case == (_TRUE if length == 4 else _FALSE)


@jitable
def _scan_record(data, start, end, row, delimiter, wanted, kinds, numbers, starts, lengths):
    if end > start and byte_at(data, end - 1) == 10:
        end -= 1
    if end > start and byte_at(data, end - 1) == 13:
        end -= 1
    if end == start or end - start > MOST_BYTES:
        return False
    delimiters = ONES * np.uint64(delimiter)
    beyond_ascii = False
    position = start
    column = 0
    while True:
        first = position
        if position < end and byte_at(data, position) == 34:
            first += 1
            last = first
            while True:
                last, more = _field_end(data, last, end, delimiters)
                beyond_ascii |= more
                if last >= end:
                    return False
                if byte_at(data, last) != delimiter:
                    break
                last += 1
            if byte_at(data, last) != 34:
                return False
            position = last + 1
        else:
            last, more = _field_end(data, position, end, delimiters)
            beyond_ascii |= more
            position = last
        if position < end and byte_at(data, position) != delimiter:
            return False
        if column == len(wanted):
            return False
        field = wanted[column]
        if field >= 0 and not _take(data, first, last, kinds[field], field, row, numbers, starts, lengths):
            return False
        column += 1
        if position >= end:
            break
        position += 1
    return column == len(wanted) and not (beyond_ascii and not utf8(data, start, end))


@compiled
def scan_records(data, offsets, delimiter, wanted, kinds, numbers, starts, lengths, doubtful):
    """Write each field of each plain message; `wanted` has the field of every column, or -1."""
    for row in range(len(offsets) - 1):
        if not doubtful[row]:
            doubtful[row] = not _scan_record(
                data, offsets[row], offsets[row + 1], row, delimiter, wanted, kinds, numbers, starts, lengths
            )
