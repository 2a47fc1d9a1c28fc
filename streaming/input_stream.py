"""A source as Spark reads it: Spark keeps the offsets, Python workers read Kafka and hand on partials.

Three streams in one: the source's topic, the plans topic, and a clock that ticks when nothing else moves. An
offset is a place in each; its clock is different in every batch and serves as the batch's time. A fourth
place is that of reading back, while queries of a new plan lack their past (`streaming/recall.py`). Events
never pass through Spark's Java process, which would cost more than all that is done with them
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
from streaming.progress import Progress, ProgressReader
from streaming.security import PLAINTEXT, Security
from streaming.sources import FUTURE_BOUND_MS, READ_COMMITTED, Isolation

FORMAT = "millrace"
SCHEMA = "shard int, report binary"
TICK_MS = 1_000  # a stream that stands still gives a sign of life this often
LONG_TICK_MS = 10_000  # and this often once all that it had to say is said
# Between two looks for messages: the longer none have come, the longer it may be until the next.
NAP_SECONDS, LONG_NAP_SECONDS = 0.01, 0.1
NAP_SHARE = 0.02  # of the time since then
LOOK_EVERY = 0.2  # seconds between two looks for plans, which are rare
PLANS_SECONDS = 15.0  # within which they must be there to read
FEW = 5_000  # messages for which a second task is not worth its start
PAST_PER_BATCH = 100_000  # messages that are read back beside what a batch reads anyhow
CLOCKS_APART_MS = 60_000  # messages may be stamped so much earlier than their events, whatever the bound
AHEAD_PACE = 0.9  # of the batches' clock while it is ahead of the machine's, so that this catches up
NOTHING_BACK: dict[str, Any] = {"version": 0, "at": {}, "end": {}, "bounded": [], "messages": 0}


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
    progress_topic: str
    past_messages: int  # that are read back at most
    max_per_batch: int
    tasks: int
    task: bytes
    labels: list[int]  # by shard
    security: Security = PLAINTEXT  # of the source's cluster
    future_bound: int | None = FUTURE_BOUND_MS  # ms that events may be ahead of their messages; None: any
    isolation: Isolation = READ_COMMITTED

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


@dataclass(frozen=True)
class PastInput:
    """What one task of a batch reads back."""

    version: int  # of the plan whose queries lack it
    ranges: list[Range]
    bounded: list[int]  # partitions of which older messages were wanted, too
    read: int  # messages by all tasks and batches, with these
    messages: int  # that there are to read


@dataclass
class TaskInput(InputPartition):
    """What one task of a batch reads."""

    now: int  # the batch's time
    ranges: list[Range] = field(default_factory=list)
    clock: int | None = None  # one task of each batch has it
    plan: bytes | None = None  # the newest that came since the batch before
    past: PastInput | None = None


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
        self._progress: ProgressReader | None = None
        self._tick = TICK_MS
        self._looked: dict[str, float] = {}
        self._last_news = self._ended = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_clients": {}, "_progress": None}  # connections stay where they were made

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        first = {"events": self._setup.first, "plans": self._setup.plans_offset, "clock": 0}
        return first | {"past": NOTHING_BACK}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch: as soon as there is anything to read, or the clock is to tick."""
        start = {"past": NOTHING_BACK} | start
        while True:
            events = limited(start["events"], self._events().ends(), self._setup.max_per_batch)
            end = start | {"events": events}
            if self._is_due("plans"):
                end["plans"] = max(start["plans"], self._plans_end())
                if end["plans"] > start["plans"] and start["events"] == self._setup.first:
                    # Queries that came before the first events are to have all of them: cut by their plan.
                    end["events"] = start["events"]
            if _is_reading(start["past"]) or self._is_due("past"):
                end["past"] = self._past(start)
            now = self._clock(start["clock"])
            if end != start:
                self._last_news = time.monotonic()
            if end != start or now - start["clock"] >= self._tick:
                self._ended = time.monotonic()
                return end | {"clock": max(now, start["clock"] + 1)}
            time.sleep(nap(time.monotonic() - self._last_news))

    def _clock(self, last: int) -> int:
        """The machine's clock; should it have been set back, the last batch's, which goes on more slowly."""
        passed = (time.monotonic() - self._ended) * 1000
        return max(int(time.time() * 1000), last + int(AHEAD_PACE * passed))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskInput]:
        ranges = _ranges(start["events"], end["events"])
        shares = shared_out(ranges, self._setup.tasks)
        inputs = [TaskInput(end["clock"], share) for share in shares] or [TaskInput(end["clock"])]
        inputs[0].clock = end["clock"]
        if end["plans"] > start["plans"]:
            inputs[0].plan = self._newest_plan(start["plans"], end["plans"])
        past_before = start.get("past", NOTHING_BACK)
        if end["past"] != past_before:
            self._add_past(inputs, past_before, end["past"])
        return inputs

    def _add_past(self, inputs: list[TaskInput], start: dict[str, Any], end: dict[str, Any]) -> None:
        """What a batch reads back goes to as many tasks as there may be; the first is told in any case."""
        begun = start["version"] == end["version"]
        shares = shared_out(_ranges(start["at"], end["at"]) if begun else [], self._setup.tasks) or [[]]
        left = sum(len(each) for each in _ranges(end["at"], end["end"]))
        inputs += [TaskInput(inputs[0].now) for _ in range(len(shares) - len(inputs))]
        for given, share in zip(inputs, shares, strict=False):
            given.past = PastInput(
                end["version"], share, end["bounded"], end["messages"] - left, end["messages"]
            )

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
        setup = self._setup
        return self._client(setup.bootstrap_servers, setup.topic, setup.security, setup.isolation)

    def _plans_end(self) -> int:
        return self._client(self._setup.own_servers, self._setup.plans_topic).ends()[0]

    def _past(self, start: dict[str, Any]) -> dict[str, Any]:
        """How far to read back by the end of the next batch."""
        past: dict[str, Any] = start["past"]
        told = self._newest_progress()
        if told is None:
            return past
        self._tick = LONG_TICK_MS if told.is_still else TICK_MS
        if _is_reading(past):
            if told.wanted is None or told.wanted[0] != past["version"]:
                return NOTHING_BACK | {"version": past["version"]}  # its queries are gone
            return past | {"at": limited(past["at"], _by_number(past["end"]), PAST_PER_BATCH)}
        if told.wanted is None or told.wanted[0] <= past["version"]:
            return past
        return self._located(*told.wanted, start["events"], told.greatest)

    def _located(
        self, version: int, since: int, end: dict[str, int], greatest: dict[int, int]
    ) -> dict[str, Any]:
        """Which messages hold all events from `since` on; at most so many, and those that are left."""
        found = self._first_wanted(since)
        oldest = self._events().beginnings()
        share = self._setup.past_messages // max(1, len(end))
        at, bounded = {}, []
        for number, until in end.items():
            partition = int(number)
            wanted = found.get(partition, -1)
            wanted = until if wanted < 0 else wanted
            at[number] = min(until, max(wanted, oldest.get(partition, 0), until - share))
            is_cut = at[number] > wanted or 0 < wanted <= oldest.get(partition, 0)  # older ones were removed
            if is_cut and self._may_reach(since, greatest.get(partition)):
                bounded.append(partition)
        messages = sum(end.values()) - sum(at.values())
        return {"version": version, "at": at, "end": end, "bounded": bounded, "messages": messages}

    def _first_wanted(self, since: int) -> dict[int, int]:
        """Per partition, an offset that no event from `since` on is before; −1: none is after it either."""
        bound = self._setup.future_bound
        if bound is None:  # the stamps of messages may mean nothing
            return dict.fromkeys(self._events().ends(), 0)
        return self._events().offsets_at(max(0, since - max(CLOCKS_APART_MS, bound)))

    def _may_reach(self, since: int, greatest: int | None) -> bool:
        """Whether a partition that has come so far may have had events from `since` on."""
        return greatest is None or greatest + (self._setup.future_bound or 0) >= since

    def _newest_progress(self) -> Progress | None:
        if self._progress is None:
            self._progress = ProgressReader(self._setup.own_servers, self._setup.progress_topic)
        return self._progress.newest(timeout_ms=0)

    def _is_due(self, what: str) -> bool:
        """Plans and wanted pasts are rare, and not looked for all the time."""
        now = time.monotonic()
        if now < self._looked.get(what, float("-inf")) + LOOK_EVERY:
            return False
        self._looked[what] = now
        return True

    def _client(
        self,
        bootstrap_servers: str,
        topic: str,
        security: Security = PLAINTEXT,
        isolation: Isolation = READ_COMMITTED,
    ) -> TopicClient:
        key = (bootstrap_servers, topic)
        if key not in self._clients:
            self._clients[key] = TopicClient(*key, security, isolation)
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


def _ranges(start: dict[str, int], end: dict[str, int]) -> list[Range]:
    ranges = (Range(int(number), start.get(number, 0), until) for number, until in end.items())
    return [each for each in ranges if len(each) > 0]


def _is_reading(past: dict[str, Any]) -> bool:
    return past["at"] != past["end"]


def _by_number(offsets: dict[str, int]) -> dict[int, int]:
    return {int(number): offset for number, offset in offsets.items()}


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


def nap(quiet: float) -> float:
    """How long to wait before looking again, after so many seconds without news.

    >>> nap(0.1), nap(2.0), nap(3600.0)
    (0.01, 0.04, 0.1)
    """
    return min(LONG_NAP_SECONDS, max(NAP_SECONDS, NAP_SHARE * quiet))


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
