"""Spark wiring: sessions and streaming queries.

One streaming query per source: map tasks read the topic and make one report per shard
(`streaming/input_stream.py`, `streaming/task.py`), Spark brings the reports of a shard together, the shard's
keeper makes messages of them (`streaming/keepers.py`, `streaming/shard.py`), and Spark writes those to Kafka.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streaming import keepers, security
from streaming.input_stream import FORMAT, InputSetup, InputStream, batch_id
from streaming.java import QUICK_START
from streaming.kept_shards import ShardSetup
from streaming.lanes import EARLIEST, Timeline
from streaming.record_batches import DECOMPRESSED_MB
from streaming.refused import PAST_MESSAGES
from streaming.shard import ShardMeta
from streaming.sources import SourceSpec
from streaming.task import TaskSetup
from streaming.topics import MESSAGE_BYTES, Topics
from streaming.watch import look
from streaming.watermark import Watermark

PROJECT_DIR = Path(__file__).resolve().parent.parent
LOG4J = f"-Dlog4j2.configurationFile=file:{PROJECT_DIR / 'streaming' / 'log4j2.properties'}"
START_BACK = 2_000_000  # messages of the past that a new source's job reads at most
PER_CORE = 250_000  # events that a batch takes at most for each core
LEAST_CORES = 2  # that are reckoned with
MESSAGES_AT_ONCE = 1_000  # that are handed to Spark for Kafka
MESSAGE_TYPES = (pa.string(), pa.binary(), pa.binary())
# In a line of a report: the class of an error, of ours or another, and what it says.
RAISED = re.compile(
    r"(?:\b[\w.]*(?:Error|Exception|KeeperFailed|StaleTask|StateLost|SourceProblem|TopicGone|Unreachable): )+"
    r"(?P<sentence>\S.*)"
)
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
    max_per_batch: int | None = None  # events; None: by the number of cores
    start_back: int = START_BACK
    past_messages: int = PAST_MESSAGES


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
        "MILLRACE_LARGEST_BATCH_MB": str(DECOMPRESSED_MB),
    }
    os.environ.update(environment, PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable)
    settings = _settings(jars_dir, _java_options(class_archive(var_dir), archive_at_exit))
    settings |= {f"spark.executorEnv.{name}": value for name, value in environment.items()}
    settings |= _settings_of_local(jars_dir) if _is_local(master) else _settings_of_cluster()
    if scratch is not None:
        settings["spark.local.dir"] = str(scratch)
    builder = SparkSession.builder.master(_with_retries(master)).appName("millrace")
    for name, value in {**settings, **overrides}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    # With them tasks open what sources' clusters want to know. They are no setting: settings are arguments of
    # the JVM, which everybody on the machine may see.
    spark.sparkContext.environment[security.KEYS] = os.environ.get(security.KEYS, "")
    if not _is_local(master):
        _await_executors(spark)
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
    return spark


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _settings(jars_dir: Path, java_options: str) -> dict[str, str]:
    return {
        "spark.jars": ",".join(str(jar) for jar in sorted((jars_dir / "spark").glob("*.jar"))),
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": f"{java_options} {LOG4J}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.python.daemon.module": "streaming.worker_daemon",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        # Shards are found by their partition: none may be put together or cut up.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.streaming.stopTimeout": "15s",
        "spark.sql.streaming.minBatchesToRetain": "20",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.streaming.metricsEnabled": "false",
    }


def _settings_of_local(jars_dir: Path) -> dict[str, str]:
    """Checkpoints are local: commit without the helper processes that Hadoop's file system forks."""
    return {
        # What Spark's Java listens on takes serialised objects: only from who knows a secret, which Spark
        # makes up by itself where it is local. A cluster has one of its own (docs/operations.md).
        "spark.authenticate": "true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": os.pathsep.join(
            str(jar) for jar in sorted((jars_dir / "bare").glob("*.jar"))
        ),
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    }


def _settings_of_cluster() -> dict[str, str]:
    return {"spark.executor.extraJavaOptions": f"-XX:+UseParallelGC {LOG4J}"}


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
    return next(filter(None, map(_sentence, reversed(lines))), lines[0] if lines else None)


def _sentence(line: str) -> str | None:
    """What a line says was raised, without the names of what raised it.

    >>> _sentence("streaming.keepers.KeeperFailed: OSError: [Errno 28] No space left on device")
    '[Errno 28] No space left on device'
    >>> _sentence("streaming.watch.SourceProblem: The Kafka cluster at a:9092 does not answer.")
    'The Kafka cluster at a:9092 does not answer.'
    >>> _sentence("  at java.base/java.lang.Thread.run(Thread.java:840)")
    """
    found = RAISED.search(line)
    return found["sentence"] if found else None


def last_batch(query: StreamingQuery | None) -> int | None:
    """The number of the last batch that a query has finished."""
    progress: Any = query.lastProgress if query else None
    return int(progress["batchId"]) if progress else None


def read_up_to(query: StreamingQuery | None) -> dict[int, int] | None:
    """By partition, the offset up to which a query has read; None before its first batch."""
    progress: Any = query.lastProgress if query else None
    if not progress:
        return None
    events = json.loads(progress["sources"][0]["endOffset"])["events"]
    return {int(partition): int(offset) for partition, offset in events.items()}


def start(spark: SparkSession, launch: Launch) -> StreamingQuery:
    """Start a source's streaming query from its checkpoint, or from the past that is still in Kafka."""
    # Sources share the cores evenly, whatever each has to do.
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", launch.source.id)
    spark.dataSource.register(InputStream)
    labels = _shard_labels(spark.sparkContext.defaultParallelism, launch.checkpoint)
    starts, awaited, whole = _starting_offsets(launch)
    first = ShardMeta(
        batch=-1,
        timeline=launch.timeline,
        watermark=Watermark(
            launch.source.allowed_lateness, awaited, processing_time=launch.source.processing_time
        ),
        whole_from=EARLIEST if whole else EARLIEST + 1,
    )
    shards = ShardSetup(launch.source, launch.topics, launch.checkpoint, msgspec.msgpack.encode(first))
    reports = (
        spark.readStream.format(FORMAT)
        .option("setup", _input_setup(launch, starts, labels, spark.sparkContext.defaultParallelism).option())
        .load()
    )
    messages = reports.repartition(len(labels), "shard").mapInArrow(
        _shard_function(shards, labels), "topic string, key binary, value binary"
    )
    return (
        messages.writeStream.format("kafka")
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


def _input_setup(launch: Launch, starts: dict[int, int], labels: list[int], tasks: int) -> InputSetup:
    setup = TaskSetup(
        launch.source,
        launch.timeline,
        launch.bootstrap_servers,
        launch.topics.progress(launch.source.stream),
        len(labels),
    )
    return InputSetup(
        launch.source.bootstrap_servers,
        launch.source.topic,
        launch.bootstrap_servers,
        launch.topics.plans,
        launch.source.id,
        {str(number): start for number, start in starts.items()},
        launch.plans_offset,
        launch.topics.progress(launch.source.stream),
        launch.past_messages,
        launch.max_per_batch or _most_per_batch(tasks),
        tasks,
        msgspec.msgpack.encode(setup),
        labels,
        launch.source.security,
        launch.source.future_bound,
        launch.source.isolation,
    )


def _most_per_batch(cores: int) -> int:
    """As long a batch on a cluster as on one machine: its fixed costs do not shrink with more cores.

    >>> _most_per_batch(1), _most_per_batch(2), _most_per_batch(80)
    (500000, 500000, 20000000)
    """
    return PER_CORE * max(LEAST_CORES, cores)


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


def _starting_offsets(launch: Launch) -> tuple[dict[int, int], list[int], bool]:
    """Where a new stream begins, the partitions that hold messages, and whether that is all there is."""
    source = launch.source
    view = look(source.bootstrap_servers, source.topic, source.security, source.isolation)
    share = launch.start_back // len(view.first)
    starts = {number: max(first, view.end[number] - share) for number, first in view.first.items()}
    awaited = [number for number, start in starts.items() if view.end[number] > start]
    return starts, awaited, not any(starts.values())  # where Kafka has removed messages, that is not all


def _shard_function(setup: ShardSetup, labels: list[int]) -> Any:
    def run_shard(reports: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = list(reports)
        if not tables:
            return
        table = pa.Table.from_batches(tables)
        number = labels.index(table.column("shard")[0].as_py())
        messages = keepers.run_shard(setup, number, batch_id(), table.column("report").to_pylist())
        for low in range(0, len(messages), MESSAGES_AT_ONCE):
            columns = zip(*messages[low : low + MESSAGES_AT_ONCE], strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, MESSAGE_TYPES, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=["topic", "key", "value"])

    return run_shard
