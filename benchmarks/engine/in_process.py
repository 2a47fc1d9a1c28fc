"""The job's map task and shards in this process, from messages to messages: neither Spark nor Kafka between.

What a plan takes can be told to a few per cent like this, which batches of Spark on a busy machine cannot.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
import pyarrow as pa

from benchmarks.engine.bench import LATENESS_MS, SCHEMA
from benchmarks.engine.events import CHUNK, Stream, json_messages
from optimizer.plan import Plan
from streaming import progress, task
from streaming.kept_shards import KeptShards, Message, ShardSetup
from streaming.lanes import EARLIEST, Timeline
from streaming.shard import ShardMeta
from streaming.sources import SourceSpec
from streaming.topics import Topics
from streaming.watermark import Watermark

SHARDS = 2
SOURCE = SourceSpec(
    id="bench",
    bootstrap_servers="",
    topic="events",
    schema=SCHEMA,
    event_time="ts",
    allowed_lateness=LATENESS_MS,
)


@dataclass(frozen=True)
class Backlog:
    """The messages of a stream, in batches: first its lead-in, then as many events in each."""

    batches: list[list[pa.RecordBatch]]

    @classmethod
    def of(cls, stream: Stream, lead_in: int, per_batch: int) -> "Backlog":
        bounds = [0, *range(lead_in, stream.events + 1, per_batch)]
        return cls([list(_messages(stream, low, high)) for low, high in pairwise(bounds)])


def _messages(stream: Stream, low: int, high: int) -> Iterator[pa.RecordBatch]:
    for first in range(low, high, CHUNK):
        table = stream.table(first, min(high, first + CHUNK))
        values = pa.array(json_messages(table), pa.binary())
        offsets = np.arange(first, first + len(values))
        columns = [
            np.full(len(values), task.EVENT, np.int32),
            np.zeros(len(values), np.int32),
            offsets,
            table.column("ts").to_numpy(),
            values,
            np.full(len(values), stream.end, np.int64),
        ]
        yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=list(task.INPUT_COLUMNS))


@dataclass(frozen=True)
class Took:
    """One batch: by the clock, and as its meters tell it."""

    seconds: float
    map_seconds: float
    shard_seconds: float
    events: int
    partials: int
    results: int


def run(plan: Plan, backlog: Backlog) -> list[Took]:
    """All batches of a plan from an empty state, the lead-in left out."""
    with _job(plan) as job:
        return [job.take(rows) for rows in backlog.batches][1:]


@contextmanager
def _job(plan: Plan) -> Iterator["_Job"]:
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as checkpoint:
        yield _Job(plan, checkpoint)


class _Job:
    def __init__(self, plan: Plan, checkpoint: str) -> None:
        timeline = Timeline().adopt(plan, EARLIEST)
        first = ShardMeta(-1, timeline, Watermark(LATENESS_MS, [0]))
        self._setup = task.TaskSetup(SOURCE, timeline, "", "", SHARDS)
        self._shard_setup = ShardSetup(SOURCE, Topics("bench"), checkpoint, msgspec.msgpack.encode(first))
        self._shards = KeptShards()
        self._before = progress.Progress(-1, msgspec.Raw(msgspec.msgpack.encode(timeline)), {}, EARLIEST)

    def take(self, rows: list[pa.RecordBatch]) -> Took:
        before, number = self._before, self._before.batch + 1
        timeline = msgspec.msgpack.decode(before.timeline, type=Timeline)
        began = time.perf_counter()
        reports = task.work(self._setup, timeline, before.greatest, rows, before.watermark)
        told = [
            self._shards.run(self._shard_setup, shard, number, [report])
            for shard, report in enumerate(reports)
        ]
        seconds = time.perf_counter() - began
        messages = [message for of_shard in told for message in of_shard]
        self._before = self._progress(messages)
        meters = [json.loads(value) for topic, _, value in messages if topic == self._topics.meters]
        return Took(
            seconds,
            meters[0]["map_seconds"],
            sum(meter["shard_seconds"] for meter in meters),
            meters[0]["events"],
            sum(meter["partials"] for meter in meters),
            sum(meter["results"] for meter in meters),
        )

    @property
    def _topics(self) -> Topics:
        return self._shard_setup.topics

    def _progress(self, messages: list[Message]) -> progress.Progress:
        values = {topic: value for topic, _, value in messages}
        value = values[self._topics.progress(SOURCE.stream)]
        return msgspec.msgpack.decode(value, type=progress.Progress)
