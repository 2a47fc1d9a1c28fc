"""The streaming job: takes sources and plans from Kafka, runs one streaming query per source, says how it is.

A newer plan of a source that runs already is adopted by its query without a restart (`streaming/shard.py`);
this loop only starts, stops and restarts queries.
"""

import logging
import os
import shutil
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from optimizer.plan import Plan
from streaming import spark as engine
from streaming.broker import answers
from streaming.jars import jars_dir
from streaming.lanes import EARLIEST, Timeline
from streaming.shard import END_OF_DATA
from streaming.sources import SourceSpec
from streaming.topics import Topics, create_topics, delete_topics

log = logging.getLogger("millrace.job")

STATUS_EVERY = 2.0
RECEIPT_SECONDS = 10.0
BACK_OFF = (1.0, 2.0, 5.0, 10.0, 30.0)


@dataclass
class Running:
    """A source as the job knows it."""

    source: SourceSpec
    plan: Plan
    plan_offset: int  # of the newest message about it on the plans topic
    query: StreamingQuery | None = None
    state: str = "starting"
    since: int = field(default_factory=lambda: _now())
    error: str | None = None
    failures: int = 0
    retry_at: float = 0.0

    def turn(self, state: str, error: str | None = None) -> None:
        if (state, error) != (self.state, self.error):
            self.state, self.error, self.since = state, error, _now()


class StatusSender:
    """Sends signs of life; replaces its producer, which does not always survive a restart of the broker."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._producer: KafkaProducer | None = None
        self._receipt: Any = None
        self._sent_at = 0.0

    def send(self, message: bytes) -> None:
        if self._receipt is not None and not self._receipt.succeeded():
            if not self._receipt.failed() and time.monotonic() - self._sent_at < RECEIPT_SECONDS:
                return  # the one before is still on its way
            self._replace()
        try:
            self._producer = self._producer or KafkaProducer(
                bootstrap_servers=self._bootstrap_servers, linger_ms=0, max_block_ms=2_000
            )
            self._receipt = self._producer.send(self._topic, key=b"job", value=message)
            self._sent_at = time.monotonic()
        except KafkaError:
            self._replace()

    def close(self, timeout: float = 5) -> None:
        if self._producer is not None:
            with suppress(KafkaError):  # what could not be sent is lost with it
                self._producer.close(timeout=timeout)

    def _replace(self) -> None:
        self.close(timeout=0.1)
        self._producer = self._receipt = None


class Job:
    def __init__(
        self, spark: SparkSession, bootstrap_servers: str, topics: Topics, checkpoints: Path
    ) -> None:
        self._spark = spark
        self._bootstrap_servers = bootstrap_servers
        self._topics = topics
        self._checkpoints = checkpoints
        self._sources: dict[str, Running] = {}
        self._stopping = threading.Event()
        self._started = _now()
        self._status = StatusSender(bootstrap_servers, topics.status)
        self._plans = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id=None,
            enable_auto_commit=False,
            reconnect_backoff_max_ms=1_000,
        )
        self._partition = TopicPartition(topics.plans, 0)
        self._plans.assign([self._partition])
        self._plans.seek_to_beginning(self._partition)

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        """Until `stop`: hear plans, keep every source's query running, give a sign of life."""
        next_status = 0.0
        self._catch_up()
        while not self._stopping.is_set():
            for running in self._sources.values():
                self._tend(running)
            if time.monotonic() >= next_status:
                self._tell("running")
                next_status = time.monotonic() + STATUS_EVERY
            self._hear_plans(timeout_ms=250)
        self._stop_all()

    def _catch_up(self) -> None:
        """Hear the newest plan of every source; what was said before it is past and must not be acted on."""
        end = self._plans.end_offsets([self._partition])[self._partition]
        newest: dict[bytes, Any] = {}
        while self._plans.position(self._partition) < end and not self._stopping.is_set():
            newest |= {record.key: record for record in self._poll(500) if record.value != END_OF_DATA}
        for record in newest.values():
            self._hear(record)

    def _hear_plans(self, timeout_ms: int) -> None:
        for record in self._poll(timeout_ms):
            self._hear(record)

    def _poll(self, timeout_ms: int) -> list[Any]:
        return self._plans.poll(timeout_ms=timeout_ms).get(self._partition, [])

    def _hear(self, record: Any) -> None:
        key = record.key.decode()
        if record.value is None:
            self._forget(key)
        elif record.value != END_OF_DATA:
            self._hear_plan(key, record.value, record.offset)

    def _hear_plan(self, key: str, message: bytes, offset: int) -> None:
        try:
            value = msgspec.json.decode(message)
            source, plan = SourceSpec.from_json(value["source"]), Plan.from_json(value["plan"])
        except (ValueError, KeyError, TypeError) as error:
            log.error("The plan of %s at offset %d cannot be read: %s", key, offset, error)
            return
        known = self._sources.get(key)
        if known is not None and known.source != source:
            log.info("Source %s was changed; it starts anew.", key)
            self._forget(key)
            known = None
        if known is None:
            self._sources[key] = Running(source, plan, offset)
        else:
            known.plan, known.plan_offset = plan, offset
        log.info(
            "Plan %d of %s: %d queries in %d trees.", plan.version, key, len(plan.queries), len(plan.trees)
        )

    def _forget(self, key: str) -> None:
        running = self._sources.pop(key, None)
        if running is not None:
            self._end_query(running)
            shutil.rmtree(self._checkpoints / running.source.stream, ignore_errors=True)
            delete_topics(self._bootstrap_servers, [self._topics.progress(running.source.stream)])
            log.info("The state of source %s was removed.", key)

    def _tend(self, running: Running) -> None:
        """Start what should run, notice what failed, try again after a while."""
        if running.query is not None and not running.query.isActive:
            self._note_failure(running, running.query)
        wanted = bool(running.plan.trees)
        if running.query is None and wanted and time.monotonic() >= running.retry_at:
            self._start_query(running)
        elif running.query is not None and not wanted:
            self._end_query(running)  # its last query was deleted; its state stays, for the next one
        elif running.query is not None and running.state == "starting" and running.query.lastProgress:
            running.failures = 0
            running.turn("running")

    def _start_query(self, running: Running) -> None:
        source = running.source
        log.info("Starting %s: topic %s on %s.", source.id, source.topic, source.bootstrap_servers)
        try:
            create_topics(self._bootstrap_servers, [self._topics.progress_topic(source.stream)])
            running.query = engine.start(self._spark, self._launch(running))
            running.turn("starting")
        except Exception as error:  # any reason not to start is told on the page, and tried again
            running.query = None
            self._back_off(running, str(error).splitlines()[0])

    def _launch(self, running: Running) -> engine.Launch:
        return engine.Launch(
            source=running.source,
            timeline=Timeline().adopt(running.plan, EARLIEST),
            bootstrap_servers=self._bootstrap_servers,
            topics=self._topics,
            checkpoint=str(self._checkpoints / running.source.stream),
            plans_offset=running.plan_offset + 1,
        )

    def _note_failure(self, running: Running, query: StreamingQuery) -> None:
        running.query = None
        self._back_off(running, engine.failure(query) or "The query ended.")

    def _back_off(self, running: Running, error: str) -> None:
        pause = BACK_OFF[min(running.failures, len(BACK_OFF) - 1)]
        running.failures += 1
        running.retry_at = time.monotonic() + pause
        running.turn("failing", error)
        log.error("Source %s failed: %s Next try in %.0f s.", running.source.id, error, pause)

    def _end_query(self, running: Running) -> None:
        if running.query is not None:
            running.query.stop()
            running.query = None

    def _stop_all(self) -> None:
        for running in self._sources.values():
            self._end_query(running)
        self._tell("stopped")
        self._status.close()
        self._plans.close()

    def _tell(self, state: str) -> None:
        sources = {
            key: {
                "state": running.state,
                "since": running.since,
                "error": running.error,
                "batch": engine.last_batch(running.query),
            }
            for key, running in self._sources.items()
            if running.plan.trees
        }
        message = {
            "job": "job",
            "state": state,
            "since": self._started,
            "clock": _now(),
            "sources": sources,
        }
        self._status.send(msgspec.json.encode(message))


def run(bootstrap_servers: str, prefix: str, master: str, var_dir: Path) -> None:
    """Run the job until SIGTERM or SIGINT."""
    topics = Topics(prefix)
    jvm_file = var_dir / "run" / f"spark-{prefix}.pid"
    _end_orphan(jvm_file)
    spark = engine.session(master, jars_dir(var_dir), var_dir)
    jvm_file.parent.mkdir(parents=True, exist_ok=True)
    jvm_file.write_text(str(engine.jvm_pid(spark)))
    # Spark starts while the broker does: it is the slower of the two, and does not need it.
    _wait_for_kafka(bootstrap_servers)
    create_topics(bootstrap_servers, topics.shared())
    job = Job(spark, bootstrap_servers, topics, var_dir / "checkpoints" / prefix)

    def on_signal(number: int, frame: FrameType | None) -> None:
        job.stop()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    try:
        job.run()
    finally:
        spark.stop()


def _wait_for_kafka(bootstrap_servers: str) -> None:
    """Return when Kafka answers; say so when it takes long, and go on waiting."""
    began = told = time.monotonic()
    while not answers(bootstrap_servers):
        if time.monotonic() - told > 10:
            told = time.monotonic()
            log.warning("Kafka at %s has not answered for %.0f s.", bootstrap_servers, told - began)
        time.sleep(0.2)


def _end_orphan(jvm_file: Path) -> None:
    """End the Spark JVM of a job that was killed: two must never write to one checkpoint.

    It ends by itself when it notices, but may finish a batch before that.
    """
    try:
        pid = int(jvm_file.read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    if b"org.apache.spark.deploy.SparkSubmit" in command:
        log.warning("Ending the Spark process %d that a killed job left behind.", pid)
        os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
            time.sleep(0.05)


def _now() -> int:
    return int(time.time() * 1000)
