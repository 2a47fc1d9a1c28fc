"""A map task: Kafka messages in, one report per shard out. Runs in Spark's Python workers."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streaming import (
    accounting,
    expressions,
    group_partials,
    kafka_log,
    partials,
    progress,
    recall,
    shuffle,
    wrong_values,
)
from streaming.accounting import Counts, DeadLetter
from streaming.aggregates.gathering import Order, places
from streaming.formats import DECODERS
from streaming.formats.base import NOTHING_WRONG, Wrong
from streaming.group_lanes import GroupLane
from streaming.group_partials import GroupPartials
from streaming.input_stream import PastInput, Range, TaskInput
from streaming.lane_partials import LanePartials
from streaming.lanes import EARLIEST, Lane, Timeline
from streaming.left_out import LeftOut
from streaming.placement import shards_in
from streaming.progress import Progress
from streaming.record_batches import Messages
from streaming.refused import NONE, unpacked
from streaming.registry import format_options
from streaming.shuffle import PartitionReport, PastReport, TaskReport
from streaming.sieve import Refusal, sift, sift_again
from streaming.sources import FieldType, SourceSpec

EVENT, HEARTBEAT, PLAN, UNREAD, ABORTED = range(5)  # column `kind`
LETTERS_BYTES = 8 << 20  # of messages that a task keeps in dead letters: all of a batch go to one shard
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
    events: int = 0  # in the tables
    wrong: dict[str, Wrong] = field(default_factory=dict)  # by field, in all tables together
    partitions: dict[int, PartitionReport] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    clock: int | None = None
    plan: bytes | None = None
    refused: Mapping[int, np.ndarray] | None = None  # what is read back: the offsets that were not accepted
    letters_room: int = LETTERS_BYTES


def run(encoded: bytes, batch: int, given: TaskInput) -> list[bytes]:
    """What a map task of `batch` has to say: one encoded report per shard."""
    setup = msgspec.msgpack.decode(encoded, type=TaskSetup)
    before = _progress_before(setup, batch)
    timeline = msgspec.msgpack.decode(before.timeline, type=Timeline)
    pasts: Sequence[PastReport] = ()
    if given.past is not None:
        version, greatest = before.recalled
        known = greatest if version == given.past.version else {}
        messages = _past_messages(setup, given.past, given.now)
        pasts = read_back(setup, timeline, given.past, known, unpacked(before.refused), messages)
    missing: dict[int, Counts] = {}
    messages = _messages(setup, given, missing)
    return work(setup, timeline, before.greatest, messages, before.watermark, missing, pasts)


def _progress_before(setup: TaskSetup, batch: int) -> Progress:
    if not batch:
        return Progress(-1, msgspec.Raw(msgspec.msgpack.encode(setup.initial)), {}, EARLIEST)
    return progress.reader(setup.bootstrap_servers, setup.progress_topic).after(batch - 1)


def _messages(setup: TaskSetup, given: TaskInput, missing: dict[int, Counts]) -> Iterator[pa.RecordBatch]:
    """What there is to read, and in `missing` by partition the offsets that there are no messages of."""
    if given.clock is not None:
        yield _input_batch(HEARTBEAT, -1, [0], [given.clock], pa.array([None], pa.binary()), given.now)
    if given.plan is not None:
        yield _input_batch(PLAN, 0, [0], [given.now], pa.array([given.plan], pa.binary()), given.now)
    reader = _reader(setup.source)
    for each in given.ranges:
        gaps: list[tuple[int, int]] = []
        absent, removed = len(each), 0
        for part in _events(reader, each, given.now, gaps):
            absent -= len(part)
            yield part
        if gaps:  # of a log that was compacted, of transactions, or of messages that are no more
            oldest = reader.beginnings().get(each.partition, 0)
            removed = sum(max(0, min(high, oldest) - low) for low, high in gaps)
        if absent:
            missing[each.partition] = Counts(removed=removed, gaps=absent - removed)


def _past_messages(setup: TaskSetup, given: PastInput, now: int) -> Iterator[pa.RecordBatch]:
    reader = _reader(setup.source)
    for each in given.ranges:
        for part in _events(reader, each, now, []):
            if part.column(0)[0].as_py() == EVENT:  # no other was accepted when it came
                yield part


def _reader(source: SourceSpec) -> kafka_log.LogReader:
    return kafka_log.reader(source.bootstrap_servers, source.topic, source.security, source.isolation)


def _events(
    reader: kafka_log.LogReader, wanted: Range, now: int, gaps: list[tuple[int, int]]
) -> Iterator[pa.RecordBatch]:
    """The messages of a range; `gaps` tells afterwards which offsets there were none for."""
    place = wanted.start
    for found in reader.read(wanted.partition, wanted.start, wanted.until, with_aborted=True):
        if found.offsets[0] > place:
            gaps.append((place, int(found.offsets[0])))
        place = int(found.offsets[-1]) + 1
        yield message_rows(found, wanted.partition, now)
    if place < wanted.until:
        gaps.append((place, wanted.until))


def message_rows(found: Messages, partition: int, now: int) -> pa.RecordBatch:
    """Messages of one partition as a map task takes them; of those that cannot be read the value says why."""
    kind, values = EVENT, found.values
    if found.are_aborted:
        kind = ABORTED
    elif found.problem:
        kind, values = UNREAD, pa.array([found.problem] * len(found), pa.binary())
    return _input_batch(kind, partition, found.offsets, found.timestamps, values, now)


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
    missing: Mapping[int, Counts] = MappingProxyType({}),
    pasts: Sequence[PastReport] = (),
) -> list[bytes]:
    """Read all of a task's messages.

    `greatest` is each partition's greatest event time before them, `watermark` that of the batch before;
    `missing` tells afterwards of which offsets there were no messages; `pasts` is what was read back, by
    shard.
    """
    began = time.perf_counter()
    lanes = [lane for lane in timeline.lanes if lane.until > watermark]  # no event can be in the others
    types = needed_fields(setup.source, lanes, timeline.group_lanes)
    gathered = _Gathered(greatest, watermark)
    waited = 0.0
    for part, seconds in _timed(batches):
        waited += seconds
        for run_ in _runs(part):
            _take(run_, setup.source, types, gathered)
    for partition, counts in missing.items():
        _report_of(partition, gathered).counts += counts
    folded, grouped, left_out = [], [], LeftOut()
    if gathered.tables:
        table, order = _all_of(gathered)
        folded = partials.fold(table, order, lanes, types, left_out)
        grouped = group_partials.fold(table, order, timeline.group_lanes, types, left_out)
        readers = wrong_values.readers(lanes, timeline.group_lanes, types)
        wrong_values.note(gathered.wrong, table, order.times, readers, left_out)
    reports = _reports(setup, timeline, gathered, folded, grouped, left_out)
    for report, past in zip(reports, pasts, strict=False):
        report.past = past
    seconds = time.perf_counter() - began - waited
    for report in reports:
        report.seconds = seconds
    return [shuffle.encode(report) for report in reports]


def read_back(
    setup: TaskSetup,
    timeline: Timeline,
    given: PastInput,
    greatest: dict[int, int],
    refused: Mapping[int, np.ndarray],
    batches: Iterable[pa.RecordBatch],
) -> list[PastReport]:
    """Read messages once more, for queries that lack their past; what came of each was told long ago.

    `greatest` is each partition's greatest event time among those that were read back before; `refused` are
    the offsets of messages that were refused for when they came.
    """
    lanes = [past.lane for past in recall.of_version(timeline, given.version)]
    types = needed_fields(setup.source, lanes)
    gathered = _Gathered(greatest, EARLIEST, refused=refused)
    for part in batches:
        _take_events(part, setup.source, types, gathered)
    parts: list[list[shuffle.PackedPartials]] = [[] for _ in range(setup.shards)]
    if gathered.tables:
        table, order = _all_of(gathered)
        parts = _packed(partials.fold(table, order, lanes, types, LeftOut()), lanes, setup.shards)
    return [
        PastReport(given.version, gathered.partitions, part, given.bounded, given.read, given.messages)
        for part in parts
    ]


def _all_of(gathered: _Gathered) -> tuple[pa.Table, Order]:
    order = Order(np.concatenate(gathered.times), np.concatenate(gathered.places))
    return pa.concat_tables(gathered.tables), order


def needed_fields(
    source: SourceSpec, lanes: Iterable[Lane], group_lanes: Iterable[GroupLane] = ()
) -> dict[str, FieldType]:
    """The fields that some lane or the event time needs, with their types."""
    names = set() if source.processing_time else {source.event_time} - {None}
    for lane in lanes:
        filters = (lane.signature.where, *lane.fragments)
        names.update(lane.signature.group_by, *map(expressions.fields, filters))
        names.update(expressions.fields_of_value(lane.signature.field, source.types))
    for group_lane in group_lanes:
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
    elif kind == ABORTED:
        _report_of(run_.column(1)[0].as_py(), gathered).counts.aborted += len(run_)
    elif kind == UNREAD:
        _refuse_unread(run_, source, gathered)
    else:
        _take_events(run_, source, types, gathered)


def _refuse_unread(run_: pa.RecordBatch, source: SourceSpec, gathered: _Gathered) -> None:
    """Count messages that could not be read as malformed, and keep a dead letter of each."""
    counts = _report_of(run_.column(1)[0].as_py(), gathered).counts
    counts.read += len(run_)
    counts.malformed += len(run_)
    _, partitions, offsets, timestamps, reasons, _ = (column.to_pylist() for column in run_.columns)
    gathered.dead_letters += [
        accounting.dead_letter(source.id, partition, offset, timestamp, "malformed", reason.decode(), None)
        for partition, offset, timestamp, reason in zip(partitions, offsets, timestamps, reasons, strict=True)
    ]


def _take_events(
    run_: pa.RecordBatch, source: SourceSpec, types: dict[str, FieldType], gathered: _Gathered
) -> None:
    """Decode one partition's messages, in log order, and set aside what is refused."""
    report = _report_of(run_.column(1)[0].as_py(), gathered)
    report.counts.read += len(run_)
    options = format_options(source, dictionaries=True)
    decoded = DECODERS[source.format](run_.column(4), types, options)
    timestamps = run_.column(3).to_numpy(zero_copy_only=False)[decoded.rows]
    offsets = run_.column(2).to_numpy(zero_copy_only=False)[decoded.rows]
    partition, now = run_.column(1)[0].as_py(), run_.column(5)[0].as_py()
    if gathered.refused is None:
        sifted = sift(source, decoded, timestamps, now, report)
    else:
        refused = np.isin(offsets, gathered.refused.get(partition, NONE))
        sifted = sift_again(source, decoded, timestamps, now, refused, report)
    where = places(partition, offsets)
    for name, wrong in decoded.wrong.items():
        known = gathered.wrong.get(name, NOTHING_WRONG)
        gathered.wrong[name] = known.followed_by(wrong.among(sifted.accepted), gathered.events)
    if not sifted.accepted.all():
        gathered.tables.append(decoded.table.filter(pa.array(sifted.accepted)))
        gathered.times.append(sifted.times[sifted.accepted])
        gathered.places.append(where[sifted.accepted])
    else:  # mostly so, and then nothing need be copied
        gathered.tables.append(decoded.table)
        gathered.times.append(sifted.times)
        gathered.places.append(where)
    gathered.events += len(gathered.times[-1])
    gathered.dead_letters += [_dead_letter(source, run_, refusal, gathered) for refusal in sifted.refusals]


def _report_of(partition: int, gathered: _Gathered) -> PartitionReport:
    if partition not in gathered.partitions:
        before = gathered.greatest.get(partition, EARLIEST)
        gathered.partitions[partition] = PartitionReport(before, gathered.watermark, before, Counts())
    return gathered.partitions[partition]


def _dead_letter(
    source: SourceSpec, run_: pa.RecordBatch, refusal: Refusal, gathered: _Gathered
) -> DeadLetter:
    _, partition, offset, timestamp, value, _ = (column[refusal.row].as_py() for column in run_.columns)
    if isinstance(value, dict):  # a row of a file
        value = msgspec.json.encode(value)
    limit = min(accounting.VALUE_LIMIT, gathered.letters_room)
    gathered.letters_room -= min(limit, len(value or b""))
    return accounting.dead_letter(
        source.id, partition, offset, timestamp, refusal.kind, refusal.reason, value, limit
    )


def _reports(
    setup: TaskSetup,
    timeline: Timeline,
    gathered: _Gathered,
    folded: list[LanePartials],
    grouped: list[GroupPartials],
    left_out: LeftOut,
) -> list[TaskReport]:
    parts = _packed(folded, timeline.lanes, setup.shards)
    placed = {lane.id: shards_in(lane.share, setup.shards) for lane in timeline.group_lanes}
    of_groups = [group_partials.packed_by_shard(each, setup.shards, placed[each.lane]) for each in grouped]
    return [
        TaskReport(
            version=timeline.version,
            partitions=gathered.partitions,
            partials=parts[shard],
            dead_letters=gathered.dead_letters if shard == 0 else [],
            clock=gathered.clock,
            plan=gathered.plan,
            left_out=left_out if shard == 0 else {},
            group_partials=[packed for each in of_groups if (packed := each[shard]) is not None],
            stopped=_stopped(timeline) if shard == 0 else {},
        )
        for shard in range(setup.shards)
    ]


def _stopped(timeline: Timeline) -> dict[str, str]:
    """By filter or computed field of the plan's queries, why it was stopped."""
    lanes = (lane.signature for lane in timeline.lanes if lane.kept)
    read = [text for own in lanes for text in (own.where, own.field)]
    read += [text for lane in timeline.group_lanes for text in (lane.where, lane.field)]
    return expressions.stopped_ones.among(read)


def _packed(
    folded: list[LanePartials], lanes: Sequence[Lane], shards: int
) -> list[list[shuffle.PackedPartials]]:
    """By shard."""
    placed = {lane.id: shards_in(lane.share, shards) for lane in lanes}
    parts: list[list[shuffle.PackedPartials]] = [[] for _ in range(shards)]
    for lane_partials in folded:
        for shard, part in enumerate(shuffle.split(lane_partials, shards, placed[lane_partials.lane])):
            if part is not None:
                parts[shard].append(shuffle.pack(part))
    return parts
