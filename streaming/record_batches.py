"""From the bytes of a fetch answer to messages, without a Python object for each of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from kafka import codec
from kafka.record import MemoryRecords
from kafka.record.util import calc_crc32c

from streaming import record_scan as scan

# Of values in one `Messages`; Arrow's offsets have 31 bits.
ENOUGH_BYTES = 32 << 20
MOST_BYTES = (1 << 31) - 1

_CODECS: dict[int, Callable[[Any], bytes]] = {
    1: codec.gzip_decode,
    2: codec.snappy_decode,
    3: codec.lz4_decode,
    4: codec.zstd_decode,
}


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


@dataclass(frozen=True)
class _Part:
    """One batch's records, decompressed."""

    batch: np.ndarray
    data: np.ndarray
    start: int
    end: int


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
        parts: list[_Part] = []
        size = 0
        for batch in self._batches:
            if batch[scan.MAGIC] < 2:
                yield from _read_all(parts, start, until)
                yield _old_messages(self._old_records(batch), start, until)
                parts, size = [], 0
                continue
            if not _wanted(batch, start, until):
                continue
            part = self._open(batch)
            if parts and size + part.end - part.start > ENOUGH_BYTES:
                yield from _read_all(parts, start, until)
                parts, size = [], 0
            parts.append(part)
            size += part.end - part.start
        yield from _read_all(parts, start, until)

    def _following(self) -> int:
        last = self._batches[-1]
        if last[scan.MAGIC] == 2:
            return int(last[scan.LAST_OFFSET]) + 1
        return max(record.offset for record in self._old_records(last)) + 1

    def _open(self, batch: np.ndarray) -> _Part:
        """Check a batch and decompress it."""
        start, end, base = int(batch[scan.START]), int(batch[scan.END]), int(batch[scan.BASE_OFFSET])
        if calc_crc32c(self._records[start + scan.CHECKED_FROM : end]) != batch[scan.CHECKSUM]:
            raise Damaged(base, "the checksum of a batch is wrong")
        compression = int(batch[scan.ATTRIBUTES]) & scan.COMPRESSION
        if compression:
            data = _bytes(_decompress(self._records[start + scan.HEADER : end], compression, base))
            part = _Part(batch, data, 0, len(data))
        else:
            part = _Part(batch, self._data, start + scan.HEADER, end)
        if not 0 <= batch[scan.COUNT] * scan.LEAST_RECORD <= part.end - part.start <= MOST_BYTES:
            raise Damaged(base, "a batch cannot hold as many messages as it says")
        return part

    def _old_records(self, batch: np.ndarray) -> list[Any]:
        """Messages as Kafka wrote them before version 0.11; kafka-python reads them one by one."""
        try:
            records = MemoryRecords(bytes(self._records[batch[scan.START] : batch[scan.END]])).next_batch()
            found = list(records) if records.validate_crc() else []
        except Exception as error:  # of damaged bytes it may make anything
            raise Damaged(self._position, f"a message is not readable ({error})") from error
        if not found:
            raise Damaged(self._position, "the checksum of a message is wrong")
        return found


def _wanted(batch: np.ndarray, start: int, until: int) -> bool:
    is_control = batch[scan.ATTRIBUTES] & scan.CONTROL
    return not is_control and batch[scan.LAST_OFFSET] >= start and batch[scan.BASE_OFFSET] < until


def _decompress(compressed: memoryview, compression: int, base: int) -> bytes:
    if compression not in _CODECS:
        raise Damaged(base, "a batch is compressed in an unknown way")
    try:
        return _CODECS[compression](bytes(compressed))
    except Exception as error:  # every library has classes of its own
        raise Damaged(base, f"a batch cannot be decompressed ({error})") from error


def _read_all(parts: list[_Part], start: int, until: int) -> Iterator[Messages]:
    rows = sum(int(part.batch[scan.COUNT]) for part in parts)
    if not rows:
        return
    store = pa.allocate_buffer(sum(part.end - part.start for part in parts))
    values = np.frombuffer(store, np.uint8)
    offsets, timestamps = np.empty(rows, np.int64), np.empty(rows, np.int64)
    present, bounds = np.empty(rows, np.bool_), np.empty(rows + 1, np.int32)
    bounds[0] = count = 0
    for part in parts:
        columns = offsets, timestamps, present, bounds, values
        count, damaged = scan.read_records(
            part.data, part.start, part.end, part.batch, start, until, *columns, count
        )
        if damaged >= 0:
            raise Damaged(int(part.batch[scan.BASE_OFFSET]), "a record has an impossible length")
    if count:
        yield Messages(
            offsets[:count],
            timestamps[:count],
            _binary(present[:count], bounds[: count + 1], store),
        )


def _binary(present: np.ndarray, bounds: np.ndarray, store: pa.Buffer) -> pa.Array:
    nulls = len(present) - int(np.count_nonzero(present))
    validity = pa.py_buffer(np.packbits(present, bitorder="little")) if nulls else None
    buffers = [validity, pa.py_buffer(bounds), store.slice(0, int(bounds[-1]))]
    return pa.Array.from_buffers(pa.binary(), len(present), buffers, nulls)


def _old_messages(records: list[Any], start: int, until: int) -> Messages:
    kept = [record for record in records if start <= record.offset < until]
    return Messages(
        np.array([record.offset for record in kept], np.int64),
        np.array([-1 if record.timestamp is None else record.timestamp for record in kept], np.int64),
        pa.array([record.value for record in kept], pa.binary()),
    )


def _bytes(data: bytes | memoryview) -> np.ndarray:
    array = np.frombuffer(data, np.uint8)
    array.flags.writeable = False  # always, so that scans are compiled once
    return array
