"""When an event happened: taken from where the source says, and held against a clock that can be trusted.

That clock is the message's own timestamp, but never later than the batch's time. Both are the same when a
batch is replayed, which the clock on the wall is not.
"""

from functools import lru_cache
from typing import Literal

import duckdb
import numpy as np
import pyarrow as pa

from streaming.lanes import LATEST
from streaming.sources import FieldType, SourceSpec

TEXT_UNITS = ("iso", "pattern")
UNIT_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3}
FURTHEST_MS = 8.64e15  # 100 million days from 1970, as far as calendars in browsers go


class InvalidTime(ValueError):
    """A zone or a pattern that cannot be used; its message is the sentence shown to people."""


class UnfitTime(InvalidTime):
    """A field that cannot hold event times as they are said to be written; `about` is what is wrong."""

    def __init__(self, about: Literal["event_time", "time_unit"], sentence: str) -> None:
        super().__init__(sentence)
        self.about = about


def check_field(name: str, kind: FieldType | None, unit: str) -> None:
    """Whether a field of this type can hold the event time; raises UnfitTime."""
    if kind not in ("integer", "number", "text"):
        sentence = f"“{name}” cannot hold the event time: choose a number or a text field."
        raise UnfitTime("event_time", sentence)
    if (unit in TEXT_UNITS) != (kind == "text"):
        wanted = "ISO 8601 text or a pattern" if kind == "text" else "one of the numeric units"
        raise UnfitTime("time_unit", f"“{name}” holds {kind} values: choose {wanted}.")


def event_times(
    source: SourceSpec, table: pa.Table, timestamps: np.ndarray, now: int, watermark: int
) -> tuple[np.ndarray, np.ndarray]:
    """Event times in ms since the epoch, and which of them are known; `now` is the batch's time."""
    if source.processing_time:
        # Never before the watermark, should the machine's clock be set back.
        times = np.full(len(timestamps), now if watermark == LATEST else max(now, watermark), np.int64)
        return times, np.ones(len(times), np.bool_)
    if source.event_time is None:
        # Kafka says −1 where a message has none.
        return timestamps, (timestamps >= 0) & (timestamps <= FURTHEST_MS)
    column = table.column(source.event_time)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if source.time_unit in TEXT_UNITS:
        return _parse(column, source)
    milliseconds = np.floor(_in_ms(column.to_numpy(), source.time_unit))
    known = np.abs(milliseconds) <= FURTHEST_MS  # false for NaN too
    return np.where(known, milliseconds, 0.0).astype(np.int64), known


def _in_ms(numbers: np.ndarray, unit: str) -> np.ndarray:
    if unit == "ns":  # of today's, floats know every 256th only: to whole µs first, or 12 ms would be 11.9999
        return np.round(numbers / 1e3) / 1e3
    return numbers * UNIT_MS[unit]


def _parse(column: pa.ChunkedArray, source: SourceSpec) -> tuple[np.ndarray, np.ndarray]:
    """Texts by DuckDB: any common form of ISO 8601, or the source's own pattern."""
    reading = "try_cast(t AS TIMESTAMPTZ)"
    if source.time_unit == "pattern":
        reading = f"CAST(try_strptime(t, {_quoted(source.time_pattern)}) AS TIMESTAMPTZ)"
    with _connection(source.time_zone).cursor() as cursor:  # its own: one that fails is of no use any more
        parsed = cursor.from_arrow(pa.table({"t": column})).project(f"epoch_ms({reading})")
        milliseconds = parsed.to_arrow_table().column(0).combine_chunks()
    known = milliseconds.is_valid().to_numpy(zero_copy_only=False)
    times = milliseconds.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return times, known & (np.abs(times) <= FURTHEST_MS)


def check_zone(time_zone: str) -> None:
    try:
        _connection(time_zone)
    except duckdb.Error as error:
        sentence = f"“{time_zone}” is not a time zone: use a name such as Europe/Berlin."
        raise InvalidTime(sentence) from error


def check_pattern(pattern: str) -> None:
    try:
        _connection("UTC").cursor().execute("SELECT try_strptime('', ?)", [pattern])
    except duckdb.Error as error:
        sentence = f"“{pattern}” is not a pattern for a time: write it as %d/%m/%Y %H:%M:%S."
        raise InvalidTime(sentence) from error


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@lru_cache(maxsize=16)
def _connection(time_zone: str) -> duckdb.DuckDBPyConnection:
    """A database in memory, asked by cursors, that takes texts without a zone as times of `time_zone`."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute(f"SET GLOBAL TimeZone = {_quoted(time_zone)}")
    return connection


def clocks(timestamps: np.ndarray, now: int) -> np.ndarray:
    """What the clock said when each message was written; one without a timestamp is as old as its batch."""
    return np.minimum(np.where(timestamps > 0, timestamps, now), now)


def ahead(times: np.ndarray, clock: np.ndarray, bound: int | None) -> np.ndarray:
    """Which events are from the future: further ahead of the clock than any skew explains."""
    return np.zeros(len(times), np.bool_) if bound is None else times > clock + bound


def behind(times: np.ndarray, clock: np.ndarray, bound: int | None) -> np.ndarray:
    """Which events are from the far past."""
    return np.zeros(len(times), np.bool_) if bound is None else times < clock - bound


def marks(times: np.ndarray, clock: np.ndarray, bound: int | None) -> np.ndarray:
    """How far each event brings its partition: not beyond the clock, so that skew makes nothing late."""
    return times if bound is None else np.minimum(times, clock)
