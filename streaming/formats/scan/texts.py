"""Texts: where they end, whether they are UTF-8, and numbering the distinct ones of a column."""

import numpy as np

from streaming.compiled import compiled, jitable
from streaming.formats.scan.words import HIGH, ONES, byte_at, first_bytes, same, word_at

SYMBOL = -2  # the length of a text that is not in the message: its start is the number of a symbol

_SPACES = np.uint64(0x2020202020202020)
_MIX = np.uint64(0x9E3779B97F4A7C15)


@jitable
def zero_bytes(word):
    """The high bit of the lowest byte that is zero; bits above it mean nothing."""
    return (word - ONES) & ~word & HIGH


@jitable
def control_bytes(word):
    """The high bit of the lowest byte that is a control character; bits above it mean nothing."""
    return (word - _SPACES) & ~word & HIGH


@jitable
def utf8(data, position, end):
    """Whether the bytes are well-formed UTF-8, by the table in the Unicode standard (3-7)."""
    while position < end:
        lead = byte_at(data, position)
        position += 1
        if lead < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= lead <= 0xDF:
            more = 1
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            if lead == 0xE0:
                low = 0xA0
            elif lead == 0xED:
                high = 0x9F
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            if lead == 0xF0:
                low = 0x90
            elif lead == 0xF4:
                high = 0x8F
        else:
            return False
        if position + more > end:
            return False
        for place in range(more):
            follow = byte_at(data, position + place)
            if follow < low or follow > high:
                return False
            low, high = 0x80, 0xBF
        position += more
    return True


@jitable
def text_hash(data, start, length):
    """The same in every process and at all times: it decides where groups are kept."""
    mixed = np.uint64(length) * _MIX
    while length > 0:
        mixed = (mixed ^ first_bytes(word_at(data, start), length)) * _MIX
        mixed ^= mixed >> np.uint64(32)
        start += 8
        length -= 8
    mixed *= _MIX  # so that the last bytes, too, count in all bits
    return mixed ^ (mixed >> np.uint64(32))


@compiled
def number_texts(data, starts, lengths, slots, codes, store, bounds, count):
    """Give every text the number of its first appearance and keep each distinct one in `store`.

    `bounds` and `store` make an Arrow string array of the `count` texts known so far; `slots` is a hash
    table of their numbers. Returns the new count. Lengths below 0 stand
    for texts that are not here; their codes are -1.
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(len(starts)):
        length = np.int64(lengths[row])
        if length < 0:
            codes[row] = -1
            continue
        start = starts[row]
        slot = text_hash(data, start, length) & mask
        while True:
            code = np.int64(slots[slot])
            if code < 0:
                code = count
                slots[slot] = code
                place = np.int64(bounds[code])
                for step in range(length):
                    store[place + step] = byte_at(data, start + step)
                bounds[code + 1] = place + length
                count += 1
                break
            place = np.int64(bounds[code])
            if np.int64(bounds[code + 1]) - place == length and same(data, start, store, place, length):
                break
            slot = (slot + np.uint64(1)) & mask
        codes[row] = code
    return count
