"""What the sections share: a broker, a Spark session, Millrace on a topic, and rates off Spark's batches."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from django.conf import settings
from kafka.admin import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from benchmarks.engine.kafka import APPEND_TIME, read
from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query, QuerySpec, WindowSpec
from streaming import spark as engine
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.lanes import EARLIEST, Timeline
from streaming.sources import FieldType, SourceSpec
from streaming.topics import Topics, create_topics

SCHEMA: tuple[tuple[str, FieldType], ...] = (
    ("device", "text"),
    ("ts", "integer"),
    ("temp", "number"),
    ("status", "text"),
    ("site", "text"),
    ("unit", "text"),
)
LATENESS_MS = 1_000
WARM_BATCHES = 4
SPARK_REMEMBERS = 100  # batches; its default
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Batch:
    """One batch of a streaming query."""

    first: int  # number of its first event: the offsets at its start, over all partitions
    events: int
    seconds: float
    number: int


@dataclass(frozen=True)
class Millrace:
    """Millrace's streaming query on a topic, as the job would start it."""

    query: StreamingQuery
    source: SourceSpec
    topics: Topics
    checkpoint: Path


@dataclass(frozen=True)
class Bench:
    spark: SparkSession
    bootstrap_servers: str
    work_dir: Path

    def checkpoint(self, name: str) -> Path:
        path = self.work_dir / "checkpoints" / name
        shutil.rmtree(path, ignore_errors=True)
        return path

    def read(self, topic: str, per_batch: int, first: int = 0) -> DataFrame:
        """The topic from event number `first` on, read as Millrace reads it."""
        offsets = {topic: {str(partition): first // 4 for partition in range(4)}}
        return (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap_servers)
            .option("subscribe", topic)
            .option("startingOffsets", json.dumps(offsets))
            .option("maxOffsetsPerTrigger", per_batch)
            .option("kafka.max.poll.records", "20000")
            .option("kafka.fetch.max.wait.ms", "5")
            .option("kafka.max.partition.fetch.bytes", str(4 << 20))
            .load()
        )

    def to_nowhere(self, frame: DataFrame, name: str, mode: str = "append") -> StreamingQuery:
        return (
            frame.writeStream.format("noop")
            .outputMode(mode)
            .option("checkpointLocation", str(self.checkpoint(name)))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def source(self, topic: str, **other: Any) -> SourceSpec:
        known: dict[str, Any] = {
            "id": "bench",
            "bootstrap_servers": self.bootstrap_servers,
            "topic": topic,
            "schema": SCHEMA,
            "event_time": "ts",
            "allowed_lateness": LATENESS_MS,
        }
        return SourceSpec(**known | other)

    def millrace(self, source: SourceSpec, plan: Plan, per_batch: int) -> Millrace:
        """Start the whole path: decode, partials, shuffle, state, kernels, results to Kafka."""
        topics = Topics(f"bench-{time.monotonic_ns()}")
        create_topics(self.bootstrap_servers, own_topics(topics, source))
        checkpoint = self.checkpoint(topics.prefix)
        launch = engine.Launch(
            source,
            Timeline().adopt(plan, EARLIEST),
            self.bootstrap_servers,
            topics,
            str(checkpoint),
            plans_offset=0,
            max_per_batch=per_batch,
            start_back=1 << 40,
        )
        return Millrace(engine.start(self.spark, launch), source, topics, checkpoint)

    def meters(self, started: Millrace) -> list[dict[str, Any]]:
        """What the shards said of each batch."""
        messages = read(self.bootstrap_servers, started.topics.meters)
        return [json.loads(message.value) for message in messages]


@contextmanager
def bench(name: str) -> Iterator[Bench]:
    """A broker and a session of their own for one section, gone with their data afterwards."""
    jars = jars_dir(settings.VAR_DIR)
    with (
        tempfile.TemporaryDirectory(prefix=f"millrace-bench-{name}-") as directory,
        Broker(Path(directory) / "broker", free_port(), jars / "broker", find_java().path) as broker,
    ):
        spark = engine.session(settings.SPARK_MASTER, jars, settings.VAR_DIR)
        try:
            yield Bench(spark, broker.bootstrap_servers, Path(directory))
        finally:
            spark.stop()


def own_topics(topics: Topics, source: SourceSpec) -> list[NewTopic]:
    """Millrace's topics for one run, results and progress stamped by the broker."""
    stamped = {topics.results, topics.progress(source.stream)}
    made = [*topics.shared(), topics.progress_topic(source.stream)]
    return [
        NewTopic(topic.name, 1, 1, topic_configs={**topic.topic_configs, **APPEND_TIME})
        if topic.name in stamped
        else topic
        for topic in made
    ]


def family(ranges: Sequence[int], slide: str = "1s", name: str = "hot") -> list[Query]:
    """The greatest temperature of every device, over windows of so many seconds."""
    windows = tuple(WindowSpec(f"{seconds}s", slide) for seconds in ranges)
    return QuerySpec.single(name, "max", "temp", windows, ("device",)).queries()


def planned(queries: Sequence[Query]) -> Plan:
    """A plan as the dashboard would make it for a source whose groups have been counted."""
    return optimize(queries, known_statistics(), source="bench", strategy="best_woven")


def known_statistics() -> Statistics:
    return Statistics(rate=20_000.0, groups={("device",): 1_000, ("site",): 40})


def batches(query: StreamingQuery, topic: str, until: int, limit: float = 1e9) -> list[Batch]:
    """Run a query until it has read `until` events or `limit` seconds are over, then stop it."""
    found: dict[int, Batch] = {}
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        raise_if_failed(query)
        # Asking for all of them every time would take a sixth of a core from what is measured.
        told: Any = query.lastProgress
        newest = _batch(told, topic) if told else None
        if newest is not None and newest.number - max(found, default=-1) >= SPARK_REMEMBERS // 2:
            found |= _recent(query, topic)
        if newest is not None and newest.first + newest.events >= until:
            break
        time.sleep(0.2)
    found |= _recent(query, topic)
    query.stop()
    return [found[number] for number in sorted(found) if found[number].events]


def _recent(query: StreamingQuery, topic: str) -> dict[int, Batch]:
    return {item["batchId"]: _batch(item, topic) for item in query.recentProgress}


def newest_batch(query: StreamingQuery, topic: str) -> Batch:
    return _batch(query.lastProgress, topic)


def run_for(query: StreamingQuery, seconds: float) -> None:
    """Let a query run for so long, then stop it; it must not end by itself."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        raise_if_failed(query)
        time.sleep(0.2)
    query.stop()


def wait_until_warm(query: StreamingQuery) -> None:
    """Until a query is past its first, cold batches."""
    while len(query.recentProgress) < WARM_BATCHES:
        raise_if_failed(query)
        time.sleep(0.1)


def raise_if_failed(query: StreamingQuery) -> None:
    failure = engine.failure(query)
    if failure is not None:
        raise RuntimeError(failure)


def rate(done: Sequence[Batch], first: int) -> float | None:
    """Events per second of batch time, of the batches that begin at or after event `first`.

    The very first batch, in which workers start, never counts.
    """
    counted = [batch for batch in done[1:] if batch.first >= first]
    seconds = sum(batch.seconds for batch in counted)
    return sum(batch.events for batch in counted) / seconds if counted else None


def _batch(item: Any, topic: str) -> Batch:
    sources = json.loads(json.dumps(item["sources"], default=str))
    # A query that reads the topic several times reads the same offsets in each of its branches.
    first = min(_offsets(source["startOffset"], topic) for source in sources)
    last = max(_offsets(source["endOffset"], topic) for source in sources)
    seconds = item["durationMs"]["triggerExecution"] / 1000
    return Batch(first, last - first, seconds, item["batchId"])


def _offsets(value: Any, topic: str) -> int:
    """The sum over partitions of an offset as Spark or Millrace writes it; nothing before the first batch."""
    known = json.loads(value) if isinstance(value, str) and value != "None" else value
    if not isinstance(known, dict):
        return 0
    return sum(known.get(topic, known.get("events", {})).values())


@dataclass(frozen=True)
class Rounds:
    """Alternating rounds of several runs: what each measured, round by round."""

    values: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        return median(self.values[name])

    def spread(self, name: str) -> str:
        """The least and the greatest of the rounds."""
        values = self.values[name]
        return f"{min(values):,.0f} to {max(values):,.0f}"


def alternate(runs: Mapping[str, Callable[[], float]], rounds: int, progress: Progress) -> Rounds:
    """All runs in turn, again and again, so that a slow moment of the machine meets everyone."""
    values: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, run in runs.items():
            values[name].append(run())
            progress(f"round {number + 1} of {rounds}: {name}: {values[name][-1]:,.0f}")
    return Rounds(values)
