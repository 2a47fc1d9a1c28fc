"""Encoded values that lie end to end in an array of bytes: gathering, joining and numbering them, compiled.

Value `n` lies from `bounds[n]` to `bounds[n + 1]`.
"""

import numpy as np

from streaming.compiled import compiled, jitable
from streaming.formats.scan.texts import text_hash
from streaming.formats.scan.words import copy_bytes, same

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled
def encode_texts(data, starts, lengths, bounds, encoded):
    """Texts as msgpack has them; those of negative length are null. `bounds` says where each goes."""
    for row in range(len(starts)):
        length = np.int64(lengths[row])
        place = bounds[row]
        if length < 0:
            encoded[place] = 0xC0
            continue
        if length < 32:
            encoded[place] = 0xA0 | length
        elif length < 1 << 8:
            encoded[place] = 0xD9
        elif length < 1 << 16:
            encoded[place] = 0xDA
        else:
            encoded[place] = 0xDB
        end = bounds[row + 1] - length
        shift = 8 * (end - place - 2)
        for at in range(place + 1, end):
            encoded[at] = (length >> shift) & 0xFF
            shift -= 8
        copy_bytes(encoded, end, data, np.int64(starts[row]), length)


@compiled
def gathered_bounds(bounds, numbers, first, gathered):
    """Where some values go that are put end to end from `first` on."""
    gathered[0] = first
    for place in range(len(numbers)):
        number = numbers[place]
        first += bounds[number + 1] - bounds[number]
        gathered[place + 1] = first


@compiled
def gather(data, bounds, numbers, gathered, target):
    """Copy some values to where `gathered` says that they go."""
    for place in range(len(numbers)):
        start = bounds[numbers[place]]
        copy_bytes(target, gathered[place], data, start, bounds[numbers[place] + 1] - start)


@compiled
def joined_bounds(bounds, numbers, other_bounds, other_numbers, joined):
    joined[0] = 0
    for place in range(len(numbers)):
        one, other = numbers[place], other_numbers[place]
        size = bounds[one + 1] - bounds[one] + other_bounds[other + 1] - other_bounds[other]
        joined[place + 1] = joined[place] + size


@compiled
def join(data, bounds, numbers, other_data, other_bounds, other_numbers, joined, target):
    """Some values, each followed by one of others."""
    for place in range(len(numbers)):
        start = bounds[numbers[place]]
        size = bounds[numbers[place] + 1] - start
        copy_bytes(target, joined[place], data, start, size)
        start = other_bounds[other_numbers[place]]
        copy_bytes(
            target, joined[place] + size, other_data, start, other_bounds[other_numbers[place] + 1] - start
        )


@compiled
def place_keys(data, bounds, shards, owners):
    """The one of so many shards that each key belongs to, by the upper half of its hash."""
    for key in range(len(owners)):
        upper = text_hash(data, bounds[key], bounds[key + 1] - bounds[key]) >> _HALF
        owners[key] = (upper * np.uint64(shards)) >> _HALF


# A hash table: a slot has the upper half of a value's hash, then its number plus one; zero is empty.


@jitable
def _entry(mixed, number):
    return (mixed & ~_LOW) | np.uint64(number + 1)


@compiled
def fill_slots(data, bounds, count, slots):
    """Number `count` values, all different, in an empty table."""
    mask = np.uint64(len(slots) - 1)
    for number in range(count):
        mixed = text_hash(data, bounds[number], bounds[number + 1] - bounds[number])
        slot = mixed & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _entry(mixed, number)


@compiled
def number_values(data, bounds, slots, numbers, store, kept, count, limit):
    """Give every value the number of its first appearance, and keep new ones in `store`, bounded by `kept`.

    Returns how many there are then. At most `limit` are kept: those beyond it have the number -1.
    """
    mask = np.uint64(len(slots) - 1)
    for row in range(len(numbers)):
        start = bounds[row]
        length = bounds[row + 1] - start
        mixed = text_hash(data, start, length)
        slot = mixed & mask
        number = -1
        while slots[slot] != 0:
            entry = slots[slot]
            if (entry ^ mixed) >> _HALF == 0:
                known = np.int64(entry & _LOW) - 1
                place = kept[known]
                if kept[known + 1] - place == length and same(data, start, store, place, length):
                    number = known
                    break
            slot = (slot + np.uint64(1)) & mask
        if number < 0 and count < limit:
            number = count
            slots[slot] = _entry(mixed, number)
            copy_bytes(store, kept[number], data, start, length)
            kept[number + 1] = kept[number] + length
            count += 1
        numbers[row] = number
    return count
