"""A map task: Kafka messages in, one report per shard out. Runs in Spark's Python workers."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streaming import expressions, partials, progress, shuffle, watermark
from streaming.aggregates.gathering import Order, places
from streaming.formats import FORMATS
from streaming.lane_partials import LanePartials
from streaming.lanes import EARLIEST, Timeline
from streaming.shuffle import DeadLetter, PartitionReport, TaskReport
from streaming.sources import FieldType, SourceSpec

# The streams that are unioned into one query (column `kind`).
EVENT, HEARTBEAT, PLAN = 0, 1, 2
INPUT_COLUMNS = ("kind", "partition", "offset", "timestamp", "value")
DEAD_LETTER_LIMIT = 10_000  # characters of a refused message that are kept
UNIT_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}


@dataclass(frozen=True)
class TaskSetup:
    """What every task of a source knows from the start."""

    source: SourceSpec
    initial: Timeline  # in force before the first batch
    bootstrap_servers: str  # of Millrace's own topics
    progress_topic: str
    shards: int


@dataclass
class _Gathered:
    """What a task has read so far."""

    tables: list[pa.Table] = field(default_factory=list)
    times: list[np.ndarray] = field(default_factory=list)
    places: list[np.ndarray] = field(default_factory=list)
    partitions: dict[int, PartitionReport] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    clock: int | None = None
    plan: bytes | None = None


def run(setup: TaskSetup, batch: int, batches: Iterable[pa.RecordBatch]) -> list[bytes]:
    """What map task of `batch` has to say: one encoded report per shard."""
    if batch == 0:
        return work(setup, setup.initial, {}, batches)
    before = progress.reader(setup.bootstrap_servers, setup.progress_topic).after(batch - 1)
    return work(setup, before.timeline, before.greatest, batches)


def work(
    setup: TaskSetup, timeline: Timeline, greatest: dict[int, int], batches: Iterable[pa.RecordBatch]
) -> list[bytes]:
    """Read all of a task's messages; `greatest` is each partition's greatest event time before them."""
    began = time.perf_counter()
    types = needed_fields(setup.source, timeline)
    gathered = _Gathered()
    waited = 0.0
    for part, seconds in _timed(batches):
        waited += seconds
        for run_ in _runs(part):
            _take(run_, setup.source, types, greatest, gathered)
    folded = []
    if gathered.tables:
        table = pa.concat_tables(gathered.tables)
        order = Order(np.concatenate(gathered.times), np.concatenate(gathered.places))
        folded = partials.fold(table, order, timeline.lanes, types)
    seconds = time.perf_counter() - began - waited
    return _reports(setup, timeline, gathered, folded, seconds)


def needed_fields(source: SourceSpec, timeline: Timeline) -> dict[str, FieldType]:
    """The fields that some lane or the event time needs, with their types."""
    names = {source.event_time} - {None}
    for lane in timeline.lanes:
        filters = (lane.signature.where, *lane.fragments)
        names.update(lane.signature.group_by, *map(expressions.fields, filters))
        names.update(expressions.fields_of_value(lane.signature.field, source.types))
    return {name: kind for name, kind in source.schema if name in names}


def _timed(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, float]]:
    """Each batch with the seconds spent waiting for it: reading Kafka is not this task's work."""
    iterator = iter(batches)
    while True:
        began = time.perf_counter()
        part = next(iterator, None)
        if part is None:
            return
        yield part, time.perf_counter() - began


def _runs(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where kind or Kafka partition change: a task may read several of them."""
    kind = batch.column(0).to_numpy(zero_copy_only=False)
    partition = batch.column(1).to_numpy(zero_copy_only=False)
    changes = np.flatnonzero((np.diff(kind) != 0) | (np.diff(partition) != 0)) + 1
    bounds = [0, *changes.tolist(), len(kind)]
    for low, high in pairwise(bounds):
        if high > low:
            yield batch.slice(low, high - low)


def _take(
    run_: pa.RecordBatch,
    source: SourceSpec,
    types: dict[str, FieldType],
    greatest: dict[int, int],
    gathered: _Gathered,
) -> None:
    kind = run_.column(0)[0].as_py()
    if kind == HEARTBEAT:
        newest = pc.max(run_.column(3)).as_py()
        gathered.clock = newest if gathered.clock is None else max(gathered.clock, newest)
    elif kind == PLAN:
        gathered.plan = run_.column(4)[len(run_) - 1].as_py()
    else:
        _take_events(run_, source, types, greatest, gathered)


def _take_events(
    run_: pa.RecordBatch,
    source: SourceSpec,
    types: dict[str, FieldType],
    greatest: dict[int, int],
    gathered: _Gathered,
) -> None:
    """Decode one partition's messages, in log order, and set aside what is malformed or late."""
    partition = run_.column(1)[0].as_py()
    decoded = FORMATS[source.format](run_.column(4), types)
    refused = [(item.row, item.reason) for item in decoded.refused]
    times, known = event_times(source, decoded.table, run_.column(3).take(pa.array(decoded.rows)))
    refused += [(row, f"No event time in {source.event_time}.") for row in decoded.rows[~known].tolist()]
    table, times, rows = decoded.table.filter(pa.array(known)), times[known], decoded.rows[known]
    report = gathered.partitions.get(partition)
    before = report.greatest if report else greatest.get(partition, EARLIEST)
    late = watermark.late(times, before, source.allowed_lateness)
    refused += [
        (row, f"Late: event time {when} is more than the allowed lateness behind.")
        for row, when in zip(rows[late].tolist(), times[late].tolist(), strict=True)
    ]
    gathered.dead_letters += [_dead_letter(source, run_, row, reason) for row, reason in refused]
    gathered.tables.append(table.filter(pa.array(~late)))
    gathered.times.append(times[~late])
    offsets = run_.column(2).to_numpy(zero_copy_only=False)[rows[~late]]
    gathered.places.append(places(partition, offsets))
    if report is None:
        first = int(times[0]) if len(times) else before
        report = PartitionReport(before, before, first, events=0, malformed=0, late=0)
        gathered.partitions[partition] = report
    report.events += int(len(times) - late.sum())
    report.late += int(late.sum())
    report.malformed += len(refused) - int(late.sum())
    if len(times):
        report.greatest = max(before, int(times.max()))


def event_times(source: SourceSpec, table: pa.Table, timestamps: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Event times in ms since the epoch, and which of them are known."""
    if source.event_time is None:
        times = timestamps.to_numpy(zero_copy_only=False).astype(np.int64)
        return times, np.ones(len(times), np.bool_)
    column = table.column(source.event_time)
    if source.time_unit == "iso":
        return _parse_iso(column)
    numbers = column.to_numpy()
    known = ~np.isnan(numbers) & (np.abs(numbers) < 1e19)
    return np.floor(np.where(known, numbers, 0.0) * UNIT_MS[source.time_unit]).astype(np.int64), known


def _parse_iso(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """ISO 8601 texts; a time without a zone is UTC. DuckDB's parser takes all common forms."""
    connection = duckdb.connect(":memory:", config={"threads": 1})
    with suppress(duckdb.Error):  # without its time zone extension DuckDB takes UTC by itself
        connection.execute("SET TimeZone = 'UTC'")
    parsed = connection.from_arrow(pa.table({"t": column})).project("epoch_ms(try_cast(t AS TIMESTAMPTZ))")
    milliseconds = parsed.to_arrow_table().column(0).combine_chunks()
    known = milliseconds.is_valid().to_numpy(zero_copy_only=False)
    return milliseconds.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), known


def _dead_letter(source: SourceSpec, run_: pa.RecordBatch, row: int, reason: str) -> DeadLetter:
    value = run_.column(4)[row].as_py() or b""
    return DeadLetter(
        source=source.id,
        partition=run_.column(1)[row].as_py(),
        offset=run_.column(2)[row].as_py(),
        timestamp=run_.column(3)[row].as_py(),
        reason=reason,
        value=value[:DEAD_LETTER_LIMIT].decode("utf-8", errors="replace"),
    )


def _reports(
    setup: TaskSetup,
    timeline: Timeline,
    gathered: _Gathered,
    folded: list[LanePartials],
    seconds: float,
) -> list[bytes]:
    failures = {each.lane: each.failures for each in folded if each.failures[0]}
    parts: list[list[shuffle.PackedPartials]] = [[] for _ in range(setup.shards)]
    for lane_partials in folded:
        for shard, part in enumerate(shuffle.split(lane_partials, setup.shards)):
            if part is not None:
                parts[shard].append(shuffle.pack(part))
    return [
        shuffle.encode(
            TaskReport(
                version=timeline.version,
                partitions=gathered.partitions,
                partials=parts[shard],
                dead_letters=gathered.dead_letters if shard == 0 else [],
                clock=gathered.clock,
                plan=gathered.plan,
                seconds=seconds,
                failures=failures if shard == 0 else {},
            )
        )
        for shard in range(setup.shards)
    ]
