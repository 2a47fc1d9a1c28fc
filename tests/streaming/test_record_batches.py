"""Record batches as kafka-python writes and reads them, and damaged ones, against the compiled reader."""

import ctypes
import mmap
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.codec import gzip_encode, lz4_encode, snappy_encode, zstd_encode
from kafka.record import MemoryRecords, MemoryRecordsBuilder
from kafka.record.util import calc_crc32c

from streaming import record_batches
from streaming.decompression import TooLarge, decompressed
from streaming.record_batches import Damaged, RecordBatches
from streaming.record_scan import CHECKED_FROM, HEADER
from streaming.warm_up import read_batches

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
FOREVER = 1 << 62
Row = tuple[int, int, bytes | None]

optional_bytes = st.none() | st.binary(max_size=300)
timestamps = st.integers(min_value=0, max_value=1 << 45)
headers = st.lists(st.tuples(st.text(max_size=10), st.binary(max_size=10)), max_size=3)
records = st.lists(st.tuples(timestamps, optional_bytes, optional_bytes, headers), min_size=1, max_size=40)


def batch(content: list[tuple[Any, ...]], offset: int = 0, compression: int = NONE, magic: int = 2) -> bytes:
    builder = MemoryRecordsBuilder(magic, compression, batch_size=1 << 30, offset=offset)
    for item in content:
        builder.append(*item)
    builder.close()
    return bytes(builder.buffer())


def numbered(count: int, offset: int = 0, compression: int = NONE) -> bytes:
    return batch([(n, None, b"message %d" % n, []) for n in range(count)], offset, compression)


def read(data: bytes | memoryview, position: int = 0, start: int = 0, until: int = FOREVER) -> list[Row]:
    rows: list[Row] = []
    for messages in RecordBatches(memoryview(data), position).messages(start, until):
        messages.values.validate(full=True)
        rows += zip(messages.offsets.tolist(), messages.timestamps.tolist(), messages.values.to_pylist())
    return rows


def as_kafka_python_reads(data: bytes) -> list[Row]:
    return [(record.offset, record.timestamp, record.value) for one in MemoryRecords(data) for record in one]


def resealed(data: bytes) -> bytes:
    """A batch that was changed, with the checksum of what it is now."""
    checksum = calc_crc32c(memoryview(data)[CHECKED_FROM:])
    return data[:17] + struct.pack(">I", checksum) + data[CHECKED_FROM:]


@pytest.mark.parametrize("compression", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
@settings(max_examples=40, deadline=None)
@given(contents=st.lists(records, min_size=1, max_size=4))
def test_messages_are_those_that_kafka_python_reads(compression: int, contents: list[list[tuple[Any, ...]]]):
    data, offset = b"", 7
    for content in contents:
        data += batch(content, offset, compression)
        offset += len(content)
    assert read(data) == as_kafka_python_reads(data)
    assert RecordBatches(memoryview(data), 7).following == offset


@settings(max_examples=40, deadline=None)
@given(start=st.integers(0, 60), until=st.integers(0, 60))
def test_messages_outside_the_range_are_left_out(start: int, until: int):
    data = b"".join(numbered(10, offset) for offset in (5, 15, 30))  # nothing has the offsets from 25 to 29
    assert read(data, 5, start, until) == [
        row for row in as_kafka_python_reads(data) if start <= row[0] < until
    ]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_batch_that_is_cut_off_waits_for_the_next_answer(data: st.DataObject):
    first, second = numbered(10, 0), numbered(10, 10, LZ4)
    length = data.draw(st.integers(len(first), len(first) + len(second) - 1))
    batches = RecordBatches(memoryview((first + second)[:length]), 0)
    assert batches.following == 10
    assert read((first + second)[:length]) == as_kafka_python_reads(first)


def test_batches_of_one_answer_may_be_compressed_differently():
    kinds = [NONE, LZ4, LZ4, NONE, GZIP, ZSTD, NONE, NONE, SNAPPY]
    data = b"".join(numbered(10, 10 * place, kind) for place, kind in enumerate(kinds))
    assert read(data) == as_kafka_python_reads(data)
    assert read(data, 0, 15, 47) == as_kafka_python_reads(data)[15:47]


def test_compression_that_nobody_knows():
    data = bytearray(numbered(3))
    data[21:23] = struct.pack(">h", 7)
    with pytest.raises(Damaged, match="nobody knows how it was compressed"):
        read(resealed(bytes(data)))


def test_an_answer_without_batches_has_no_messages():
    assert RecordBatches(memoryview(b""), 5).following == 5
    assert read(b"", 5) == []


def test_snappy_without_the_framing_of_java():
    plain = numbered(10)
    compressed = snappy_encode(plain[HEADER:], xerial_compatible=False)
    data = bytearray(plain[:HEADER] + compressed)
    data[8:12] = struct.pack(">i", len(data) - 12)
    data[21:23] = struct.pack(">h", SNAPPY)
    assert read(resealed(bytes(data))) == as_kafka_python_reads(plain)


def test_the_broker_s_time_counts_where_it_stamps_messages():
    data = bytearray(numbered(3))
    data[21:23] = struct.pack(">h", 8)
    data[35:43] = struct.pack(">q", 123_456)
    assert [timestamp for _, timestamp, _ in read(resealed(bytes(data)))] == [123_456] * 3


def test_batches_of_transactions_own_marks_are_skipped():
    control = bytearray(numbered(1, 10))
    control[21:23] = struct.pack(">h", 0x30)
    data = numbered(10) + resealed(bytes(control)) + numbered(2, 11)
    assert [offset for offset, _, _ in read(data)] == [*range(10), 11, 12]


def test_what_is_left_of_a_compacted_batch():
    empty = bytearray(numbered(10))[:HEADER]  # compaction leaves the header, with the offsets there were
    empty[8:12] = struct.pack(">i", HEADER - 12)
    empty[57:61] = struct.pack(">i", 0)
    assert RecordBatches(memoryview(resealed(bytes(empty))), 0).following == 10
    assert read(resealed(bytes(empty))) == []


@pytest.mark.parametrize("compression", [NONE, GZIP, SNAPPY])
@pytest.mark.parametrize("magic", [0, 1])
def test_formats_of_old_are_read(magic: int, compression: int):
    data = batch([(5, b"k", b"one"), (6, None, None), (7, b"", b"")], 0, compression, magic) + numbered(4, 3)
    rows = [
        (offset, -1 if time is None else time, value) for offset, time, value in as_kafka_python_reads(data)
    ]
    assert len(rows) == 7
    assert read(data) == rows
    assert read(data, 1, 1, 5) == rows[1:5]


def test_many_bytes_come_in_several_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(record_batches, "ENOUGH_BYTES", 2_000)
    data = b"".join(numbered(20, offset, LZ4) for offset in range(0, 200, 20))
    parts = list(RecordBatches(memoryview(data), 0).messages(0, FOREVER))
    assert len(parts) > 1
    assert all(part.values.nbytes < 10_000 for part in parts)
    assert read(data) == as_kafka_python_reads(data)


@pytest.mark.parametrize("compression", [NONE, LZ4])
def test_a_wrong_checksum_is_noticed_wherever_the_damage_is(compression: int):
    intact = numbered(5) + numbered(5, 5, compression)
    second = len(numbered(5))
    for position in range(second + CHECKED_FROM, len(intact)):
        damaged = bytearray(intact)
        damaged[position] ^= 0x40
        with pytest.raises(Damaged) as noticed:
            read(bytes(damaged))
        assert "checksum" in str(noticed.value) or "offsets" in str(noticed.value)
        assert noticed.value.offset in (0, 5)


class Brink:
    """Memory that ends where nothing may be read: one byte more ends the process."""

    def __init__(self, size: int = 16 * mmap.PAGESIZE) -> None:
        self._memory = mmap.mmap(-1, size + mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        forbidden = ctypes.CDLL(None, use_errno=True).mprotect(
            ctypes.c_void_p(address + size), mmap.PAGESIZE, 0
        )
        assert forbidden == 0
        self._view = memoryview(self._memory)[:size]

    def put(self, data: bytes) -> memoryview:
        """The bytes, so that they end there."""
        place = self._view[len(self._view) - len(data) :]
        place[:] = data
        return place


brink = Brink()


def read_or_refuse(data: bytes) -> list[Row] | str:
    try:
        return read(brink.put(data))
    except Damaged as damage:
        return str(damage)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    compression=st.sampled_from([NONE, SNAPPY, LZ4, ZSTD, GZIP]),
    seal=st.booleans(),
)
def test_damaged_bytes_are_refused_or_read_but_nothing_beyond_them(changes, compression: int, seal: bool):
    content = [
        (5, b"key", b"v" * 20, [("h", b"x")]),
        (6, None, None, []),
        (7, None, b"", []),
        (8, b"", b"w", []),
    ]
    data = bytearray(batch(content, 0, compression))
    for position, value in changes:
        data[position % len(data)] = value
    read_or_refuse(resealed(bytes(data)) if seal else bytes(data))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_at_all(data: bytes):
    read_or_refuse(data)


MEGABYTE = 1 << 20


@pytest.fixture
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_batches, "DECOMPRESSED_MB", 1)


def unread(data: bytes, start: int = 0, until: int = FOREVER) -> list[int]:
    """The offsets of messages that are refused, whose values nobody knows."""
    parts = [part for part in RecordBatches(memoryview(data), 0).messages(start, until) if part.problem]
    assert all(part.values.null_count == len(part) for part in parts)
    assert {part.problem for part in parts} <= {"Its record batch takes more than 1 MB when decompressed."}
    return [offset for part in parts for offset in part.offsets.tolist()]


def most_allocated(act: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("compression", [GZIP, SNAPPY, LZ4, ZSTD])
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=2_000) | st.builds(lambda size: bytes(size), st.integers(0, 200_000)))
def test_what_is_decompressed_ends_at_the_bound(compression: int, data: bytes):
    compress = {GZIP: gzip_encode, SNAPPY: snappy_encode, LZ4: lz4_encode, ZSTD: zstd_encode}[compression]
    compressed = memoryview(compress(data))
    for most in (len(data), len(data) + 1, 10 * len(data) + 7):
        assert decompressed(compression, compressed, most) == data
    for most in {0, len(data) // 2, len(data) - 1} - {len(data), -1}:
        with pytest.raises(TooLarge):
            decompressed(compression, compressed, most)


@pytest.mark.parametrize("compression", [GZIP, SNAPPY, LZ4, ZSTD])
def test_messages_of_a_batch_that_is_too_large_are_refused_and_the_rest_goes_on(one_megabyte, compression):
    bomb = batch([(n, None, bytes(8 << 20), []) for n in range(5)], 0, compression)
    bomb = struct.pack(">q", 10) + bomb[8:]  # its first offset
    data = numbered(10, 0, compression) + bomb + numbered(10, 15, compression)
    assert len(bomb) < 3 * MEGABYTE
    assert unread(data) == [10, 11, 12, 13, 14]
    assert unread(data, 12, 14) == [12, 13]
    assert RecordBatches(memoryview(data), 0).following == 25
    known = [row for row in read(data) if row[2] is not None]
    assert known == as_kafka_python_reads(numbered(10) + numbered(10, 15))
    assert most_allocated(lambda: read(bomb, 10)) < 4 * MEGABYTE


@pytest.mark.parametrize("compression", [GZIP, SNAPPY])
@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_old_that_are_too_large_are_refused(one_megabyte, magic: int, compression: int):
    bomb = batch([(5, b"k", bytes(8 << 20))] * 3, 0, compression, magic)
    data = batch([(5, b"k", b"one")], 0, compression, magic) + bomb + numbered(4, 3)
    assert set(unread(bomb)) <= {0, 2}  # where the message lies that wraps them
    assert [value for _, _, value in read(data)] == [b"one", None, *(b"message %d" % n for n in range(4))]
    assert most_allocated(lambda: read(bomb)) < 4 * MEGABYTE


def test_messages_that_take_more_than_their_bytes_count_with_what_they_take(one_megabyte):
    tiny = [(0, None, None, [])] * 100_000  # of seven bytes
    assert len(unread(batch(tiny, 0, ZSTD))) == 100_000
    assert unread(batch(tiny[:10_000], 0, ZSTD)) == []


def test_a_batch_that_lies_about_its_messages_is_refused_by_what_it_has(one_megabyte):
    bomb = bytearray(batch([(0, None, bytes(8 << 20), [])], 0, ZSTD))
    bomb[23:27] = struct.pack(">i", (1 << 31) - 2)  # the last offset
    bomb[57:61] = struct.pack(">i", (1 << 31) - 1)
    data = resealed(bytes(bomb))
    assert unread(data, 5, 25) == list(range(5, 25))
    first = next(RecordBatches(memoryview(data), 0).messages(0, FOREVER))
    assert len(first) == record_batches.UNREAD_AT_ONCE


def with_content(compression: int, content: bytes) -> bytes:
    """A batch of one message, whose records are compressed as these bytes say."""
    data = bytearray(numbered(1)[:HEADER] + content)
    data[8:12] = struct.pack(">i", len(data) - 12)
    data[21:23] = struct.pack(">h", compression)
    return resealed(bytes(data))


@pytest.mark.parametrize(
    ("compression", "content"),
    [
        pytest.param(SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20), id="snappy: 4 GB"),
        pytest.param(SNAPPY, b"\x82SNAPPY\x00" + bytes(8) + b"\x00\x00\x00\x08\xff\xff\xff\xff\x0f000",
                     id="snappy in blocks: 4 GB"),
        pytest.param(ZSTD, b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x09\x00\x00x",
                     id="zstd: 1 TB"),
        pytest.param(LZ4, bytes.fromhex("04224d18 6c40 0000000000010000 d3 00000000"), id="lz4: 1 TB"),
    ],
)  # fmt: skip
def test_a_size_that_is_only_claimed_is_not_allocated(one_megabyte, compression: int, content: bytes):
    data = with_content(compression, content)

    def act() -> None:
        with suppress(Damaged):
            assert unread(data) == [0]

    assert most_allocated(act) < 3 * MEGABYTE


def of_one_record(record: str) -> bytes:
    """A batch of one record, its bytes given in hexadecimal, with a checksum that fits."""
    data = bytearray(numbered(1)[:HEADER] + bytes.fromhex(record))
    data[8:12] = struct.pack(">i", len(data) - 12)
    return resealed(bytes(data))


def test_a_record_by_its_bytes():
    # Its length, attributes, time, offset, no key, a value of one byte, no headers.
    assert read_or_refuse(of_one_record("0e 00 00 00 01 02 78 00")) == [(0, 0, b"x")]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param("10 00 00 00 01 02 78 00", id="longer than its batch"),
        pytest.param("fe ff ff ff ff ff ff ff ff 01 00 00", id="much longer than its batch"),
        pytest.param("0d 00 00 00 01 02 78 00", id="of negative length"),
        pytest.param("00 00 00 00 00 00 00 00", id="of no length"),
        pytest.param("0e 00 00 00 08 02 78 00", id="key longer than the record"),
        pytest.param("20 00 00 00 fe ff ff ff ff ff ff ff ff 01 00 00 00", id="key longer than anything"),
        pytest.param("0e 00 00 00 01 06 78 00", id="value longer than the record"),
        pytest.param("0e 00 00 00 01 03 78 00", id="value of negative length"),
        pytest.param("0e 00 ff ff ff ff ff ff", id="time without an end"),
        pytest.param("0e 00 00 ff ff ff ff ff", id="offset without an end"),
        pytest.param("0e 00 00 00 ff ff ff ff", id="key without an end"),
        pytest.param("0e 00 00 00 01 ff ff ff", id="value without an end"),
        pytest.param("ff ff ff ff ff ff ff ff", id="length without an end"),
    ],
)
def test_a_record_whose_parts_lead_outside_is_refused(record: str):
    assert read_or_refuse(of_one_record(record)) == "a record has an impossible length"


def test_a_batch_cannot_claim_more_messages_than_it_has_bytes():
    data = bytearray(numbered(3))
    data[57:61] = struct.pack(">i", (1 << 31) - 1)
    with pytest.raises(Damaged, match="as many messages"):
        read(resealed(bytes(data)))


def test_the_reader_is_compiled_at_set_up():
    (messages,) = read_batches()
    assert messages.values.to_pylist() == [b"{}"]
    assert messages.offsets.dtype == messages.timestamps.dtype == np.int64
