"""Back-testing: run queries over a file of events through the real path, to the end, all windows closed.

The events go to a topic of their own, in the order of the file; the plan, the map tasks, the shards and the
kernels are the job's. Nothing of it stays behind.
"""

import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import AnyQuery, InvalidQuery
from streaming import results
from streaming import spark as engine
from streaming.accounting import Counts
from streaming.inference import infer
from streaming.lanes import EARLIEST, Timeline
from streaming.progress import ProgressReader
from streaming.results import ResultBlock
from streaming.shard import END_OF_DATA
from streaming.sources import FieldType, SourceSpec
from streaming.spec import InvalidSpec, Spec, check_fields
from streaming.topics import Topics, create_topics, delete_topics

SAMPLE_LINES = 50_000
SOURCE = "replay"
Say = Callable[[str], None]


class ReplayFailed(RuntimeError):
    """The query of a replay ended before the data did; the message says why."""


@dataclass(frozen=True)
class Summary:
    events: int
    malformed: int
    late: int
    misdated: int  # from the future or the far past
    results: int
    seconds: float


@dataclass(frozen=True)
class _Cluster:
    """Where one replay lives: its topics on a cluster and its checkpoint."""

    bootstrap_servers: str
    topics: Topics
    events_topic: str
    checkpoint: Path


def replay(
    spark: SparkSession,
    bootstrap_servers: str,
    events: Path,
    spec: Spec,
    out: Path,
    work_dir: Path,
    say: Say,
    strategy: str = "weave_share",
) -> Summary:
    """Run `spec` over the JSON lines of `events` and write the final results to `out`."""
    began = time.monotonic()
    source_types = _types(events, spec)
    name = f"replay-{uuid.uuid4().hex[:12]}"
    cluster = _Cluster(bootstrap_servers, Topics(name), f"{name}.events", work_dir / name)
    source = SourceSpec(
        SOURCE,
        bootstrap_servers,
        cluster.events_topic,
        spec.format,
        tuple(source_types.items()),
        spec.event_time,
        spec.time_unit,
        spec.allowed_lateness,
        time_pattern=spec.time_pattern,
        time_zone=spec.time_zone,
        future_bound=spec.future_bound,
        past_bound=spec.past_bound,
    )
    plan = optimize(
        [query for item in spec.queries for query in item.queries()],
        Statistics(),
        source=SOURCE,
        strategy=strategy,
    )
    say(f"{len(plan.all_queries)} windows in {len(plan.all_trees)} trees.")
    try:
        _create(cluster, source)
        total = _produce(spark, events, cluster, say)
        _run(spark, cluster, source, plan, total, say)
        rows = _final_rows(cluster, spec)
        out.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        totals = _totals(cluster)
    finally:
        _remove(cluster, source)
    misdated = totals.future + totals.past
    return Summary(total, totals.malformed, totals.late, misdated, len(rows), time.monotonic() - began)


def _types(events: Path, spec: Spec) -> dict[str, FieldType]:
    """Field types from the beginning of the file; a query that does not fit them is refused."""
    with events.open("rb") as file:
        lines = [line for line, _ in zip(file, range(SAMPLE_LINES), strict=False) if line.strip()]
    if not lines:
        raise InvalidSpec(f"{events} holds no events.")
    types = dict(infer(lines).schema)
    if spec.event_time is None:
        raise InvalidSpec("A replay needs an “event_time” field: a file's lines have no timestamps.")
    if spec.event_time not in types:
        raise InvalidSpec(f"No field “{spec.event_time}” in {events}: it cannot be the event time.")
    for query in spec.queries:
        try:
            check_fields(query, types)
        except InvalidQuery as error:
            raise InvalidSpec(f"Query “{query.name}”: {error.sentence}") from error
    return types


def _create(cluster: _Cluster, source: SourceSpec) -> None:
    one = NewTopic(cluster.events_topic, num_partitions=1, replication_factor=-1)
    topics = [*cluster.topics.shared(), cluster.topics.progress_topic(source.stream), one]
    create_topics(cluster.bootstrap_servers, topics)


def _produce(spark: SparkSession, events: Path, cluster: _Cluster, say: Say) -> int:
    """Copy the file's lines into the topic, in order: one task, one partition."""
    say(f"Reading {events} …")
    lines = spark.read.text(str(events)).filter(F.length(F.trim("value")) > 0).coalesce(1)
    (
        lines.select(F.col("value").cast("binary"), F.lit(0).alias("partition"))
        .write.format("kafka")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("kafka.acks", "all")
        .option("topic", cluster.events_topic)
        .save()
    )
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers)
    partition = TopicPartition(cluster.events_topic, 0)
    total = consumer.end_offsets([partition])[partition]
    consumer.close()
    say(f"{total:,} events.")
    return int(total)


def _run(
    spark: SparkSession, cluster: _Cluster, source: SourceSpec, plan: Plan, total: int, say: Say
) -> None:
    launch = engine.Launch(
        source,
        Timeline().adopt(plan, EARLIEST),
        cluster.bootstrap_servers,
        cluster.topics,
        str(cluster.checkpoint),
        plans_offset=0,
        start_back=total,
    )
    query = engine.start(spark, launch)
    try:
        _wait_until_read(query, cluster, total, say)
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)
        producer.send(cluster.topics.plans, key=source.id.encode(), value=END_OF_DATA)
        producer.close()
        reader = ProgressReader(cluster.bootstrap_servers, cluster.topics.progress(source.stream))
        while not _ended(query, reader):
            _raise_if_failed(query)
        reader.close()
    finally:
        query.stop()


def _ended(query: StreamingQuery, reader: ProgressReader) -> bool:
    """Whether the batch that closed all windows is done, in every shard."""
    newest = reader.newest()
    return newest is not None and newest.ended and (engine.last_batch(query) or 0) >= newest.batch


def _wait_until_read(query: StreamingQuery, cluster: _Cluster, total: int, say: Say) -> None:
    told = -1
    while told < total:
        _raise_if_failed(query)
        progress = query.lastProgress
        ends = [item["endOffset"] for item in progress["sources"]] if progress else []
        read = max((_offset(end, cluster.events_topic) for end in ends), default=0)
        if read != told:
            say(f"{read:,} of {total:,} events, {100 * read // max(1, total)} %")
            told = read
        time.sleep(0.05)


def _offset(end: Any, topic: str) -> int:
    value = msgspec.json.decode(end) if isinstance(end, str) else end
    return int(value[topic]["0"]) if isinstance(value, dict) and topic in value else 0


def _raise_if_failed(query: StreamingQuery) -> None:
    failure = engine.failure(query)
    if failure is not None:
        raise ReplayFailed(f"The replay failed: {failure}")


def _messages(cluster: _Cluster, topic: str) -> Iterator[bytes]:
    """All that is on a topic by now."""
    consumer = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id=None, enable_auto_commit=False
    )
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = consumer.end_offsets([partition])[partition]
    try:
        while consumer.position(partition) < end:
            for record in consumer.poll(timeout_ms=200).get(partition, []):
                yield record.value
    finally:
        consumer.close()


def _final_rows(cluster: _Cluster, spec: Spec) -> list[dict[str, Any]]:
    """Final results in the order of the spec's queries, then time, then group."""
    blocks: dict[tuple[str, int, int], ResultBlock] = {}
    for message in _messages(cluster, cluster.topics.results):
        block = results.decode(message)
        if block.final:  # a replayed batch sends a block again, under the same key
            blocks[block.query, block.end, block.shard] = block
    by_query: dict[str, list[ResultBlock]] = {}
    for block in blocks.values():
        by_query.setdefault(block.query, []).append(block)
    rows: list[dict[str, Any]] = []
    for item in spec.queries:
        for query, window in zip(item.queries(), item.windows, strict=True):
            labels = {"query": item.name, **window.labels}
            found = [
                (start, block.end, *row)
                for block in by_query.get(query.id, [])
                for start, row in zip(block.row_starts(), block.rows(), strict=True)
            ]
            found.sort(key=lambda row: (row[1], [str(part) for part in row[2]]))
            rows += [_row(labels, query, *row) for row in found]
    return rows


def _row(
    labels: dict[str, Any],
    query: AnyQuery,
    start: int,
    end: int,
    group: tuple[Any, ...],
    value: float | None,
    count: int,
) -> dict[str, Any]:
    if query.aggregate == "count" and value is not None:
        value = int(value)
    return {
        **labels,
        "group": dict(zip(query.group_by, group, strict=True)),
        "start": _instant(start),
        "end": _instant(end),
        "value": value,
        "count": count,
    }


def _instant(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    precision = "milliseconds" if milliseconds % 1000 else "seconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _totals(cluster: _Cluster) -> Counts:
    """What became of every event, from the newest of the meters."""
    meters = [msgspec.json.decode(message) for message in _messages(cluster, cluster.topics.meters)]
    return Counts(**max(meters, key=lambda meter: meter["batch"])["totals"])


def _remove(cluster: _Cluster, source: SourceSpec) -> None:
    shutil.rmtree(cluster.checkpoint, ignore_errors=True)
    topics = [topic.name for topic in cluster.topics.shared()]
    topics += [cluster.events_topic, cluster.topics.progress(source.stream)]
    delete_topics(cluster.bootstrap_servers, topics)
