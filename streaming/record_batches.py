"""From the bytes of a fetch answer to messages, without a Python object for each of them."""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard
from kafka.codec import lz4_decode, snappy_decode
from kafka.record import MemoryRecords
from kafka.record.util import calc_crc32c

from streaming import record_scan as scan

# Of values in one `Messages`, unless a single batch has more; Arrow's offsets have 31 bits.
ENOUGH_BYTES = 32 << 20
MOST_BYTES = (1 << 31) - 1

# Comes with kafka-python, which makes a new one for every batch and takes ten times as long.
_zstd = zstandard.ZstdDecompressor()

# By the number that Kafka has for each.
_CODECS: dict[int, Callable[[memoryview], bytes]] = {
    1: gzip.decompress,
    2: lambda data: snappy_decode(bytes(data)),
    3: lz4_decode,
    4: lambda data: _zstd.decompressobj(read_across_frames=True).decompress(data),
}


def _unknown(data: memoryview) -> bytes:
    raise ValueError("nobody knows how it was compressed")


class Damaged(ValueError):
    """Bytes that are not what Kafka writes; the text says what is wrong, `offset` is of the batch."""

    def __init__(self, offset: int, what: str) -> None:
        super().__init__(what)
        self.offset = offset


@dataclass(frozen=True)
class Messages:
    """Messages of one partition, in log order."""

    offsets: np.ndarray  # int64
    timestamps: np.ndarray  # int64, ms
    values: pa.Array  # binary; null for a tombstone

    def __len__(self) -> int:
        return len(self.offsets)


class RecordBatches:
    """The whole batches of one answer; they stay in its bytes, so read them before the next is received."""

    def __init__(self, records: memoryview, position: int) -> None:
        """`position` is the offset that was asked for."""
        self._records = records
        self._data = _bytes(records)
        self._position = position
        count, damaged = scan.count_batches(self._data)
        if damaged >= 0:
            raise Damaged(position, "a batch has an impossible header")
        self._batches = np.zeros((count, scan.COLUMNS), np.int64)
        scan.find_batches(self._data, self._batches)
        if len(records) and not count:
            raise Damaged(position, "a batch is longer than what was sent of it")
        self.following = self._following() if count else position  # the offset to ask for next
        if count and self.following <= position:
            raise Damaged(position, "a batch has other offsets than those asked for")

    def messages(self, start: int, until: int) -> Iterator[Messages]:
        """Those with start ≤ offset < until."""
        for alike in _stretches(self._batches):
            if alike[0, scan.MAGIC] < 2:
                yield from self._old_messages(alike, start, until)
                continue
            wanted = alike[_wanted(alike, start, until)]
            self._check(wanted)
            compression = int(alike[0, scan.ATTRIBUTES]) & scan.COMPRESSION
            opened = self._decompressed(wanted, compression) if compression else [self._plain(wanted)]
            for data, batches in opened:
                yield from _read(data, batches, start, until)

    def _following(self) -> int:
        last = self._batches[-1]
        if last[scan.MAGIC] == 2:
            return int(last[scan.LAST_OFFSET]) + 1
        return max(record.offset for record in self._old_records(last)) + 1

    def _check(self, batches: np.ndarray) -> None:
        columns = (batches[:, column].tolist() for column in (scan.START, scan.END, scan.CHECKSUM))
        for row, (start, end, checksum) in enumerate(zip(*columns)):
            if calc_crc32c(self._records[start + scan.CHECKED_FROM : end]) != checksum:
                raise Damaged(_base(batches, row), "the checksum of a batch is wrong")

    def _plain(self, batches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bytes in which the records of batches lie, and the batches with their places among them."""
        batches[:, scan.START] += scan.HEADER
        return self._data, batches

    def _decompressed(self, batches: np.ndarray, compression: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `_plain`; in several parts if they are large."""
        opened: list[bytes] = []
        first = size = 0
        for row, data in enumerate(self._decompress(batches, compression)):
            if opened and size + len(data) > ENOUGH_BYTES:
                yield _joined(opened, batches[first:row])
                opened, first, size = [], row, 0
            opened.append(data)
            size += len(data)
        if opened:
            yield _joined(opened, batches[first:])

    def _decompress(self, batches: np.ndarray, compression: int) -> Iterator[bytes]:
        decompress = _CODECS.get(compression, _unknown)
        places = zip(batches[:, scan.START].tolist(), batches[:, scan.END].tolist())
        for row, (start, end) in enumerate(places):
            try:
                data = decompress(self._records[start + scan.HEADER : end])
            except Exception as error:  # every library has classes of its own
                raise Damaged(_base(batches, row), f"a batch cannot be decompressed ({error})") from error
            yield data

    def _old_messages(self, batches: np.ndarray, start: int, until: int) -> Iterator[Messages]:
        """Messages as Kafka wrote them before version 0.11; kafka-python reads them one by one."""
        found = [record for batch in batches for record in self._old_records(batch)]
        kept = [record for record in found if start <= record.offset < until]
        if kept:
            yield Messages(
                np.array([record.offset for record in kept], np.int64),
                np.array([-1 if record.timestamp is None else record.timestamp for record in kept], np.int64),
                pa.array([record.value for record in kept], pa.binary()),
            )

    def _old_records(self, batch: np.ndarray) -> list[Any]:
        try:
            records = MemoryRecords(bytes(self._records[batch[scan.START] : batch[scan.END]])).next_batch()
            found = list(records) if records.validate_crc() else []
        except Exception as error:  # of damaged bytes it may make anything
            raise Damaged(self._position, f"a message is not readable ({error})") from error
        if not found:
            raise Damaged(self._position, "the checksum of a message is wrong")
        return found


def _stretches(batches: np.ndarray) -> list[np.ndarray]:
    """Cut a table of batches where format or compression change."""
    kinds = 8 * batches[:, scan.MAGIC] + (batches[:, scan.ATTRIBUTES] & scan.COMPRESSION)
    parts = np.split(batches, np.flatnonzero(np.diff(kinds)) + 1)
    return [part for part in parts if len(part)]


def _wanted(batches: np.ndarray, start: int, until: int) -> np.ndarray:
    is_message = batches[:, scan.ATTRIBUTES] & scan.CONTROL == 0
    return is_message & (batches[:, scan.LAST_OFFSET] >= start) & (batches[:, scan.BASE_OFFSET] < until)


def _joined(opened: list[bytes], batches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([len(data) for data in opened], np.int64)
    batches[:, scan.END] = np.cumsum(lengths)
    batches[:, scan.START] = batches[:, scan.END] - lengths
    return _bytes(b"".join(opened)), batches


def _base(batches: np.ndarray, row: int) -> int:
    return int(batches[row, scan.BASE_OFFSET])


def _read(data: np.ndarray, batches: np.ndarray, start: int, until: int) -> Iterator[Messages]:
    """The messages of batches whose records lie in `data`."""
    counts, sizes = batches[:, scan.COUNT], batches[:, scan.END] - batches[:, scan.START]
    for row in np.flatnonzero((counts < 0) | (counts * scan.LEAST_RECORD > sizes)).tolist():
        raise Damaged(_base(batches, row), "a batch cannot hold as many messages as it says")
    rows, size = int(counts.sum()), int(sizes.sum())
    if size > MOST_BYTES:
        raise Damaged(_base(batches, 0), "a batch has more than 2 GB")
    store = pa.allocate_buffer(size)
    offsets, timestamps = np.empty(rows, np.int64), np.empty(rows, np.int64)
    present, bounds = np.empty(rows, np.bool_), np.zeros(rows + 1, np.int32)
    columns = offsets, timestamps, present, bounds, np.frombuffer(store, np.uint8)
    count, damaged = scan.read_batches(data, batches, start, until, *columns)
    if damaged >= 0:
        raise Damaged(_base(batches, damaged), "a record has an impossible length")
    if count:
        values = _binary(present[:count], bounds[: count + 1], store)
        yield Messages(offsets[:count], timestamps[:count], values)


def _binary(present: np.ndarray, bounds: np.ndarray, store: pa.Buffer) -> pa.Array:
    nulls = len(present) - int(np.count_nonzero(present))
    validity = pa.py_buffer(np.packbits(present, bitorder="little")) if nulls else None
    buffers = [validity, pa.py_buffer(bounds), store.slice(0, int(bounds[-1]))]
    return pa.Array.from_buffers(pa.binary(), len(present), buffers, nulls)


def _bytes(data: bytes | memoryview) -> np.ndarray:
    array = np.frombuffer(data, np.uint8)
    array.flags.writeable = False  # always, so that scans are compiled once
    return array
