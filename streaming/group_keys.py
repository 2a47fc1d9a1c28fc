"""Columns of group keys, each as its msgpack encoding: there may be a million of them in a batch.

So they travel, are stored, hashed, numbered and told in results without a Python object for each.
"""

from collections.abc import Iterable, Sequence
from typing import Self

import msgspec
import numpy as np
import pyarrow as pa

from streaming import key_bytes
from streaming.formats.dictionary import byte_buffers
from streaming.results import GroupKey

MOST = (1 << 32) - 2  # values that can be numbered

_encoder = msgspec.msgpack.Encoder()
_keys_decoder = msgspec.msgpack.Decoder(list[GroupKey])
_packed_decoder = msgspec.msgpack.Decoder(tuple[int, bytes, bytes])


class Encodings:
    """Values as their msgpack encodings, end to end: value `n` lies from `bounds[n]` to `bounds[n + 1]`."""

    def __init__(self, data: np.ndarray, bounds: np.ndarray) -> None:
        self.data = _unwritable(data)  # uint8
        self.bounds = _unwritable(bounds)  # int64

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @classmethod
    def of_values(cls, values: Iterable[object]) -> Self:
        return cls.of_bytes([_encoder.encode(value) for value in values])

    @classmethod
    def of_bytes(cls, encoded: Sequence[bytes]) -> Self:
        return cls(np.frombuffer(b"".join(encoded), np.uint8), _bounds_of(list(map(len, encoded))))

    @classmethod
    def of_texts(cls, texts: pa.Array) -> Self:
        data, bounds = byte_buffers(texts)
        lengths = np.diff(bounds)
        if texts.null_count:
            lengths[texts.is_null().to_numpy(zero_copy_only=False)] = -1
        heads = 1 + (lengths > 31) + (lengths > 255).astype(np.int64) + 2 * (lengths > 65_535)
        places = _bounds_of(np.maximum(lengths, 0) + heads)
        encoded = np.empty(places[-1], np.uint8)
        key_bytes.encode_texts(data, _unwritable(bounds[:-1]), lengths, places, encoded)
        return cls(encoded, places)

    @classmethod
    def together(cls, columns: Sequence["Encodings"]) -> Self:
        lengths = np.concatenate([np.diff(column.bounds) for column in columns])
        return cls(np.concatenate([column.content for column in columns]), _bounds_of(lengths))

    @property
    def content(self) -> np.ndarray:
        """The bytes of all values."""
        return self.data[self.bounds[0] : self.bounds[-1]]

    def take(self, numbers: np.ndarray) -> Self:
        bounds, data = self._gathered(numbers, 0)
        return type(self)(data, bounds)

    def followed_by(self, own: np.ndarray, other: "Encodings", theirs: np.ndarray) -> Self:
        """Some of the values by their numbers, each followed by one of the other column."""
        own, theirs = _indices(own), _indices(theirs)
        bounds = np.empty(len(own) + 1, np.int64)
        key_bytes.joined_bounds(self.bounds, own, other.bounds, theirs, bounds)
        data = np.empty(bounds[-1], np.uint8)
        key_bytes.join(self.data, self.bounds, own, other.data, other.bounds, theirs, bounds, data)
        return type(self)(data, bounds)

    def _gathered(self, numbers: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Bounds and bytes of some values that are put end to end after `first` bytes."""
        numbers = _indices(numbers)
        bounds = np.empty(len(numbers) + 1, np.int64)
        key_bytes.gathered_bounds(self.bounds, numbers, first, bounds)
        data = np.empty(bounds[-1], np.uint8)
        key_bytes.gather(self.data, self.bounds, numbers, bounds, data)
        return bounds, data


class GroupKeys(Encodings):
    """Each value is the encoding of a key: of the list of its fields' values."""

    _tuples: list[GroupKey] | None = None

    @classmethod
    def of_tuples(cls, keys: list[GroupKey]) -> "GroupKeys":
        made = cls.of_values(keys)
        made._tuples = keys
        return made

    @classmethod
    def unpacked(cls, packed: bytes) -> "GroupKeys":
        """What `packed` made."""
        size, lengths, data = _packed_decoder.decode(packed)
        bounds = _bounds_of(np.broadcast_to(np.frombuffer(lengths, np.int32), size))
        return cls(np.frombuffer(data, np.uint8), bounds)

    def packed(self) -> bytes:
        lengths = np.diff(self.bounds).astype(np.int32)
        if len(lengths) and (lengths == lengths[0]).all():
            lengths = lengths[:1]
        return _encoder.encode((len(self), lengths.data, self.content.data))

    def tuples(self) -> list[GroupKey]:
        if self._tuples is None:
            self._tuples = _keys_decoder.decode(array_head(len(self)) + self.content.tobytes())
        return self._tuples

    def since(self, first: int) -> "GroupKeys":
        """The keys from a number on."""
        return GroupKeys(self.data, self.bounds[first:])

    def raw(self, numbers: np.ndarray) -> msgspec.Raw:
        """The encoding of the list of some keys."""
        head = np.frombuffer(array_head(len(numbers)), np.uint8)
        _, data = self._gathered(numbers, len(head))
        data[: len(head)] = head
        return msgspec.Raw(data.data)

    def owners(self, within: range) -> np.ndarray:
        """The one of these shards that owns each key: stable over processes and restarts."""
        owners = np.empty(len(self), np.int32)
        key_bytes.place_keys(self.data, self.bounds, len(within), owners)
        return owners + np.int32(within.start)


class Numbering:
    """Numbers of values in the order of their first appearance: a hash table of their encodings."""

    def __init__(self) -> None:
        self._count = 0
        self._bounds = np.zeros(1, np.int64)
        self._data = np.empty(0, np.uint8)
        self._slots = np.empty(0, np.uint64)

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> Encodings:
        """By number, as far as there are numbers now."""
        return Encodings(self._data, self._bounds[: self._count + 1])

    def numbers(self, values: Encodings, limit: int = MOST) -> np.ndarray:
        """At most `limit` values get numbers; of others they are -1."""
        self._make_room(values)
        numbers = np.empty(len(values), np.int64)
        self._count = key_bytes.number_values(
            values.data, values.bounds, self._slots, numbers, self._data, self._bounds, self._count, limit
        )
        return numbers

    def _make_room(self, values: Encodings) -> None:
        """As if all values were new."""
        count = self._count + len(values)
        size = int(self._bounds[self._count]) + len(values.content)
        if size > len(self._data):
            self._data = _longer(self._data, size)
        if count >= len(self._bounds):
            self._bounds = _longer(self._bounds, count + 1)
        if 2 * count >= len(self._slots):
            self._slots = np.zeros(1 << (2 * count).bit_length(), np.uint64)
            key_bytes.fill_slots(self._data, self._bounds, self._count, self._slots)


def array_head(size: int) -> bytes:
    """What the encoding of a list of so many values begins with.

    >>> array_head(2), array_head(16)
    (b'\\x92', b'\\xdc\\x00\\x10')
    """
    if size < 16:
        return bytes([0x90 | size])
    return b"\xdc" + size.to_bytes(2) if size < 1 << 16 else b"\xdd" + size.to_bytes(4)


def _bounds_of(lengths: np.ndarray | list[int]) -> np.ndarray:
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    """A copy with room for `size` and some more."""
    copy = np.empty(max(size, len(array) + len(array) // 2), array.dtype)
    copy[: len(array)] = array
    return copy


def _indices(numbers: np.ndarray) -> np.ndarray:
    return _unwritable(np.ascontiguousarray(numbers, np.int64))


def _unwritable(array: np.ndarray) -> np.ndarray:
    """A view that nobody writes through: always, so that what takes it is compiled once."""
    view = array.view()
    view.flags.writeable = False
    return view
