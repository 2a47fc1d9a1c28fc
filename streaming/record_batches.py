"""From the bytes of a fetch answer to messages, without a Python object for each of them."""

import os
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from kafka.record import MemoryRecords
from kafka.record.util import calc_crc32c

from streaming import record_scan as scan
from streaming.decompression import TooLarge, decompressed
from streaming.kafka_connection import Aborted

_INT32 = struct.Struct(">i")

# Of values in one `Messages`, unless a single batch has more; Arrow's offsets have 31 bits.
ENOUGH_BYTES = 32 << 20
MOST_BYTES = (1 << 31) - 1
# What a batch may take when decompressed, which may be a thousand times what it takes in the log.
DECOMPRESSED_MB = int(os.environ.get("MILLRACE_LARGEST_BATCH_MB", "64"))
ROW_BYTES = 21  # that a message takes beside those of its record
UNREAD_AT_ONCE = 100_000  # offsets of messages that cannot be read


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
    are_aborted: bool = False  # by their transaction
    problem: str = ""  # why they cannot be read: the values are not known then

    def __len__(self) -> int:
        return len(self.offsets)


class Record(NamedTuple):
    """A whole message, for people to look at."""

    offset: int
    timestamp: int  # ms; -1: none
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    is_aborted: bool = False
    problem: str = ""  # why it cannot be read


class RecordBatches:
    """The whole batches of one answer; they stay in its bytes, so read them before the next is received."""

    def __init__(self, records: memoryview, position: int, aborted: Sequence[Aborted] = ()) -> None:
        """`position` is the offset that was asked for; `aborted` lists transactions of these batches."""
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
        if aborted:
            self._mark_aborted(aborted)

    def messages(self, start: int, until: int, with_aborted: bool = False) -> Iterator[Messages]:
        """Those with start ≤ offset < until."""
        is_message = self._batches[:, scan.ATTRIBUTES] & scan.CONTROL == 0
        is_asked = is_message if with_aborted else is_message & (self._batches[:, scan.IS_ABORTED] == 0)
        for alike in _stretches(self._batches[is_asked]):
            if alike[0, scan.MAGIC] < 2:
                yield from self._old_messages(alike, start, until)
                continue
            wanted = alike[_wanted(alike, start, until)]
            self._check(wanted)
            compression = int(alike[0, scan.ATTRIBUTES]) & scan.COMPRESSION
            if compression:
                yield from self._compressed_messages(wanted, compression, start, until)
            else:
                yield from _read(*self._plain(wanted), start, until)

    def records(self, start: int, until: int) -> Iterator[Record]:
        """The same with keys and headers, one by one, also those of aborted transactions."""
        is_message = self._batches[:, scan.ATTRIBUTES] & scan.CONTROL == 0
        wanted = self._batches[is_message & (self._batches[:, scan.LAST_OFFSET] >= start)]
        for batch in wanted[wanted[:, scan.BASE_OFFSET] < until]:
            is_aborted = bool(batch[scan.IS_ABORTED])
            try:
                found = self._whole_records(batch)
            except TooLarge:
                for part in _unread(batch, start, until):
                    for offset, timestamp in zip(part.offsets.tolist(), part.timestamps.tolist()):
                        yield Record(offset, timestamp, None, None, (), is_aborted, part.problem)
                continue
            for each in found:
                if start <= each.offset < until:
                    timestamp = -1 if each.timestamp is None else each.timestamp
                    headers = tuple(each.headers or ())
                    yield Record(each.offset, timestamp, each.key, each.value, headers, is_aborted)

    def _whole_records(self, batch: np.ndarray) -> list[Any]:
        if batch[scan.MAGIC] < 2:
            return self._old_records(batch)
        self._check(batch[np.newaxis])
        compression = int(batch[scan.ATTRIBUTES]) & scan.COMPRESSION
        if compression and next(self._decompress(batch[np.newaxis], compression)) is None:
            raise TooLarge
        return self._as_kafka_python_reads(batch)

    def _mark_aborted(self, aborted: Sequence[Aborted]) -> None:
        """Mark these transactions: each goes from its first offset to its producer's next mark."""
        coming = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
        open_producers: set[int] = set()
        attributes = self._batches[:, scan.ATTRIBUTES]
        for row in np.flatnonzero(attributes & scan.TRANSACTIONAL).tolist():
            batch = self._batches[row]
            while coming and coming[0].first_offset <= batch[scan.LAST_OFFSET]:
                open_producers.add(coming.popleft().producer)
            producer = int(batch[scan.PRODUCER])
            if not batch[scan.ATTRIBUTES] & scan.CONTROL:
                batch[scan.IS_ABORTED] = producer in open_producers
            elif producer in open_producers:
                self._check(batch[np.newaxis])
                if batch[scan.ABORTS]:
                    open_producers.remove(producer)

    def _following(self) -> int:
        last = self._batches[-1]
        if last[scan.MAGIC] == 2:
            return int(last[scan.LAST_OFFSET]) + 1
        try:
            return max(record.offset for record in self._old_records(last)) + 1
        except TooLarge:
            return int(last[scan.LAST_OFFSET]) + 1

    def _check(self, batches: np.ndarray) -> None:
        columns = (batches[:, column].tolist() for column in (scan.START, scan.END, scan.CHECKSUM))
        for row, (start, end, checksum) in enumerate(zip(*columns)):
            if calc_crc32c(self._records[start + scan.CHECKED_FROM : end]) != checksum:
                raise Damaged(_base(batches, row), "the checksum of a batch is wrong")

    def _plain(self, batches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The bytes in which the records of batches lie, and the batches with their places among them."""
        batches[:, scan.START] += scan.HEADER
        return self._data, batches

    def _compressed_messages(
        self, batches: np.ndarray, compression: int, start: int, until: int
    ) -> Iterator[Messages]:
        """In several parts if they are large."""
        opened: list[bytes] = []
        first = size = 0
        for row, data in enumerate(self._decompress(batches, compression)):
            if opened and (data is None or size + len(data) > ENOUGH_BYTES):
                yield from _read(*_joined(opened, batches[first:row]), start, until)
                opened, size = [], 0
            if data is None:
                yield from _unread(batches[row], start, until)
                continue
            first = first if opened else row
            opened.append(data)
            size += len(data)
        if opened:
            yield from _read(*_joined(opened, batches[first : first + len(opened)]), start, until)

    def _decompress(self, batches: np.ndarray, compression: int) -> Iterator[bytes | None]:
        """The bytes of each batch; None: it is too large."""
        most = DECOMPRESSED_MB << 20
        columns = (batches[:, column].tolist() for column in (scan.START, scan.END, scan.COUNT))
        for row, (start, end, count) in enumerate(zip(*columns)):
            try:
                data = decompressed(compression, self._records[start + scan.HEADER : end], most)
            except TooLarge:
                yield None
                continue
            except Exception as error:  # every library has classes of its own
                raise Damaged(_base(batches, row), f"a batch cannot be decompressed ({error})") from error
            rows = min(count, len(data) // scan.LEAST_RECORD)  # it may claim any number
            yield data if len(data) + ROW_BYTES * rows <= most else None

    def _old_messages(self, batches: np.ndarray, start: int, until: int) -> Iterator[Messages]:
        """Messages as Kafka wrote them before version 0.11; kafka-python reads them one by one."""
        found: list[Any] = []
        for batch in batches:
            try:
                found += self._old_records(batch)
            except TooLarge:
                yield from _listed(found, start, until)
                yield from _unread(batch, start, until)
                found = []
        yield from _listed(found, start, until)

    def _check_old_size(self, batch: np.ndarray) -> None:
        """Raise TooLarge if a message wraps others that take too much: kafka-python has no bound."""
        message = self._records[batch[scan.START] : batch[scan.END]]
        codec = message[scan.OLD_ATTRIBUTES] & scan.COMPRESSION
        if not codec:
            return
        try:
            place = scan.OLD_KEY + (scan.OLD_TIME_BYTES if batch[scan.MAGIC] else 0)
            place += _INT32.size + max(_INT32.unpack_from(message, place)[0], 0)  # the value follows
            value = place + _INT32.size
            size = _INT32.unpack_from(message, place)[0]
            decompressed(codec, message[value : value + max(size, 0)], DECOMPRESSED_MB << 20)
        except TooLarge:
            raise
        except Exception:  # kafka-python says what is damaged
            return

    def _old_records(self, batch: np.ndarray) -> list[Any]:
        self._check_old_size(batch)
        return self._as_kafka_python_reads(batch)

    def _as_kafka_python_reads(self, batch: np.ndarray) -> list[Any]:
        try:
            records = MemoryRecords(bytes(self._records[batch[scan.START] : batch[scan.END]])).next_batch()
            found = list(records) if records.validate_crc() else []
        except Exception as error:  # of damaged bytes it may make anything
            raise Damaged(self._position, f"a message is not readable ({error})") from error
        if not found:
            raise Damaged(self._position, "the checksum of a message is wrong")
        return found


def _listed(records: list[Any], start: int, until: int) -> Iterator[Messages]:
    kept = [record for record in records if start <= record.offset < until]
    if kept:
        yield Messages(
            np.array([record.offset for record in kept], np.int64),
            np.array([-1 if record.timestamp is None else record.timestamp for record in kept], np.int64),
            pa.array([record.value for record in kept], pa.binary()),
        )


def _stretches(batches: np.ndarray) -> list[np.ndarray]:
    """Cut a table of batches where format, compression or their transactions' end change."""
    formats = 2 * batches[:, scan.MAGIC] + batches[:, scan.IS_ABORTED]
    kinds = 8 * formats + (batches[:, scan.ATTRIBUTES] & scan.COMPRESSION)
    parts = np.split(batches, np.flatnonzero(np.diff(kinds)) + 1)
    return [part for part in parts if len(part)]


def _wanted(batches: np.ndarray, start: int, until: int) -> np.ndarray:
    wanted: np.ndarray = (batches[:, scan.LAST_OFFSET] >= start) & (batches[:, scan.BASE_OFFSET] < until)
    return wanted


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
        yield Messages(offsets[:count], timestamps[:count], values, bool(batches[0, scan.IS_ABORTED]))


def _unread(batch: np.ndarray, start: int, until: int) -> Iterator[Messages]:
    """The messages of a batch that is too large, by what its header says of their offsets."""
    base, last, count = (int(batch[column]) for column in (scan.BASE_OFFSET, scan.LAST_OFFSET, scan.COUNT))
    end = min(until, last + 1, base + count if count > 0 else until)
    for low in range(max(base, start), end, UNREAD_AT_ONCE):
        offsets = np.arange(low, min(end, low + UNREAD_AT_ONCE), dtype=np.int64)
        yield Messages(
            offsets,
            np.full(len(offsets), batch[scan.MAX_TIME]),
            pa.nulls(len(offsets), pa.binary()),
            bool(batch[scan.IS_ABORTED]),
            f"Its record batch takes more than {DECOMPRESSED_MB} MB when decompressed.",
        )


def _binary(present: np.ndarray, bounds: np.ndarray, store: pa.Buffer) -> pa.Array:
    nulls = len(present) - int(np.count_nonzero(present))
    validity = pa.py_buffer(np.packbits(present, bitorder="little")) if nulls else None
    buffers = [validity, pa.py_buffer(bounds), store.slice(0, int(bounds[-1]))]
    return pa.Array.from_buffers(pa.binary(), len(present), buffers, nulls)


def _bytes(data: bytes | memoryview) -> np.ndarray:
    array = np.frombuffer(data, np.uint8)
    array.flags.writeable = False  # always, so that scans are compiled once
    return array
