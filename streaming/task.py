"""A map task: Kafka messages in, one report per shard out. Runs in Spark's Python workers."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streaming import accounting, expressions, group_partials, kafka_log, partials, progress, shuffle
from streaming.accounting import Counts, DeadLetter
from streaming.aggregates.gathering import Order, places
from streaming.formats import DECODERS, FormatOptions
from streaming.group_partials import GroupPartials
from streaming.input_stream import TaskInput
from streaming.lane_partials import LanePartials
from streaming.lanes import EARLIEST, Timeline
from streaming.progress import Progress
from streaming.shuffle import PartitionReport, TaskReport
from streaming.sieve import Refusal, sift
from streaming.sources import FieldType, SourceSpec

EVENT, HEARTBEAT, PLAN = 0, 1, 2  # column `kind`
# `now` is the batch's time: Spark keeps it with the batch's offsets, so a replay has the same.
INPUT_COLUMNS = ("kind", "partition", "offset", "timestamp", "value", "now")


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
    """What a task knew before it began, and what it has read so far."""

    greatest: dict[int, int]  # per Kafka partition
    watermark: int
    tables: list[pa.Table] = field(default_factory=list)
    times: list[np.ndarray] = field(default_factory=list)
    places: list[np.ndarray] = field(default_factory=list)
    partitions: dict[int, PartitionReport] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    clock: int | None = None
    plan: bytes | None = None


def run(encoded: bytes, batch: int, given: TaskInput) -> list[bytes]:
    """What a map task of `batch` has to say: one encoded report per shard."""
    setup = msgspec.msgpack.decode(encoded, type=TaskSetup)
    before = _progress_before(setup, batch)
    removed: dict[int, int] = {}
    return work(
        setup, before.timeline, before.greatest, _messages(setup, given, removed), before.watermark, removed
    )


def _progress_before(setup: TaskSetup, batch: int) -> Progress:
    first = Progress(-1, setup.initial, {}, EARLIEST)
    return progress.reader(setup.bootstrap_servers, setup.progress_topic).after(batch - 1) if batch else first


def _messages(setup: TaskSetup, given: TaskInput, removed: dict[int, int]) -> Iterator[pa.RecordBatch]:
    """What there is to read, and in `removed` by partition how many messages Kafka has removed unread."""
    if given.clock is not None:
        yield _input_batch(HEARTBEAT, -1, [0], [given.clock], pa.array([None], pa.binary()), given.now)
    if given.plan is not None:
        yield _input_batch(PLAN, 0, [0], [given.now], pa.array([given.plan], pa.binary()), given.now)
    reader = kafka_log.reader(setup.source.bootstrap_servers, setup.source.topic)
    for each in given.ranges:
        gaps, place = [], each.start
        for found in reader.read(each.partition, each.start, each.until):
            if found.offsets[0] > place:
                gaps.append((place, int(found.offsets[0])))
            place = int(found.offsets[-1]) + 1
            yield _input_batch(
                EVENT, each.partition, found.offsets, found.timestamps, found.values, given.now
            )
        if place < each.until:
            gaps.append((place, each.until))
        if gaps:  # of a log that was compacted, of transactions, or of messages that are no more
            oldest = reader.beginnings().get(each.partition, 0)
            removed[each.partition] = sum(max(0, min(high, oldest) - low) for low, high in gaps)


def _input_batch(
    kind: int, partition: int, offsets: Any, timestamps: Any, values: pa.Array, now: int
) -> pa.RecordBatch:
    count = len(values)
    columns = (np.full(count, kind, np.int32), np.full(count, partition, np.int32))
    arrays = [*map(pa.array, columns), pa.array(offsets, pa.int64()), pa.array(timestamps, pa.int64())]
    arrays += [values, pa.array(np.full(count, now, np.int64))]
    return pa.RecordBatch.from_arrays(arrays, names=list(INPUT_COLUMNS))


def work(
    setup: TaskSetup,
    timeline: Timeline,
    greatest: dict[int, int],
    batches: Iterable[pa.RecordBatch],
    watermark: int = EARLIEST,
    removed: Mapping[int, int] = MappingProxyType({}),
) -> list[bytes]:
    """Read all of a task's messages.

    `greatest` is each partition's greatest event time before them, `watermark` that of the batch before;
    `removed` tells afterwards how many messages Kafka had removed before they were read.
    """
    began = time.perf_counter()
    types = needed_fields(setup.source, timeline)
    gathered = _Gathered(greatest, watermark)
    waited = 0.0
    for part, seconds in _timed(batches):
        waited += seconds
        for run_ in _runs(part):
            _take(run_, setup.source, types, gathered)
    for partition, count in removed.items():
        _report_of(partition, gathered).counts.removed += count
    folded, grouped = [], []
    if gathered.tables:
        table = pa.concat_tables(gathered.tables)
        order = Order(np.concatenate(gathered.times), np.concatenate(gathered.places))
        folded = partials.fold(table, order, timeline.lanes, types)
        grouped = group_partials.fold(table, order, timeline.group_lanes, types)
    seconds = time.perf_counter() - began - waited
    return _reports(setup, timeline, gathered, folded, grouped, seconds)


def needed_fields(source: SourceSpec, timeline: Timeline) -> dict[str, FieldType]:
    """The fields that some lane or the event time needs, with their types."""
    names = set() if source.processing_time else {source.event_time} - {None}
    for lane in timeline.lanes:
        filters = (lane.signature.where, *lane.fragments)
        names.update(lane.signature.group_by, *map(expressions.fields, filters))
        names.update(expressions.fields_of_value(lane.signature.field, source.types))
    for group_lane in timeline.group_lanes:
        names.update(group_lane.group_by, expressions.fields(group_lane.where))
        names.update(expressions.fields_of_value(group_lane.field, source.types))
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


def _take(run_: pa.RecordBatch, source: SourceSpec, types: dict[str, FieldType], gathered: _Gathered) -> None:
    kind = run_.column(0)[0].as_py()
    if kind == HEARTBEAT:
        newest = pc.max(run_.column(3)).as_py()
        gathered.clock = newest if gathered.clock is None else max(gathered.clock, newest)
    elif kind == PLAN:
        gathered.plan = run_.column(4)[len(run_) - 1].as_py()
    else:
        _take_events(run_, source, types, gathered)


def _take_events(
    run_: pa.RecordBatch, source: SourceSpec, types: dict[str, FieldType], gathered: _Gathered
) -> None:
    """Decode one partition's messages, in log order, and set aside what is refused."""
    report = _report_of(run_.column(1)[0].as_py(), gathered)
    report.counts.read += len(run_)
    options = FormatOptions(tuple(source.types), source.avro_schema, dictionaries=True)
    decoded = DECODERS[source.format](run_.column(4), types, options)
    timestamps = run_.column(3).to_numpy(zero_copy_only=False)[decoded.rows]
    sifted = sift(source, decoded, timestamps, run_.column(5)[0].as_py(), report)
    where = places(run_.column(1)[0].as_py(), run_.column(2).to_numpy(zero_copy_only=False)[decoded.rows])
    if sifted.refusals:
        gathered.tables.append(decoded.table.filter(pa.array(sifted.accepted)))
        gathered.times.append(sifted.times[sifted.accepted])
        gathered.places.append(where[sifted.accepted])
    else:  # mostly so, and then nothing need be copied
        gathered.tables.append(decoded.table)
        gathered.times.append(sifted.times)
        gathered.places.append(where)
    gathered.dead_letters += [_dead_letter(source, run_, refusal) for refusal in sifted.refusals]


def _report_of(partition: int, gathered: _Gathered) -> PartitionReport:
    if partition not in gathered.partitions:
        before = gathered.greatest.get(partition, EARLIEST)
        gathered.partitions[partition] = PartitionReport(before, gathered.watermark, before, Counts())
    return gathered.partitions[partition]


def _dead_letter(source: SourceSpec, run_: pa.RecordBatch, refusal: Refusal) -> DeadLetter:
    _, partition, offset, timestamp, value, _ = (column[refusal.row].as_py() for column in run_.columns)
    if isinstance(value, dict):  # a row of a file
        value = msgspec.json.encode(value)
    return accounting.dead_letter(
        source.id, partition, offset, timestamp, refusal.kind, refusal.reason, value
    )


def _reports(
    setup: TaskSetup,
    timeline: Timeline,
    gathered: _Gathered,
    folded: list[LanePartials],
    grouped: list[GroupPartials],
    seconds: float,
) -> list[bytes]:
    failures = {each.lane: each.failures for each in folded if each.failures[0]}
    failures |= {each.lane: each.failures for each in grouped if each.failures[0]}
    parts: list[list[shuffle.PackedPartials]] = [[] for _ in range(setup.shards)]
    for lane_partials in folded:
        for shard, part in enumerate(shuffle.split(lane_partials, setup.shards)):
            if part is not None:
                parts[shard].append(shuffle.pack(part))
    of_groups = [group_partials.packed_by_shard(each, setup.shards) for each in grouped]
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
                group_partials=[packed for each in of_groups if (packed := each[shard]) is not None],
            )
        )
        for shard in range(setup.shards)
    ]
