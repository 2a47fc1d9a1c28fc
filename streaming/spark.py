"""Spark wiring: the one module that knows sessions, streaming queries and Spark's state store.

One streaming query per source: its topic, the plans topic and a heartbeat are unioned, reduced to reports
per (task, shard), and each shard's state lives under one key of `transformWithState`.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streaming import results, shuffle, task
from streaming.java import QUICK_START
from streaming.lanes import EARLIEST, LATEST, Timeline
from streaming.progress import Progress
from streaming.shard import Outcome, Shard, ShardMeta
from streaming.sources import SourceSpec
from streaming.task import TaskSetup
from streaming.topics import MESSAGE_BYTES, Topics
from streaming.watch import look
from streaming.watermark import Watermark

PROJECT_DIR = Path(__file__).resolve().parent.parent
START_BACK = 2_000_000  # messages of the past that a new source's job reads at most
MAX_PER_BATCH = 500_000
# In a streaming query this is the batch's own time, kept with its offsets and the same when it is replayed.
BATCH_TIME = "unix_millis(current_timestamp())"
TASK_TRIES = 4  # what clusters do by default: a killed Python worker costs a task, not the query


@dataclass(frozen=True)
class Launch:
    """Everything a source's streaming query needs to start."""

    source: SourceSpec
    timeline: Timeline  # the first plan, in force since ever
    bootstrap_servers: str  # of Millrace's own topics
    topics: Topics
    checkpoint: str
    plans_offset: int  # plans from here on are adopted while the query runs
    max_per_batch: int = MAX_PER_BATCH
    start_back: int = START_BACK


def class_archive(var_dir: Path) -> Path:
    """Where Java finds Spark's classes ready to map (`streaming/class_archive.py`)."""
    return var_dir / "spark.jsa"


def _java_options(archive: Path, archive_at_exit: Path | None) -> str:
    options = os.environ.get("MILLRACE_SPARK_JAVA_OPTIONS", "-XX:+UseParallelGC")
    if archive_at_exit is not None:
        return f"{QUICK_START} -XX:ArchiveClassesAtExit={archive_at_exit} -Xlog:cds=off -Xlog:cds+dynamic=off"
    if archive.exists():
        options += f" -XX:SharedArchiveFile={archive} -Xlog:cds=off -Xlog:cds+dynamic=off"
    return options


def session(
    master: str,
    jars_dir: Path,
    var_dir: Path,
    archive_at_exit: Path | None = None,
    scratch: Path | None = None,
    **overrides: str,
) -> SparkSession:
    """A session with the settings that mattered when measured; docs/architecture.md has the reasons.

    `scratch` is for files of no use to a later session.
    """
    environment = {
        "PYTHONPATH": str(PROJECT_DIR),
        "NUMBA_CACHE_DIR": str(var_dir / "numba"),
        # One thread per task: numpy and Arrow pools would only fight with the other tasks.
        "OMP_NUM_THREADS": "1",
        "ARROW_NUM_THREADS": "1",
    }
    os.environ.update(environment, PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
    jars = ",".join(str(jar) for jar in sorted((jars_dir / "spark").glob("*.jar")))
    bare = os.pathsep.join(str(jar) for jar in sorted((jars_dir / "bare").glob("*.jar")))
    log4j = PROJECT_DIR / "streaming" / "log4j2.properties"
    java_options = _java_options(class_archive(var_dir), archive_at_exit)
    settings = {
        "spark.jars": jars,
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"{java_options} -Dlog4j2.configurationFile=file:{log4j}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.python.daemon.module": "streaming.worker_daemon",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # Every attempt writes state files of its own and the commit names the ones that count: what an
        # attempt that was given up still writes, in this process or a lost one, is never read.
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.streaming.stopTimeout": "15s",
        "spark.sql.streaming.minBatchesToRetain": "20",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        **{f"spark.executorEnv.{name}": value for name, value in environment.items()},
    }
    if master.startswith("local"):
        # Local checkpoints: commit without the helper processes that Hadoop's file system forks.
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraClassPath": bare,
            "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
            "spark.sql.streaming.checkpointFileManagerClass": (
                "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
            ),
            "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        }
    else:
        settings["spark.executor.extraJavaOptions"] = (
            f"-XX:+UseParallelGC -Dlog4j2.configurationFile=file:{log4j}"
        )
    if scratch is not None:
        settings["spark.local.dir"] = str(scratch)
    builder = SparkSession.builder.master(_with_retries(master)).appName("millrace")
    for name, value in {**settings, **overrides}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    if not master.startswith("local"):
        _await_executors(spark)
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
    return spark


def _with_retries(master: str) -> str:
    """The master as Spark shall see it: left alone, a local one gives up after a task's first failure.

    >>> _with_retries("local[*]"), _with_retries("spark://host:7077")
    ('local[*,4]', 'spark://host:7077')
    """
    return re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{TASK_TRIES}]", master)


def _await_executors(spark: SparkSession, patience: float = 60.0, calm: float = 3.0) -> None:
    """Wait until no more executors join: their cores decide how many shards a new source gets."""
    deadline = time.monotonic() + patience
    known, since = 0, time.monotonic()
    while time.monotonic() < deadline:
        executors: Any = spark.sparkContext._jsc
        joined = executors.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
        if joined != known:
            known, since = joined, time.monotonic()
        if known and time.monotonic() - since > calm:
            return
        time.sleep(0.1)
    if not known:
        raise RuntimeError(f"The cluster gave no executor within {patience:.0f} s.")


def jvm_pid(spark: SparkSession) -> int:
    """The process id of the session's JVM."""
    gateway: Any = spark.sparkContext._gateway
    return int(gateway.proc.pid)


def is_alive(spark: SparkSession, patience: float = 0.0) -> bool:
    """Whether the session's JVM runs; it closes its connections some time before it has ended."""
    gateway: Any = spark.sparkContext._gateway
    try:
        gateway.proc.wait(patience)
    except subprocess.TimeoutExpired:
        return True
    return False


def must_be_alive(spark: SparkSession) -> None:
    """Raise if the JVM has ended: without queries nobody would notice."""
    if not is_alive(spark):
        raise RuntimeError("Spark’s Java process ended.")


def failure(query: StreamingQuery) -> str | None:
    """Why a query ended, in a sentence out of Spark's long report; None while it runs."""
    report = query.exception()
    lines = str(report).splitlines() if report else []
    for line in reversed(lines):
        if "Error: " in line or "StaleTask: " in line or "Exception: " in line:
            return line.split(": ", 1)[1].strip()
    return lines[0] if lines else None


def last_batch(query: StreamingQuery | None) -> int | None:
    """The number of the last batch that a query has finished."""
    progress: Any = query.lastProgress if query else None
    return int(progress["batchId"]) if progress else None


@dataclass(frozen=True)
class BatchRead:
    """What a finished batch was to read of a source's topic, and how many messages came."""

    batch: int
    start: dict[int, int]
    end: dict[int, int]
    messages: int


def batches_read(query: StreamingQuery, topic: str, after: int) -> list[BatchRead]:
    """The batches that finished since `after`, oldest first; Spark remembers the last hundred."""
    newest = last_batch(query)
    if newest is None or newest <= after:
        return []
    reports: list[Any] = [query.lastProgress] if newest == after + 1 else query.recentProgress
    return [
        _batch_read(int(report["batchId"]), source, topic)
        for report in reports
        for source in report["sources"]
        if int(report["batchId"]) > after and f"[{topic}]" in source["description"]
    ]


def _batch_read(batch: int, source: Any, topic: str) -> BatchRead:
    start, end = (_offsets(source[name], topic) for name in ("startOffset", "endOffset"))
    return BatchRead(batch, start, end, int(source["numInputRows"]))


def _offsets(text: str | None, topic: str) -> dict[int, int]:
    offsets = (json.loads(text) if text else None) or {}  # a stream that has just begun has “null”
    return {int(partition): int(offset) for partition, offset in offsets.get(topic, {}).items()}


def start(spark: SparkSession, launch: Launch) -> StreamingQuery:
    """Start a source's streaming query from its checkpoint, or from the past that is still in Kafka."""
    # Sources share the cores evenly, whatever each has to do.
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", launch.source.id)
    shards = _shard_labels(spark.sparkContext.defaultParallelism, launch.checkpoint)
    offsets, awaited, whole = _starting_offsets(launch)
    setup = TaskSetup(
        launch.source,
        launch.timeline,
        launch.bootstrap_servers,
        launch.topics.progress(launch.source.stream),
        len(shards),
    )
    first = ShardMeta(
        batch=-1,
        timeline=launch.timeline,
        watermark=Watermark(
            launch.source.allowed_lateness, awaited, processing_time=launch.source.processing_time
        ),
        whole_from=EARLIEST if whole else EARLIEST + 1,
    )
    reports = (
        _input(spark, launch, offsets)
        .coalesce(spark.sparkContext.defaultParallelism)
        .mapInArrow(_map_function(setup, shards), "shard int, report binary")
    )
    output = reports.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=ShardProcessor(launch, first, shards),
        outputStructType="topic string, key binary, value binary",
        outputMode="append",
        timeMode="None",
    )
    return (
        output.writeStream.format("kafka")
        .queryName(launch.source.id)
        .option("kafka.bootstrap.servers", launch.bootstrap_servers)
        .option("kafka.linger.ms", "5")
        .option("kafka.batch.size", str(1 << 20))
        .option("kafka.acks", "all")
        .option("kafka.max.request.size", str(MESSAGE_BYTES))
        .option("kafka.buffer.memory", str(2 * MESSAGE_BYTES))
        .option("checkpointLocation", launch.checkpoint)
        .outputMode("append")
        .trigger(processingTime="0 seconds")
        .start()
    )


def _shard_labels(count: int, checkpoint: str) -> list[int]:
    """One label per shuffle partition, chosen so that each lands in its own.

    The number is fixed when a checkpoint is made: state does not move between shards.
    """
    path = Path(checkpoint) / "millrace-shards.json"
    if path.exists():
        return list(json.loads(path.read_text()))
    labels: dict[int, int] = {}
    for label in itertools.count():
        labels.setdefault(partition_of(label, count), label)
        if len(labels) == count:
            break
    chosen = [labels[partition] for partition in range(count)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(chosen))
    return chosen


def write_whole(path: Path, text: str) -> None:
    """Write a file so that neither a full disk nor a crash leaves half of it."""
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)


def partition_of(label: int, count: int) -> int:
    """The shuffle partition of an int key: `pmod(hash(label), count)`, Murmur3 with Spark's seed of 42.

    By hand, because asking Spark costs a job, three seconds of a cold start.
    """
    mask = 0xFFFFFFFF
    k = label * 0xCC9E2D51 & mask
    k = ((k << 15 | k >> 17) & mask) * 0x1B873593 & mask
    h = 42 ^ k
    h = ((h << 13 | h >> 19) & mask) * 5 + 0xE6546B64 & mask
    h ^= 4  # bytes hashed
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    signed = h - (1 << 32) if h >> 31 else h
    return signed % count


def _starting_offsets(launch: Launch) -> tuple[str, list[int], bool]:
    """Offsets to start from as Spark wants them, the partitions that hold messages, and whether it is all."""
    view = look(launch.source.bootstrap_servers, launch.source.topic)
    share = launch.start_back // len(view.first)
    starts = {number: max(first, view.end[number] - share) for number, first in view.first.items()}
    offsets = {launch.source.topic: {str(number): start for number, start in starts.items()}}
    awaited = [number for number, start in starts.items() if view.end[number] > start]
    return json.dumps(offsets), awaited, starts == view.first


def _input(spark: SparkSession, launch: Launch, offsets: str) -> DataFrame:
    events = (
        _kafka(spark, launch.source.bootstrap_servers, launch.source.topic)
        .option("startingOffsets", offsets)
        .option("maxOffsetsPerTrigger", launch.max_per_batch)
        .load()
        .select(
            F.lit(task.EVENT).alias("kind"),
            "partition",
            "offset",
            F.expr("unix_millis(timestamp)").alias("timestamp"),
            "value",
        )
    )
    plans = (
        _kafka(spark, launch.bootstrap_servers, launch.topics.plans)
        .option("startingOffsets", json.dumps({launch.topics.plans: {"0": launch.plans_offset}}))
        .load()
        .filter(F.col("key").cast("string") == launch.source.id)
        .filter(F.col("value").isNotNull())
        .select(
            F.lit(task.PLAN).alias("kind"),
            "partition",
            "offset",
            F.expr("unix_millis(timestamp)").alias("timestamp"),
            "value",
        )
    )
    heartbeat = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 1)
        .option("numPartitions", 1)
        .load()
        .select(
            F.lit(task.HEARTBEAT).alias("kind"),
            F.lit(-1).alias("partition"),
            F.col("value").alias("offset"),
            F.expr("unix_millis(timestamp)").alias("timestamp"),
            F.lit(None).cast("binary").alias("value"),
        )
    )
    return events.unionByName(plans).unionByName(heartbeat).select("*", F.expr(BATCH_TIME).alias("now"))


def _kafka(spark: SparkSession, bootstrap_servers: str, topic: str) -> Any:
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", topic)
        .option("failOnDataLoss", "false")  # the job counts what is lost, and goes on
        # A task that waits for a dead broker holds a core that other sources need.
        .option("kafkaConsumer.pollTimeoutMs", "10000")
        .option("kafka.request.timeout.ms", "10000")
        .option("kafka.default.api.timeout.ms", "15000")
        .option("kafka.max.poll.records", "20000")
        .option("kafka.fetch.max.wait.ms", "5")
        .option("kafka.max.partition.fetch.bytes", str(4 << 20))
    )


def _map_function(setup: TaskSetup, labels: list[int]) -> Any:
    def map_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reports = task.run(setup, _batch_id(), batches)
        yield pa.RecordBatch.from_arrays(
            [pa.array(labels, pa.int32()), pa.array(reports, pa.binary())], names=["shard", "report"]
        )

    return map_task


def _batch_id() -> int:
    """The micro-batch that the current task belongs to; a replayed batch has the same."""
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    if batch is None:
        raise RuntimeError("This task does not belong to a streaming query.")
    return int(batch)


# Shards that this worker process has in memory, by checkpoint and shard: derived state, rebuilt when stale.
_cache: dict[tuple[str, int], Shard] = {}


class ShardProcessor(StatefulProcessor):
    """Keeps a shard in Spark's state store: slices, groups and one small record, all as bytes."""

    def __init__(self, launch: Launch, first: ShardMeta, labels: list[int]) -> None:
        self._launch = launch
        self._first = msgspec.msgpack.encode(first)
        self._labels = labels

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._meta = handle.getValueState("meta", "data binary")
        self._slices = handle.getMapState("slices", "lane string, start long", "data binary")
        self._groups = handle.getMapState("groups", "group_by string, first long", "keys binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timers: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        began = time.perf_counter()
        reports = [shuffle.decode(bytes(report)) for frame in rows for report in frame["report"]]
        number = self._labels.index(key[0])
        shard = self._load(number)
        groups_before = {group_by: len(index.keys) for group_by, index in shard.groups.items()}
        outcome = shard.apply(reports, _batch_id())
        shard.meta.attempt = uuid.uuid4().hex
        self._store(shard, outcome, groups_before)
        outcome.meter["clock"] = int(time.time() * 1000)
        outcome.meter["shard_seconds"] = time.perf_counter() - began
        yield self._messages(shard, outcome)
        _cache[self._launch.checkpoint, number] = shard

    def close(self) -> None:
        pass

    def _load(self, number: int) -> Shard:
        """The shard as of the last committed batch: from memory if this worker has it, else from the store.

        It is taken out of the cache while it is worked on, so that a failed task leaves nothing half done.
        """
        stored = self._meta.get()
        meta = msgspec.msgpack.decode(bytes(stored[0]) if stored else self._first, type=ShardMeta)
        cached = _cache.pop((self._launch.checkpoint, number), None)
        if cached is not None and cached.meta.attempt == meta.attempt:
            return cached
        shard = Shard(number, self._launch.source, meta)
        for (group_by, _), (keys,) in sorted(self._groups.iterator()):
            index = shard.group_index(tuple(json.loads(group_by)))
            index.numbers([tuple(group) for group in msgspec.msgpack.decode(bytes(keys))])
        shard.restore((lane, int(start), bytes(data)) for (lane, start), (data,) in self._slices.iterator())
        return shard

    def _store(self, shard: Shard, outcome: Outcome, groups_before: dict[tuple[str, ...], int]) -> None:
        for lane, start in outcome.touched:
            self._slices.updateValue((lane, start), (shard.slice_bytes(lane, start),))
        for lane, start in outcome.evicted:
            self._slices.removeKey((lane, start))
        for group_by, index in shard.groups.items():
            first = groups_before.get(group_by, 0)
            if len(index.keys) > first:
                keys = msgspec.msgpack.encode(index.keys[first:])
                self._groups.updateValue((json.dumps(group_by), first), (keys,))
        self._meta.update((msgspec.msgpack.encode(shard.meta),))

    def _messages(self, shard: Shard, outcome: Outcome) -> pd.DataFrame:
        topics, source = self._launch.topics, self._launch.source.id.encode()
        messages = [(topics.results, block.key, results.encode(block)) for block in outcome.blocks]
        messages.append((topics.meters, source, msgspec.json.encode(outcome.meter)))
        for letter in outcome.dead_letters:
            messages.append((topics.dead_letters, source, msgspec.json.encode(letter)))
        if shard.number == 0:
            progress = Progress(
                shard.meta.batch,
                shard.meta.timeline,
                {number: part.greatest for number, part in shard.meta.watermark.partitions.items()},
                shard.meta.watermark.value,
                ended=shard.meta.watermark.value == LATEST,
                totals=shard.meta.totals,
            )
            topic = topics.progress(self._launch.source.stream)
            messages.append((topic, source, msgspec.msgpack.encode(progress)))
        return pd.DataFrame(messages, columns=["topic", "key", "value"])
