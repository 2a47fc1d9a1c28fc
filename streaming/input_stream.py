"""A source as Spark reads it: Spark keeps the offsets, Python workers read Kafka and hand on partials.

Three streams in one: the source's topic, the plans topic, and a clock that ticks when nothing else moves. An
offset is a place in each; its clock is different in every batch and serves as the batch's time. Events never
pass through Spark's Java process, which would cost more than all that is done with them
(`benchmarks/engine`).
"""

import gc
import itertools
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pyarrow as pa
from kafka import KafkaConsumer, TopicPartition
from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from streaming.kafka_topic import TopicClient

FORMAT = "millrace"
SCHEMA = "shard int, report binary"
TICK_MS = 1_000  # a stream that stands still gives a sign of life this often
NAP_SECONDS = 0.01  # between two looks for messages
PLANS_EVERY = 0.2  # seconds between two looks for plans, which are rare
PLANS_SECONDS = 15.0  # within which they must be there to read
FEW = 5_000  # messages for which a second task is not worth its start


@dataclass(frozen=True)
class InputSetup:
    """What the planning of batches knows; `task` is for the tasks alone (`streaming/task.py`)."""

    bootstrap_servers: str  # of the source
    topic: str
    own_servers: str  # of Millrace's own topics
    plans_topic: str
    key: str  # of the source's plans
    first: dict[str, int]  # by partition, where a new stream begins
    plans_offset: int
    max_per_batch: int
    tasks: int
    task: bytes
    labels: list[int]  # by shard

    def option(self) -> str:
        return b64encode(msgspec.msgpack.encode(self)).decode()

    @classmethod
    def from_option(cls, text: str) -> "InputSetup":
        return msgspec.msgpack.decode(b64decode(text), type=cls)


@dataclass(frozen=True)
class Range:
    """Messages of one partition that a batch reads."""

    partition: int
    start: int
    until: int

    def __len__(self) -> int:
        return self.until - self.start


@dataclass
class TaskInput(InputPartition):
    """What one task of a batch reads."""

    now: int  # the batch's time
    ranges: list[Range] = field(default_factory=list)
    clock: int | None = None  # one task of each batch has it
    plan: bytes | None = None  # the newest that came since the batch before


class InputStream(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> "InputReader":  # noqa: N802
        return InputReader(InputSetup.from_option(self.options["setup"]))


class InputReader(DataSourceStreamReader):
    """Plans batches in a process beside the driver; `read` runs in workers."""

    def __init__(self, setup: InputSetup) -> None:
        self._setup = setup
        self._clients: dict[tuple[str, str], TopicClient] = {}
        self._plans_seen = 0
        self._plans_due = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_clients": {}}  # connections stay where they were made

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"events": self._setup.first, "plans": self._setup.plans_offset, "clock": 0}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch: as soon as there is anything to read, or the clock is to tick."""
        while True:
            events = limited(start["events"], self._events().ends(), self._setup.max_per_batch)
            plans = max(start["plans"], self._plans_end())
            now = int(time.time() * 1000)
            is_news = events != start["events"] or plans != start["plans"]
            if is_news or not 0 <= now - start["clock"] < TICK_MS:
                return {"events": events, "plans": plans, "clock": max(now, start["clock"] + 1)}
            time.sleep(NAP_SECONDS)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskInput]:
        ranges = [
            Range(int(number), start["events"].get(number, 0), until)
            for number, until in end["events"].items()
        ]
        shares = shared_out([each for each in ranges if len(each) > 0], self._setup.tasks)
        inputs = [TaskInput(end["clock"], share) for share in shares] or [TaskInput(end["clock"])]
        inputs[0].clock = end["clock"]
        if end["plans"] > start["plans"]:
            inputs[0].plan = self._newest_plan(start["plans"], end["plans"])
        return inputs

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from streaming import task  # with all that is compiled, which planning does without

        reports = task.run(self._setup.task, batch_id(), cast(TaskInput, partition))
        yield pa.RecordBatch.from_arrays(
            [pa.array(self._setup.labels, pa.int32()), pa.array(reports, pa.binary())],
            names=["shard", "report"],
        )
        _settle()

    def stop(self) -> None:
        for client in self._clients.values():
            client.close()

    def _events(self) -> TopicClient:
        return self._client(self._setup.bootstrap_servers, self._setup.topic)

    def _plans_end(self) -> int:
        if time.monotonic() >= self._plans_due:
            self._plans_due = time.monotonic() + PLANS_EVERY
            self._plans_seen = self._client(self._setup.own_servers, self._setup.plans_topic).ends()[0]
        return self._plans_seen

    def _client(self, bootstrap_servers: str, topic: str) -> TopicClient:
        key = (bootstrap_servers, topic)
        if key not in self._clients:
            self._clients[key] = TopicClient(*key)
        return self._clients[key]

    def _newest_plan(self, start: int, until: int) -> bytes | None:
        """The source's newest message on the plans topic, which other sources share."""
        place = TopicPartition(self._setup.plans_topic, 0)
        consumer = KafkaConsumer(bootstrap_servers=self._setup.own_servers, enable_auto_commit=False)
        try:
            consumer.assign([place])
            consumer.seek(place, start)
            newest = None
            deadline = time.monotonic() + PLANS_SECONDS
            while consumer.position(place) < until:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"Kafka did not tell the plans of topic {place.topic}.")
                for record in consumer.poll(timeout_ms=100).get(place, []):
                    if record.offset < until and record.key == self._setup.key.encode() and record.value:
                        newest = record.value
            return newest
        finally:
            consumer.close()


def limited(start: dict[str, int], ends: dict[int, int], most: int) -> dict[str, int]:
    """How far a batch reads: everything there is, else of every partition the same part of what is left.

    >>> limited({"0": 10, "1": 10}, {0: 20, 1: 40}, most=100)
    {'0': 20, '1': 40}
    >>> limited({"0": 10, "1": 10}, {0: 20, 1: 40}, most=20)
    {'0': 15, '1': 25}

    A partition that was added is read from its beginning; one that has shrunk is another topic's, and waits.

    >>> limited({"0": 10}, {0: 5, 1: 3}, most=20)
    {'0': 10, '1': 3}
    """
    left = {number: max(0, end - start.get(str(number), 0)) for number, end in ends.items()}
    total = sum(left.values())
    if total > most:
        left = {number: -(-count * most // total) for number, count in left.items()}
    return {str(number): start.get(str(number), 0) + count for number, count in sorted(left.items())}


def shared_out(ranges: list[Range], tasks: int) -> list[list[Range]]:
    """Whole partitions, the longest first to whoever has least; one task where there is little to do.

    >>> shared_out([Range(0, 0, 9_000), Range(1, 0, 4_000), Range(2, 0, 4_000)], 2)
    [[Range(partition=0, start=0, until=9000)], [Range(partition=1, start=0, until=4000), \
Range(partition=2, start=0, until=4000)]]
    """
    if sum(map(len, ranges)) <= FEW:
        return [ranges] if ranges else []
    shares: list[list[Range]] = [[] for _ in range(min(tasks, len(ranges)))]
    for each in sorted(ranges, key=lambda one: (-len(one), one.partition)):
        min(shares, key=lambda share: sum(map(len, share))).append(each)
    return shares


_tasks = itertools.count(1)


def _settle() -> None:
    """Workers collect garbage after every task; what they have loaded by the fifth need not be looked at."""
    if next(_tasks) == 5:
        gc.collect()
        gc.freeze()


def batch_id() -> int:
    """The micro-batch that the current task belongs to; a replayed batch has the same."""
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    if batch is None:
        raise RuntimeError("This task does not belong to a streaming query.")
    return int(batch)
