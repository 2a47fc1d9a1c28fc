"""Kafka's record batches, format 2: where they lie among the bytes of an answer, and what is in them.

Every length is held against the bytes that are there before it is followed: damage is found out, and nothing
is read past it.
"""

import numpy as np

from streaming.compiled import compiled, jitable
from streaming.formats.scan.words import byte_at, copy_bytes

# Columns of a table of batches.
START, END, MAGIC, CHECKSUM, ATTRIBUTES, BASE_OFFSET, LAST_OFFSET, BASE_TIME, MAX_TIME, COUNT = range(10)
PRODUCER, IS_ABORTED, ABORTS = 10, 11, 12
COLUMNS = 13

LENGTH_ENDS = 12  # a batch begins with its first offset and the length of what comes after
CHECKED_FROM = 21  # where the bytes that the checksum is of begin
HEADER = 61  # records come after it
LEAST_OLD = 26  # bytes of the smallest message of the formats before 2, by which they have a header, too
OLD_ATTRIBUTES, OLD_KEY, OLD_TIME_BYTES = 17, 18, 8  # where those are, and the key, after a time in format 1
LEAST_RECORD = 7  # bytes of a record of which everything is empty

COMPRESSION, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0b111, 0b1000, 0b10000, 0b100000  # attributes
ABORT = 0  # type of the control record that ends a transaction without effect

NONE = -1  # no place is damaged


@jitable
def _number(data, position, size):
    """A whole number in network order, with its sign."""
    value = np.int64(0)
    for place in range(size):
        value = (value << 8) | byte_at(data, position + place)
    unused = 64 - 8 * size
    return (value << unused) >> unused


@jitable
def _batch_end(data, position):
    """Where the batch that begins here ends; 0 if it is cut off, negative if that cannot be a batch."""
    if position + LENGTH_ENDS + 5 > len(data):
        return 0
    end = position + LENGTH_ENDS + _number(data, position + 8, 4)
    magic = byte_at(data, position + 16)
    if magic > 2 or end < position + (HEADER if magic == 2 else LEAST_OLD):
        return NONE
    return end if end <= len(data) else 0


@compiled
def count_batches(data):
    """How many whole batches the bytes begin with, and where the first one begins that is damaged."""
    position, count = 0, 0
    while True:
        end = _batch_end(data, position)
        if end < 0:
            return count, position
        if end == 0:
            return count, NONE
        position = end
        count += 1


@jitable
def _varint(data, position, end):
    """A number of variable length and where it ends; that is negative if there is none before `end`."""
    bits = np.uint64(0)
    shift = 0
    while position < end and shift < 64:
        byte = byte_at(data, position)
        position += 1
        bits |= np.uint64(byte & 127) << np.uint64(shift)
        if byte < 128:
            return np.int64(bits >> np.uint64(1)) ^ -np.int64(bits & np.uint64(1)), position
        shift += 7
    return np.int64(0), NONE


@jitable
def _is_abort(data, position, end):
    """Whether a control record says that a transaction of its producer was aborted: its key does."""
    _, position = _varint(data, position, end)  # the record's length
    if position < 0:
        return False
    _, position = _varint(data, position + 1, end)  # after attributes
    if position < 0:
        return False
    _, position = _varint(data, position, end)
    if position < 0:
        return False
    length, position = _varint(data, position, end)
    if position < 0 or length < 4 or length > end - position:
        return False
    return _number(data, position + 2, 2) == ABORT


@compiled
def find_batches(data, batches):
    """Fill a table with what the first batches' headers say; those of old formats say little."""
    position = 0
    for row in range(len(batches)):
        end = _batch_end(data, position)
        batches[row, START] = position
        batches[row, END] = end
        batches[row, MAGIC] = byte_at(data, position + 16)
        base = _number(data, position, 8)
        if batches[row, MAGIC] < 2:  # the message may wrap others: it has the offset of the last one
            batches[row, BASE_OFFSET] = batches[row, LAST_OFFSET] = base
            batches[row, MAX_TIME] = NONE
        else:
            batches[row, CHECKSUM] = _number(data, position + 17, 4) & 0xFFFFFFFF
            batches[row, ATTRIBUTES] = _number(data, position + 21, 2)
            batches[row, BASE_OFFSET] = base
            batches[row, LAST_OFFSET] = base + _number(data, position + 23, 4)
            batches[row, BASE_TIME] = _number(data, position + 27, 8)
            batches[row, MAX_TIME] = _number(data, position + 35, 8)
            batches[row, PRODUCER] = _number(data, position + 43, 8)
            batches[row, COUNT] = _number(data, position + 57, 4)
            if batches[row, ATTRIBUTES] & CONTROL:
                batches[row, ABORTS] = _is_abort(data, position + HEADER, end)
        position = end


@jitable
def _value(data, position, end):
    """Where a record's value begins and how long it is (-1: null); a negative place if it is damaged."""
    length, position = _varint(data, position, end)
    if position < 0 or length > end - position:
        return NONE, length
    position += max(length, 0)  # the key's
    length, position = _varint(data, position, end)
    if position < 0 or length < -1 or length > end - position:
        return NONE, length
    return position, length


@jitable
def _read_batch(data, batch, first, until, offsets, timestamps, present, bounds, values, row):
    """The next free row, or a negative number if a record is damaged."""
    used = np.int64(bounds[row])
    position, end = batch[START], batch[END]
    append_time = batch[ATTRIBUTES] & LOG_APPEND_TIME != 0
    for _ in range(batch[COUNT]):
        length, position = _varint(data, position, end)
        if position < 0 or length < 1 or length > end - position:
            return NONE
        record_end = position + length
        age, position = _varint(data, position + 1, record_end)  # after attributes, which mean nothing
        if position < 0:
            return NONE
        delta, position = _varint(data, position, record_end)
        if position < 0:
            return NONE
        place, length = _value(data, position, record_end)
        if place < 0:
            return NONE
        position = record_end  # after headers
        offset = batch[BASE_OFFSET] + delta
        if offset < first or offset >= until:
            continue
        offsets[row] = offset
        timestamps[row] = batch[MAX_TIME] if append_time else batch[BASE_TIME] + age
        present[row] = length >= 0
        if length > 0:
            copy_bytes(values, used, data, place, length)
            used += length
        row += 1
        bounds[row] = used
    return row


@compiled
def read_batches(data, batches, first, until, offsets, timestamps, present, bounds, values):
    """Read the records between each batch's start and end; those with first ≤ offset < until become rows.

    How many rows that makes, and which batch is damaged.
    """
    row = 0
    for number in range(len(batches)):
        after = _read_batch(
            data, batches[number], first, until, offsets, timestamps, present, bounds, values, row
        )
        if after < 0:
            return row, number
        row = after
    return row, NONE
