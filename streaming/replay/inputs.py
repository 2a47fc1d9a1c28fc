"""What a replay reads: an input gives batches of rows as map tasks take them, in the order of the log."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from streaming import task
from streaming.sources import FieldType, TimeUnit

BATCH_EVENTS = 250_000
SAMPLE_EVENTS = 50_000  # from which the types of fields are inferred


class UnreadableEvents(ValueError):
    """Events that cannot be read; the message is the sentence shown to people."""


@dataclass(frozen=True)
class Batch:
    rows: list[pa.RecordBatch]
    done: int  # how much of the input has been read with this batch


class Input(Protocol):
    """A file or a topic that is there and holds events."""

    name: str
    format: str  # one of streaming.formats.DECODERS
    types: dict[str, FieldType]
    times: dict[str, TimeUnit]  # units of fields that the input itself knows to be instants
    stamped: bool  # rows have timestamps, which can be event times
    total: int  # of bytes or of events, as `Batch.done` is
    partitions: tuple[int, ...]  # those that hold events
    whole: bool  # False: there were events before those that are read

    def batches(self, fields: Collection[str], now: int) -> Iterator[Batch]:
        """All rows, with at least these fields; `now` is the clock that event times are held against."""
        ...


def rows(
    values: pa.Array, partition: int, offsets: np.ndarray, timestamps: np.ndarray | None, now: int
) -> pa.RecordBatch:
    """Messages of one partition as a map task takes them; without timestamps they are as old as `now`."""
    count = len(values)
    columns = [
        np.full(count, task.EVENT, np.int32),
        np.full(count, partition, np.int32),
        offsets,
        np.zeros(count, np.int64) if timestamps is None else timestamps,
        values,
        np.full(count, now, np.int64),
    ]
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=list(task.INPUT_COLUMNS))
