"""The whole path against a bare Kafka read in Spark and against Spark's own `window()`, in one run.

All read the same topic on the same broker: JSON of about 100 bytes, 1,000 devices, 4 partitions, 20,000
events per second of event time. Rates are events per second of batch time, the first batch left out; each
is the median of the rounds, which alternate so that a slow moment of the machine meets everyone.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from django.conf import settings
from kafka.admin import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from benchmarks.figures import Figure
from optimizer import Statistics, optimize
from optimizer.queries import QuerySpec, WindowSpec
from streaming import spark as engine
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.lanes import EARLIEST, Timeline
from streaming.sources import SourceSpec
from streaming.topics import Topics, create_topics

START = 1_767_225_600_000
EVENTS_PER_MS = 20
PARTITIONS = 4
BATCH = 250_000
SCHEMA = (("device", "text"), ("ts", "integer"), ("temp", "number"), ("status", "text"), ("site", "text"))


@dataclass(frozen=True)
class Bench:
    spark: SparkSession
    bootstrap_servers: str
    work_dir: Path

    def checkpoint(self, name: str) -> str:
        path = self.work_dir / "checkpoints" / name
        shutil.rmtree(path, ignore_errors=True)
        return str(path)


def main(quick: bool, progress: Callable[[str], None]) -> list[Figure]:
    events, slow_events, rounds = (600_000, 60_000, 1) if quick else (2_000_000, 120_000, 3)
    jars = jars_dir(settings.VAR_DIR)
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as directory:
        work_dir = Path(directory)
        with Broker(work_dir / "broker", free_port(), jars / "broker", find_java().path) as broker:
            spark = engine.session(settings.SPARK_MASTER, jars, settings.VAR_DIR)
            bench = Bench(spark, broker.bootstrap_servers, work_dir)
            progress(f"filling topics with {events:,} and {slow_events:,} events")
            _fill(bench, "events", events)
            _fill(bench, "few", slow_events)
            try:
                return _measure(bench, events, slow_events, rounds, progress)
            finally:
                spark.stop()


def _measure(
    bench: Bench, events: int, slow_events: int, rounds: int, progress: Callable[[str], None]
) -> list[Figure]:
    runs: dict[str, Callable[[], float]] = {
        "bare Kafka read": lambda: _bare_read(bench, events),
        "Millrace, 1 window": lambda: _millrace(bench, 1, events),
        "Millrace, 20 windows": lambda: _millrace(bench, 20, events),
        "Spark window(), 1 window": lambda: _spark_window(bench, slow_events),
    }
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, run in runs.items():
            rates[name].append(run())
            progress(f"round {number + 1} of {rounds}: {name}: {rates[name][-1]:,.0f} events/s")
    for name, values in rates.items():
        progress(f"{name}: {min(values):,.0f} to {max(values):,.0f} events/s")
    rate = {name: median(values) for name, values in rates.items()}
    bare, own = rate["bare Kafka read"], rate["Spark window(), 1 window"]
    one, twenty = rate["Millrace, 1 window"], rate["Millrace, 20 windows"]
    return [
        Figure("bare Kafka read in Spark", bare, "events/s"),
        Figure("Spark window(), 60 s every 1 s, to nowhere", own, "events/s", baseline=bare),
        Figure("Millrace, 60 s every 1 s, against the bare read", one, "events/s", baseline=bare),
        Figure("Millrace, 20 windows, against the bare read", twenty, "events/s", baseline=bare),
        Figure("Millrace, 1 window, against Spark window()", one, "events/s", baseline=own, target=1.0),
        Figure(
            "Millrace, 20 windows, against Spark window() with 1",
            twenty,
            "events/s",
            baseline=own,
            target=1.0,
        ),
    ]


def _fill(bench: Bench, topic: str, count: int) -> None:
    """Fill a topic from the JVM, in order of event time in every partition."""
    create_topics(bench.bootstrap_servers, [NewTopic(topic, PARTITIONS, 1)])
    event = F.struct(
        F.concat(F.lit("d"), F.expr("id * 7919 % 1000")).alias("device"),
        (F.lit(START) + F.expr(f"id div {EVENTS_PER_MS}")).alias("ts"),
        F.round(15 + 20 * F.rand(seed=1), 3).alias("temp"),
        F.lit("ok").alias("status"),
        F.concat(F.lit("plant-"), F.expr("id % 20"), F.lit("-line-"), F.expr("id % 8")).alias("site"),
    )
    (
        bench.spark.range(0, count, 1, 1)
        .select(
            F.to_json(event).cast("binary").alias("value"),
            F.expr(f"int(id % {PARTITIONS})").alias("partition"),
        )
        .write.format("kafka")
        .option("kafka.bootstrap.servers", bench.bootstrap_servers)
        .option("topic", topic)
        .save()
    )


def _read(bench: Bench, topic: str, batch: int) -> DataFrame:
    return (
        bench.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bench.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch)
        .option("kafka.max.poll.records", "20000")
        .option("kafka.fetch.max.wait.ms", "5")
        .option("kafka.max.partition.fetch.bytes", str(4 << 20))
        .load()
    )


def _bare_read(bench: Bench, events: int) -> float:
    query = (
        _read(bench, "events", BATCH)
        .select("value")
        .writeStream.format("noop")
        .option("checkpointLocation", bench.checkpoint("bare"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    return _rate(query, "events", events)


def _spark_window(bench: Bench, events: int) -> float:
    """Spark's own sliding window, one of 60 s every 1 s, in the same session settings."""
    schema = "device string, ts long, temp double"
    parsed = _read(bench, "few", events // 3).select(
        F.from_json(F.col("value").cast("string"), schema).alias("e")
    )
    query = (
        parsed.select("e.device", "e.temp", F.expr("timestamp_millis(e.ts)").alias("at"))
        .withWatermark("at", "10 seconds")
        .groupBy(F.window("at", "60 seconds", "1 second"), "device")
        .agg(F.max("temp"), F.count("*"))
        .writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", bench.checkpoint("window"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    return _rate(query, "few", events)


def _millrace(bench: Bench, windows: int, events: int) -> float:
    """The whole path: decode, partials, shuffle, state, kernels, results to Kafka."""
    topics = Topics(f"bench-{windows}-{time.monotonic_ns()}")
    source = SourceSpec("bench", bench.bootstrap_servers, "events", "json", SCHEMA, "ts", "ms", 10_000)
    create_topics(bench.bootstrap_servers, [*topics.shared(), topics.progress_topic(source.stream)])
    family = tuple(WindowSpec(f"{60 + 10 * number}s", "1s") for number in range(windows))
    queries = QuerySpec("hot", "max", "temp", family, ("device",)).queries()
    plan = optimize(queries, Statistics(), source=source.id)
    launch = engine.Launch(
        source,
        Timeline().adopt(plan, EARLIEST),
        bench.bootstrap_servers,
        topics,
        bench.checkpoint(topics.prefix),
        plans_offset=0,
        max_per_batch=BATCH,
        start_back=events,
    )
    return _rate(engine.start(bench.spark, launch), "events", events)


def _rate(query: StreamingQuery, topic: str, events: int) -> float:
    """Events per second of batch time, the first batch (compiling, starting workers) left out."""
    rows: list[tuple[int, float]] = []
    seen = -1
    while sum(count for count, _ in rows) < events:
        if query.exception() is not None:
            raise RuntimeError(str(query.exception()))
        for item in query.recentProgress:
            if item["batchId"] > seen:
                seen = item["batchId"]
                rows.append((_events(item, topic), item["durationMs"]["triggerExecution"] / 1000))
        time.sleep(0.05)
    query.stop()
    busy = [(count, seconds) for count, seconds in rows if count][1:]
    return sum(count for count, _ in busy) / sum(seconds for _, seconds in busy)


def _events(item: dict[str, object], topic: str) -> int:
    sources = json.loads(json.dumps(item["sources"], default=str))
    return sum(int(s["numInputRows"]) for s in sources if f"[{topic}]" in s["description"])
