"""JSON objects: one pass over each message that takes the needed fields and checks the rest.

A message is taken only if msgspec would accept it and read the same values; anything else is doubtful.
"""

import numpy as np

from streaming.compiled import compiled, jitable
from streaming.formats.scan.kinds import DECIMAL, NUMBER, TEXT
from streaming.formats.scan.numbers import digits, number, units
from streaming.formats.scan.texts import control_bytes, utf8, zero_bytes
from streaming.formats.scan.words import HIGH, NONE, byte_at, first_bytes, same, trailing_zeros, word_at

MOST_DEPTH = 60  # of a skipped value; one bit of a word tells objects from lists at each depth
MOST_KEYS = 64  # of a message that are predicted from the one before

_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_NULL = np.uint64(int.from_bytes(b"null", "little"))
_TRUE = np.uint64(int.from_bytes(b"true", "little"))
_FALSE = np.uint64(int.from_bytes(b"false", "little"))


@jitable
def _spaces(data, position, end):
    while position < end:
        byte = byte_at(data, position)
        if byte > 32 or (byte != 32 and byte != 10 and byte != 13 and byte != 9):
            break
        position += 1
    return position


@jitable
def _text_end(data, position, end):
    """Where a quote, backslash or control character comes next; whether more than ASCII came before."""
    bits = NONE
    while position < end:
        word = word_at(data, position)
        stops = zero_bytes(word ^ _QUOTES) | zero_bytes(word ^ _BACKSLASHES) | control_bytes(word)
        if stops != NONE:
            bits |= word & ((stops & (~stops + np.uint64(1))) - np.uint64(1))
            return position + (trailing_zeros(stops) >> 3), bits & HIGH != NONE
        bits |= word
        position += 8
    return end, False


@jitable
def _is_hex(byte):
    return 48 <= byte <= 57 or 97 <= (byte | 32) <= 102


@jitable
def _skip_text(data, position, end):
    """Past the text whose quote is at `position`."""
    position += 1
    while True:
        position, _ = _text_end(data, position, end)
        if position >= end:
            return -1
        byte = byte_at(data, position)
        if byte == 34:
            return position + 1
        if byte != 92 or position + 1 >= end:
            return -1
        byte = byte_at(data, position + 1)
        position += 2
        if byte == 117:
            if position + 4 > end:
                return -1
            for place in range(4):
                if not _is_hex(byte_at(data, position + place)):
                    return -1
            # Halves of a surrogate pair (D800 to DFFF) have to match: left to others.
            if (byte_at(data, position) | 32) == 100 and byte_at(data, position + 1) >= 56:
                return -1
            position += 4
        elif not (
            byte == 34
            or byte == 92
            or byte == 47
            or byte == 98
            or byte == 102
            or byte == 110
            or byte == 114
            or byte == 116
        ):
            return -1


@jitable
def _skip_number(data, position, end):
    if byte_at(data, position) == 45:
        position += 1
    start = position
    position, _ = digits(data, position, end, NONE)
    if position == start or (position > start + 1 and byte_at(data, start) == 48):
        return -1
    if position < end and byte_at(data, position) == 46:
        start = position + 1
        position, _ = digits(data, start, end, NONE)
        if position == start:
            return -1
    if position < end and (byte_at(data, position) | 32) == 101:
        start = position + 1
        if start < end and (byte_at(data, start) == 43 or byte_at(data, start) == 45):
            start += 1
        position, _ = digits(data, start, end, NONE)
        if position == start:
            return -1
    return position


@jitable
def _skip_word(data, position, end):
    """Past null, true or false."""
    word = word_at(data, position)
    four = first_bytes(word, 4)
    if four in (_NULL, _TRUE) and position + 4 <= end:
        return position + 4
    if first_bytes(word, 5) == _FALSE and position + 5 <= end:
        return position + 5
    return -1


@jitable
def _to_value(data, position, end):
    """From a key's quote to its value."""
    if position >= end or byte_at(data, position) != 34:
        return -1
    position = _skip_text(data, position, end)
    if position < 0:
        return -1
    position = _spaces(data, position, end)
    if position >= end or byte_at(data, position) != 58:
        return -1
    return _spaces(data, position + 1, end)


@jitable
def _skip(data, position, end):
    """Past any value, however nested."""
    objects = NONE  # the lowest bit: whether the innermost is an object
    depth = 0
    while True:
        if position >= end:
            return -1
        byte = byte_at(data, position)
        opened = False
        if byte == 34:
            position = _skip_text(data, position, end)
        elif byte == 123 or byte == 91:
            if depth == MOST_DEPTH:
                return -1
            objects = (objects << np.uint64(1)) | np.uint64(byte == 123)
            depth += 1
            position = _spaces(data, position + 1, end)
            if position >= end:
                return -1
            opened = byte_at(data, position) != byte + 2  # not closed at once
            if opened and byte == 123:
                position = _to_value(data, position, end)
        elif byte > 97:
            position = _skip_word(data, position, end)
        else:
            position = _skip_number(data, position, end)
        if position < 0:
            return -1
        if opened:
            continue
        while True:
            if depth == 0:
                return position
            position = _spaces(data, position, end)
            if position >= end:
                return -1
            inside = objects & np.uint64(1) != NONE
            byte = byte_at(data, position)
            position += 1
            if byte == 44:
                position = _spaces(data, position, end)
                if inside:
                    position = _to_value(data, position, end)
                if position < 0:
                    return -1
                break
            if byte != (125 if inside else 93):
                return -1
            depth -= 1
            objects >>= np.uint64(1)


@jitable
def _find(data, start, length, keys, key_bounds, first, last):
    for entry in range(first, last):
        if key_bounds[entry + 1] - key_bounds[entry] == length and same(
            data, start, keys, key_bounds[entry], length
        ):
            return entry
    return -1


@jitable
def _take(data, position, end, kind, field, row, numbers, starts, lengths):
    """Take the value of a needed field; returns where it ends, or -1."""
    byte = byte_at(data, position)
    if byte == 110:
        return _skip_word(data, position, end)
    if kind == TEXT:
        if byte != 34:
            return -1
        start = position + 1
        position, beyond_ascii = _text_end(data, start, end)
        if position >= end:
            return -1
        if byte_at(data, position) != 34:  # a backslash, perhaps: the text is taken as it is written
            beyond_ascii = True
            position = _skip_text(data, start - 1, end) - 1
            if position < 0:
                return -1
        if beyond_ascii and not utf8(data, start, position):
            return -1
        starts[field, row] = start
        lengths[field, row] = position - start
        return position + 1
    if kind == NUMBER:
        position, value = number(data, position, end)
        numbers[field, row] = value
        lengths[field, row] = 0
        return position
    if kind >= DECIMAL:
        position, value = units(data, position, end, kind - DECIMAL)
        numbers[field, row] = value
        lengths[field, row] = 0
        return position
    if byte != 116 and byte != 102:
        return -1
    numbers[field, row] = 1.0 if byte == 116 else 0.0
    lengths[field, row] = 0
    return _skip_word(data, position, end)


@jitable
def _scan_message(data, position, end, row, paths, kinds, shape, seen, numbers, starts, lengths):
    """Whether the message could be taken.

    `paths` is the tree of needed keys: node n has the entries `first[n]` to `first[n + 1]`, an entry has a
    key, and a field, a child node or both. `shape` holds what stood before each value of the message before:
    where the same bytes stand again, they need not be read again.
    """
    keys, key_bounds, first, fields, children = paths
    shape_start, shape_length, shape_node, shape_entry, parents = shape
    position = _spaces(data, position, end)
    if position >= end or byte_at(data, position) != 123:
        return False
    node, depth, place = 0, 0, 0
    while True:
        # At the brace or comma before a key.
        empty = False
        entry = -1
        if (
            place < MOST_KEYS
            and shape_node[place] == node
            and position + shape_length[place] < end
            and same(data, position, data, shape_start[place], shape_length[place])
        ):
            entry = shape_entry[place]
            position += shape_length[place]
        else:
            before = position
            position = _spaces(data, position + 1, end)
            if position >= end:
                return False
            empty = byte_at(data, before) == 123 and byte_at(data, position) == 125
            if not empty:
                if byte_at(data, position) != 34:
                    return False
                key = position + 1
                position, _ = _text_end(data, key, end)
                if position >= end or byte_at(data, position) != 34:
                    return False
                entry = _find(data, key, position - key, keys, key_bounds, first[node], first[node + 1])
                position = _spaces(data, position + 1, end)
                if position >= end or byte_at(data, position) != 58:
                    return False
                position = _spaces(data, position + 1, end)
                if position >= end:
                    return False
                if place < MOST_KEYS:
                    shape_start[place] = before
                    shape_length[place] = position - before
                    shape_node[place] = node
                    shape_entry[place] = entry
        place += 1
        if entry >= 0:
            # A key that comes twice is left to others.
            if seen[0, entry] == row:
                return False
            seen[0, entry] = row
            field = fields[entry]
            if children[entry] >= 0 and byte_at(data, position) == 123:
                if field >= 0:
                    return False
                parents[depth] = node
                depth += 1
                node = children[entry]
                continue
            if field >= 0:
                if seen[1, field] == row:
                    return False
                seen[1, field] = row
                position = _take(data, position, end, kinds[field], field, row, numbers, starts, lengths)
            else:
                position = _skip(data, position, end)
        elif not empty:
            position = _skip(data, position, end)
        if position < 0:
            return False
        while True:
            position = _spaces(data, position, end)
            if position >= end:
                return False
            if byte_at(data, position) != 125:
                break
            position += 1
            if depth == 0:
                return _spaces(data, position, end) == end
            depth -= 1
            node = parents[depth]
        if byte_at(data, position) != 44:
            return False


@compiled
def scan_json(data, offsets, paths, kinds, shape, seen, numbers, starts, lengths, doubtful):
    """Write each field of each plain message; `doubtful` rows (also those marked before) are left out."""
    for row in range(len(offsets) - 1):
        if not doubtful[row]:
            doubtful[row] = not _scan_message(
                data, offsets[row], offsets[row + 1], row, paths, kinds, shape, seen, numbers, starts, lengths
            )
