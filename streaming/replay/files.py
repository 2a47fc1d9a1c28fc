"""Files of events. A file is a log of one partition; what its rows say is decided by the job's own formats.

Text files are cut into records, one message each; Parquet's rows come as the library reads them.
"""

import csv
from collections.abc import Collection, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streaming.decimals import decimal_of
from streaming.expressions import without_nan
from streaming.formats.scan.records import record_ends
from streaming.inference import infer
from streaming.replay.inputs import BATCH_EVENTS, SAMPLE_EVENTS, Batch, Input, UnreadableEvents, rows
from streaming.sources import FieldType, TimeUnit

BLOCK_BYTES = 32 << 20  # read at once: some 300,000 short records
LONGEST_BYTES = 256 << 20  # of a record; beyond that a quote was never closed, or it is no text file
SPACE = 32  # bytes up to this one are blank or control characters
DELIMITERS = {"csv": ",", "tsv": "\t"}
TEXT_FORMATS = {".jsonl": "json", ".ndjson": "json", ".json": "json", ".csv": "csv", ".tsv": "tsv"}
PER_MILLISECOND = {"ms": 1, "us": 1_000, "ns": 1_000_000}


def open_file(path: Path, time_zone: str) -> Input:
    """The input for a file, by its ending; `time_zone` is that of Parquet's times that name none."""
    if not path.is_file():
        raise UnreadableEvents(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise UnreadableEvents(f"{path} is empty.")
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".parquet"]:
        return ParquetFile(path, time_zone)
    zipped = endings[-1:] == [".gz"]
    text_format = TEXT_FORMATS.get("".join(endings[-2:-1] if zipped else endings[-1:]))
    if text_format is None:
        known = ", ".join(TEXT_FORMATS)
        raise UnreadableEvents(
            f"{path.name} does not say what it is: use {known} (each also with .gz) or .parquet."
        )
    if text_format == "json":
        return LineFile(path, zipped)
    return DelimitedFile(path, zipped, text_format)


@dataclass(frozen=True)
class _Block:
    """Whole records, end to end."""

    data: np.ndarray
    ends: np.ndarray
    read: int  # bytes of the file so far

    def values(self) -> pa.Array:
        """One message per record, without blank ones."""
        bounds = np.concatenate([[0], self.ends]).astype(np.int32)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self.data)]
        values = pa.Array.from_buffers(pa.binary(), len(self.ends), buffers)
        doubtful = np.flatnonzero(self.data[bounds[:-1]] <= SPACE)
        blank = [at for at in doubtful.tolist() if not values[at].as_py().strip()]
        if not blank:
            return values
        kept = np.ones(len(values), np.bool_)
        kept[blank] = False
        return values.filter(pa.array(kept))


class _TextFile:
    """Records of a file, in blocks."""

    times: dict[str, TimeUnit] = {}
    stamped = False
    partitions: tuple[int, ...] = (0,)
    whole = True

    def __init__(self, path: Path, zipped: bool, text_format: str) -> None:
        self.name = str(path)
        self.format = text_format
        self.total = path.stat().st_size
        self._path = path
        self._zipped = zipped

    def batches(self, fields: Collection[str], now: int) -> Iterator[Batch]:
        first = 0
        for block in self._blocks():
            values = block.values()
            numbers = np.arange(first, first + len(values))
            first += len(values)
            if len(values):
                yield Batch([rows(values, 0, numbers, None, now)], block.read)

    def _sample(self) -> list[bytes]:
        """The first records."""
        sample: list[bytes] = []
        with closing(self._blocks()) as blocks:
            for block in blocks:
                sample += block.values().slice(0, SAMPLE_EVENTS - len(sample)).to_pylist()
                if len(sample) == SAMPLE_EVENTS:
                    break
        if not sample:
            raise UnreadableEvents(f"{self.name} holds no events.")
        return sample

    def _blocks(self) -> Generator[_Block]:
        with self._opened() as (raw, stream):
            rest = self._skipped(stream)
            while True:
                read = stream.read(BLOCK_BYTES)
                data = np.frombuffer(rest + read + (b"" if read else b"\n"), np.uint8)
                ends = self._ends(data)
                cut = int(ends[-1]) if len(ends) else 0
                if not read and cut < len(data):  # a quote that was never closed
                    ends, cut = np.append(ends, len(data)), len(data)
                rest = data[cut:].tobytes()
                if len(rest) > LONGEST_BYTES:
                    raise UnreadableEvents(
                        f"{self.name} has a record of more than {LONGEST_BYTES >> 20} MB:"
                        " is a quote not closed, or is it another kind of file?"
                    )
                if len(ends):
                    yield _Block(data[:cut], ends, raw.tell())
                if not read:
                    return

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
        """The file, and what it holds."""
        try:
            with pa.OSFile(str(self._path)) as raw:
                yield raw, pa.CompressedInputStream(raw, "gzip") if self._zipped else raw
        except OSError as error:
            if not self._zipped or error.errno:
                raise
            raise UnreadableEvents(f"{self.name} cannot be unpacked: it is not a whole gzip file.") from error

    def _skipped(self, stream: pa.NativeFile) -> bytes:
        """What was read of the records when all before them is skipped."""
        return b""

    def _ends(self, data: np.ndarray) -> np.ndarray:
        """Where records end."""
        return np.flatnonzero(data == ord("\n")) + 1


class LineFile(_TextFile):
    """JSON, one object per line."""

    def __init__(self, path: Path, zipped: bool) -> None:
        super().__init__(path, zipped, "json")
        inference = infer(self._sample())
        if not inference.readable:
            raise UnreadableEvents(
                f"{self.name} cannot be read as JSON lines: write one object per line, {{…}}."
            )
        self.types: dict[str, FieldType] = dict(inference.schema)


class DelimitedFile(_TextFile):
    """Comma or tab-separated records behind a header with the names of the fields."""

    def __init__(self, path: Path, zipped: bool, text_format: str) -> None:
        super().__init__(path, zipped, text_format)
        self._delimiter = DELIMITERS[text_format]
        names = self._names()
        inferred = {
            field.name: field.type
            for field in infer(self._sample(), text_format).fields
            if field.type is not None
        }
        numbered = (inferred.get(f"column_{number}", "text") for number in range(1, len(names) + 1))
        self.types: dict[str, FieldType] = dict(zip(names, numbered, strict=True))

    def _names(self) -> list[str]:
        with self._opened() as (_, stream):
            header, _ = self._header(stream)
        try:
            names = next(csv.reader([header.decode("utf-8-sig")], delimiter=self._delimiter), [])
        except UnicodeDecodeError as error:
            raise UnreadableEvents(f"The header of {self.name} is not UTF-8.") from error
        for position, name in enumerate(names):
            if not name.strip():
                raise UnreadableEvents(f"Column {position + 1} in the header of {self.name} has no name.")
            if name in names[:position]:
                raise UnreadableEvents(f"The header of {self.name} has “{name}” twice.")
        if not names:
            raise UnreadableEvents(f"{self.name} has no header: its first line must name the columns.")
        return names

    def _header(self, stream: pa.NativeFile) -> tuple[bytes, bytes]:
        """The first record, and what was read of the others."""
        read = b""
        while True:
            more = stream.read(1 << 16)
            read += more
            data = np.frombuffer(read if more else read + b"\n", np.uint8)
            ends = self._ends(data)
            if len(ends) or not more:
                end = int(ends[0]) if len(ends) else len(read)
                return read[:end], read[end:]

    def _skipped(self, stream: pa.NativeFile) -> bytes:
        return self._header(stream)[1]

    def _ends(self, data: np.ndarray) -> np.ndarray:
        ends = np.empty(int(np.count_nonzero(data == ord("\n"))), np.int64)
        count = record_ends(data, np.uint8(ord(self._delimiter)), ends)
        return ends[:count]


class ParquetFile:
    """Columns of plain types; instants are whole numbers of milliseconds."""

    format = "arrow"
    stamped = False
    partitions: tuple[int, ...] = (0,)
    whole = True

    def __init__(self, path: Path, time_zone: str) -> None:
        self.name = str(path)
        self._time_zone = time_zone
        try:
            self._file = pq.ParquetFile(path)
        except pa.ArrowInvalid as error:
            raise UnreadableEvents(f"{path} cannot be read as Parquet.") from error
        self.total = self._file.metadata.num_rows
        if not self.total:
            raise UnreadableEvents(f"{path} holds no events.")
        kinds = {field.name: _field_type(field.type) for field in self._file.schema_arrow}
        self.types: dict[str, FieldType] = {name: kind for name, kind in kinds.items() if kind is not None}
        self.times: dict[str, TimeUnit] = {
            field.name: "ms" for field in self._file.schema_arrow if _is_instant(field.type)
        }

    def batches(self, fields: Collection[str], now: int) -> Iterator[Batch]:
        names = [name for name in self.types if name in fields]
        done = 0
        try:
            for part in self._file.iter_batches(BATCH_EVENTS, columns=names):
                columns = [_plain(column, self._time_zone) for column in part.columns]
                values = pa.StructArray.from_arrays(columns, part.schema.names)
                numbers = np.arange(done, done + len(part))
                done += len(part)
                yield Batch([rows(values, 0, numbers, None, now)], done)
        except (pa.ArrowInvalid, OSError) as error:
            raise UnreadableEvents(f"{self.name} cannot be read beyond row {done:,}: {error}.") from error


def _field_type(kind: pa.DataType) -> FieldType | None:
    """None: a kind that queries cannot use."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or _is_instant(kind):
        return "integer"
    if pa.types.is_decimal(kind):
        return decimal_of(kind.scale) or "number"
    if pa.types.is_floating(kind):
        return "number"
    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _plain(column: pa.Array, time_zone: str) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_float16(column.type):  # of which little can be asked
        column = column.cast(pa.float32())
    return _milliseconds(column, time_zone) if _is_instant(column.type) else without_nan(column)


def _milliseconds(column: pa.Array, time_zone: str) -> pa.Array:
    """Since the epoch, rounded down; of two equal times when clocks go back the second counts."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    if column.type.unit == "s":
        column = column.cast(pa.timestamp("ms", column.type.tz))
    if column.type.tz is None and time_zone != "UTC":
        column = pc.assume_timezone(column, time_zone, ambiguous="latest", nonexistent="latest")
    ticks = column.cast(pa.int64())
    known = ticks.fill_null(0).to_numpy(zero_copy_only=False) // PER_MILLISECOND[column.type.unit]
    return pa.array(known, mask=column.is_null().to_numpy(zero_copy_only=False))
