"""Avro records: a schema is a small program, and one pass over each message runs it.

A message is taken only if fastavro would read the same values to its last byte; anything else is doubtful.
"""

import numpy as np

from streaming.compiled import compiled, jitable
from streaming.formats.scan.numbers import nearest
from streaming.formats.scan.texts import SYMBOL, utf8
from streaming.formats.scan.words import HIGH, NONE, as_float, byte_at, first_bytes, trailing_zeros, word_at

# Instructions have five numbers: what to do, two arguments, the field that takes the value, or -1, and the
# branch that means null, where the value is one of two branches.
LONG, FLOAT, DOUBLE, BOOLEAN, STRING, BYTES, FIXED, ENUM = range(8)
DECIMAL, UNITS, UNION, REPEAT, NEXT, JUMP, DOUBT = range(8, 15)

ALWAYS = -1  # there is no such branch
HEADER = 5  # bytes before a record that names its schema
MOST_DEPTH = 16  # of lists in lists
_ONE = np.uint64(1)


@jitable
def _varint(data, position, end):
    """A whole number of variable length: where it ends, or -1, and its value."""
    word = word_at(data, position)
    count = (trailing_zeros(~word & HIGH) >> 3) + 1
    if count > 8:
        return _long_varint(data, position, end)
    if position + count > end:
        return -1, 0
    # Seven bits of every byte, moved together in pairs, fours and eights.
    bits = first_bytes(word, count) & ~HIGH
    bits = ((bits & np.uint64(0x7F007F007F007F00)) >> _ONE) | (bits & np.uint64(0x007F007F007F007F))
    bits = ((bits & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2)) | (bits & np.uint64(0x00003FFF00003FFF))
    bits = ((bits & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4)) | (bits & np.uint64(0x000000000FFFFFFF))
    return position + count, np.int64(bits >> _ONE) ^ -np.int64(bits & _ONE)


@jitable
def _long_varint(data, position, end):
    bits = NONE
    for place in range(10):
        if position + place >= end:
            return -1, 0
        byte = byte_at(data, position + place)
        bits |= np.uint64(byte & 127) << np.uint64(7 * place)
        if byte < 128:
            return position + place + 1, np.int64(bits >> _ONE) ^ -np.int64(bits & _ONE)
    return -1, 0


@jitable
def _is_text(data, start, end):
    position = start
    bits = NONE
    while position + 8 <= end:
        bits |= word_at(data, position)
        position += 8
    bits |= first_bytes(word_at(data, position), end - position)
    return bits & HIGH == NONE or utf8(data, start, end)


@jitable
def _float(half):
    """The float whose 32 bits these are."""
    sign = (half >> np.uint64(31)) << np.uint64(63)
    exponent = (half >> np.uint64(23)) & np.uint64(0xFF)
    fraction = half & np.uint64(0x7FFFFF)
    if exponent == NONE:  # zero, or a number without a leading bit
        value = np.float64(fraction) * 2.0**-149
        return -value if sign != NONE else value
    wide = exponent + np.uint64(896) if exponent != np.uint64(0xFF) else np.uint64(0x7FF)
    return as_float(sign | (wide << np.uint64(52)) | (fraction << np.uint64(29)))


@jitable
def _digits(data, start, end, limit):
    """The digits of a signed integer, whether it is negative, and whether they are less than the limit."""
    if end == start:
        return NONE, False, False
    negative = byte_at(data, start) >= 128
    first = max(start, end - 8)
    for position in range(start, first):  # bytes before the last eight add nothing but the sign
        if byte_at(data, position) != (255 if negative else 0):
            return NONE, False, False
    if (byte_at(data, first) >= 128) != negative:
        return NONE, False, False
    bits = ~NONE if negative else NONE
    for position in range(first, end):
        bits = (bits << np.uint64(8)) | np.uint64(byte_at(data, position))
    digits = ~bits + _ONE if negative else bits
    return digits, negative, digits < np.uint64(limit)


@jitable
def _scan_record(data, position, end, row, program, jumps, left, symbols, numbers, starts, lengths):
    depth = -1
    step = 0
    while step < len(program):
        act, one, two, field = program[step, 0], program[step, 1], program[step, 2], program[step, 3]
        absent = program[step, 4]
        step += 1
        if absent != ALWAYS:
            branch = byte_at(data, position) >> 1 if position < end else 2
            if branch > 1 or byte_at(data, position) & 1 == 1:
                return False
            position += 1
            if branch == absent:
                continue
        if act == LONG:
            position, value = _varint(data, position, end)
            if position < 0:
                return False
            if field >= 0:
                numbers[field, row] = value
                lengths[field, row] = 0
        elif act in (STRING, BYTES):
            position, length = _varint(data, position, end)
            if position < 0 or length < 0 or length > end - position:
                return False
            if act == STRING and not _is_text(data, position, position + length):
                return False
            if field >= 0:
                starts[field, row] = position
                lengths[field, row] = length
            position += length
        elif act == DOUBLE:
            if position + 8 > end:
                return False
            if field >= 0:
                numbers[field, row] = as_float(word_at(data, position))
                lengths[field, row] = 0
            position += 8
        elif act == UNION:
            position, branch = _varint(data, position, end)
            if position < 0 or branch < 0 or branch >= two:
                return False
            step = jumps[one + branch]
        elif act == JUMP:
            step = one
        elif act == FLOAT:
            if position + 4 > end:
                return False
            if field >= 0:
                numbers[field, row] = _float(first_bytes(word_at(data, position), 4))
                lengths[field, row] = 0
            position += 4
        elif act == BOOLEAN:
            if position >= end:
                return False
            if field >= 0:
                numbers[field, row] = np.float64(byte_at(data, position))
                lengths[field, row] = 0
            position += 1
        elif act == ENUM:
            position, symbol = _varint(data, position, end)
            if position < 0 or symbol < 0 or symbol >= two:
                return False
            if field >= 0:
                starts[field, row] = symbols + one + symbol
                lengths[field, row] = SYMBOL
        elif act == FIXED:
            position += one
            if position > end:
                return False
        elif act in (DECIMAL, UNITS):
            # Its bytes come first, as those of BYTES or FIXED; `jumps` has scale, or factor, and limit.
            length = two
            if two < 0:
                position, length = _varint(data, position, end)
            if position < 0 or length < 0 or length > end - position:
                return False
            found, negative, is_plain = _digits(data, position, position + length, jumps[one + 1])
            if not is_plain:
                return False
            if act == UNITS:
                found *= np.uint64(jumps[one])
                numbers[field, row] = as_float(~found + _ONE if negative else found)
            else:
                value = nearest(found, -jumps[one])
                if value < 0:
                    return False
                numbers[field, row] = -value if negative else value
            lengths[field, row] = 0
            position += length
        elif act == REPEAT:
            depth += 1
            if depth == MOST_DEPTH:
                return False
            left[depth] = 0
        elif act == NEXT:
            if left[depth] == 0:
                position, count = _varint(data, position, end)
                if count < 0 and position >= 0:  # then the size of the block follows
                    count = -count
                    position, _ = _varint(data, position, end)
                if position < 0 or count < 0 or count > end - position:
                    return False
                left[depth] = count
                if count == 0:
                    depth -= 1
                    step = one
                    continue
            left[depth] -= 1
        else:
            return False
    return position == end


@compiled
def schema_ids(data, offsets, ids):
    """The schema that each message names after a zero, in four bytes, highest first; -1 if it names none."""
    for row in range(len(ids)):
        start = offsets[row]
        if offsets[row + 1] - start < HEADER or byte_at(data, start) != 0:
            ids[row] = -1
        else:
            ids[row] = (
                (byte_at(data, start + 1) << 24)
                | (byte_at(data, start + 2) << 16)
                | (byte_at(data, start + 3) << 8)
                | byte_at(data, start + 4)
            )


@compiled
def scan_avro(data, offsets, rows, header, program, jumps, left, symbols, numbers, starts, lengths, doubtful):
    """Run the program over these rows of the batch, past a header of so many bytes.

    `symbols` is the number of the program's first symbol.
    """
    for row in rows:
        if not doubtful[row]:
            doubtful[row] = not _scan_record(
                data,
                offsets[row] + header,
                offsets[row + 1],
                row,
                program,
                jumps,
                left,
                symbols,
                numbers,
                starts,
                lengths,
            )
