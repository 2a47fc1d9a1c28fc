"""The streaming job: takes sources and plans from Kafka, runs one streaming query per source, says how it is.

A newer plan of a source that runs already is adopted by its query without a restart (`streaming/shard.py`);
this loop only starts, stops and restarts queries. Whatever may take long with one source happens in a thread
of that source, so that no source waits for another.
"""

import errno
import json
import logging
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from streaming.losses import LostMessages
from streaming.producers import abandon
from streaming.progress import ProgressReader
from streaming.shard import END_OF_DATA
from streaming.sources import SourceSpec
from streaming.topics import Topics, create_topics, delete_topics
from streaming.watch import Watch, look

log = logging.getLogger("millrace.job")

STATUS_EVERY = 2.0
RECEIPT_SECONDS = 10.0
BACK_OFF = (1.0, 2.0, 5.0, 10.0, 30.0)
# Seconds for which a cluster that seems silent may hold up a query before that is said, and before it ends.
SAID_AFTER = 3.0
STOPPED_AFTER = 10.0
STOP_SECONDS = 8.0  # within the time that the supervisor allows


@dataclass
class Running:
    """A source as the job knows it."""

    source: SourceSpec
    plan: Plan
    plan_offset: int  # of the newest message about it on the plans topic
    watch: Watch
    query: StreamingQuery | None = None
    stream: SourceSpec | None = None  # what the query reads: the source with the identity of its topic
    action: "Future[StreamingQuery | None] | None" = None  # a start or a stop under way
    state: str = "starting"
    since: int = field(default_factory=lambda: _now())
    error: str | None = None
    failures: int = 0
    retry_at: float = 0.0
    moved_at: float = 0.0  # when its newest batch was first seen
    batch: int | None = None
    lost: LostMessages | None = None
    lag: int | None = None  # messages that were there and not read when the topic was last looked at
    looks: int = 0  # at the topic, up to the one that the lag is from

    def note_lag(self) -> None:
        """Compare how far the query has read with the ends of the topic, as soon as these are known anew."""
        view, looks = self.watch.view, self.watch.looks
        read = engine.read_up_to(self.query) if looks != self.looks and view is not None else None
        if read is not None and view is not None:
            self.lag = sum(max(0, end - read.get(part, view.first[part])) for part, end in view.end.items())
            self.looks = looks

    def note_batch(self) -> None:
        newest = engine.last_batch(self.query)
        if newest != self.batch:
            self.batch, self.moved_at = newest, time.monotonic()

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
                bootstrap_servers=self._bootstrap_servers,
                linger_ms=0,
                max_block_ms=2_000,
                bootstrap_timeout_ms=2_000,
            )
            self._receipt = self._producer.send(self._topic, key=b"job", value=message)
            self._sent_at = time.monotonic()
        except KafkaError:
            self._replace()

    def close(self) -> None:
        if self._producer is not None:
            with suppress(KafkaError):  # what could not be sent is lost with it
                self._producer.close(timeout=5)

    def _replace(self) -> None:
        if self._producer is not None:
            abandon(self._producer)
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
        self._threads: dict[str, ThreadPoolExecutor] = {}  # one per source: its actions follow each other
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
            engine.must_be_alive(self._spark)
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
        if known is not None and known.source.stream != source.stream:
            log.info("Source %s was changed; it starts anew.", key)
            self._forget(key)
            known = None
        if known is None:
            self._sources[key] = Running(source, plan, offset, _watch(source))
        else:
            if known.source != source:
                self._let_in_otherwise(known, source)
            known.plan, known.plan_offset = plan, offset
        log.info(
            "Plan %d of %s: %d queries in %d trees.",
            plan.version,
            key,
            len(plan.all_queries),
            len(plan.all_trees),
        )

    def _let_in_otherwise(self, running: Running, source: SourceSpec) -> None:
        """The same stream with another login or certificate: `_check` restarts its query."""
        log.info("Source %s has other credentials; it goes on where it is.", source.id)
        running.watch.stop()
        running.source, running.watch = source, _watch(source)
        running.failures, running.retry_at = 0, 0.0

    def _forget(self, key: str) -> None:
        """A source that is gone; also one that went while no job ran, whose state is still there."""
        running = self._sources.pop(key, None)
        if running is not None:
            running.watch.stop()
        self._in_thread(key, lambda: self._remove(key, running))

    def _remove(self, key: str, running: Running | None) -> None:
        """In the source's thread: what was being started when it went has been started by now."""
        try:
            if running is not None:
                _stop(running.query or _started(running.action))
                self._let_go(running)
            if self._remove_streams(key, keep=None):
                log.info("The state of source %s was removed.", key)
        except Exception:  # nobody waits for this thread
            log.exception("The state of source %s could not be removed; the next start tries again.", key)

    # --- one source -----------------------------------------------------------------------------------

    def _tend(self, running: Running) -> None:
        """Start what should run, notice what failed, try again after a while."""
        if running.action is not None:
            if not running.action.done():
                return
            self._conclude(running, running.action)
        wanted = bool(running.plan.all_trees)
        if running.query is None:
            if wanted:
                self._start_when_possible(running)
        elif not running.query.isActive:
            self._note_failure(running, running.query)
        elif not wanted:
            self._end_query(running)  # its last query was deleted; its state stays, for the next one
        else:
            self._check(running)

    def _conclude(self, running: Running, action: "Future[StreamingQuery | None]") -> None:
        running.action = None
        try:
            running.query = action.result()
            if running.query is not None:
                running.moved_at = time.monotonic()
                running.turn("starting")
        except Exception as error:  # any reason not to start or stop is told on the page, and tried again
            self._back_off(running, self._in_words(str(error)))

    def _start_when_possible(self, running: Running) -> None:
        if running.watch.problem is not None:
            running.turn("failing", running.watch.problem)
        elif running.watch.view is not None and time.monotonic() >= running.retry_at:
            stream = running.stream = _of_topic(running.source, running.watch.view.id)
            running.batch = None
            running.action = self._in_thread(stream.id, lambda: self._start(running, stream))

    def _start(self, running: Running, stream: SourceSpec) -> StreamingQuery:
        """In the source's thread: everything that a query needs, then the query."""
        log.info("Starting %s: topic %s on %s.", stream.id, stream.topic, stream.bootstrap_servers)
        self._remove_streams(stream.id, keep=stream.stream)
        create_topics(self._bootstrap_servers, [self._topics.progress_topic(stream.stream)])
        checkpoint = self._checkpoints / stream.stream
        plans_offset = running.plan_offset + 1  # before the plan: one that comes meanwhile is read again
        if self._progress_is_lost(stream, checkpoint):
            log.warning("Kafka has lost the progress of %s; its windows begin anew.", stream.id)
            shutil.rmtree(checkpoint)
        launch = engine.Launch(
            source=stream,
            timeline=Timeline().adopt(running.plan, EARLIEST),
            bootstrap_servers=self._bootstrap_servers,
            topics=self._topics,
            checkpoint=str(checkpoint),
            plans_offset=plans_offset,
        )
        query = engine.start(self._spark, launch)
        running.lost = LostMessages(
            stream.topic, ProgressReader(self._bootstrap_servers, self._topics.progress(stream.stream))
        )
        return query

    def _progress_is_lost(self, stream: SourceSpec, checkpoint: Path) -> bool:
        """Whether batches were committed whose progress is not there: their state is of no use without it."""
        topic = self._topics.progress(stream.stream)
        committed = any((checkpoint / "commits").glob("[0-9]*"))
        return committed and not any(look(self._bootstrap_servers, topic).end.values())

    def _check(self, running: Running) -> None:
        """A query that runs: is its topic still there, still the same, and what got lost?"""
        watch = running.watch
        running.note_batch()
        if running.stream is not None and running.stream.security != running.source.security:
            self._end_query(running)
            return
        if watch.problem is not None:
            self._check_problem(running, watch, watch.problem)
            return
        if watch.view is not None and running.stream != _of_topic(running.source, watch.view.id):
            log.warning("Topic %s was made anew; its source starts from its beginning.", running.source.topic)
            self._end_query(running)
            return
        if running.batch is not None:
            running.failures = 0
            self._count_lost(running)
            running.note_lag()
            running.turn("running", running.lost.sentence if running.lost else None)

    def _check_problem(self, running: Running, watch: Watch, problem: str) -> None:
        """As long as batches finish, Spark reaches the cluster, whatever a look at it says."""
        silence = time.monotonic() - running.moved_at
        if watch.topic_is_gone or silence > SAID_AFTER:
            running.turn("failing", problem)
        if watch.topic_is_gone or silence > STOPPED_AFTER:
            self._end_query(running)  # it would hold cores while it waits

    def _count_lost(self, running: Running) -> None:
        if running.lost is not None and (newly := running.lost.look()):
            log.error("Source %s: %d messages were removed before they were read.", running.source.id, newly)

    def _note_failure(self, running: Running, query: StreamingQuery) -> None:
        running.query = None
        self._let_go(running)
        self._back_off(running, self._in_words(engine.failure(query) or "The query ended."))

    def _back_off(self, running: Running, error: str) -> None:
        pause = BACK_OFF[min(running.failures, len(BACK_OFF) - 1)]
        running.failures += 1
        running.retry_at = time.monotonic() + pause
        running.turn("failing", error)
        log.error("Source %s failed: %s Next try in %.0f s.", running.source.id, error, pause)

    def _in_words(self, error: str) -> str:
        if os.strerror(errno.ENOSPC) in error:
            return f"The disk that holds {self._checkpoints} is full; Millrace goes on when there is room."
        return error.splitlines()[0] if error else "The query ended."

    def _end_query(self, running: Running) -> None:
        query, running.query = running.query, None
        self._let_go(running)
        running.action = self._in_thread(running.source.id, lambda: _stop(query))

    def _let_go(self, running: Running) -> None:
        if running.lost is not None:
            running.lost.close()
            running.lost = None

    # --- what all sources share -----------------------------------------------------------------------

    def _in_thread(
        self, key: str, action: Callable[[], StreamingQuery | None]
    ) -> "Future[StreamingQuery | None]":
        if key not in self._threads:
            self._threads[key] = ThreadPoolExecutor(1, thread_name_prefix=key)
        return self._threads[key].submit(action)

    def _remove_streams(self, source: str, keep: str | None) -> list[Path]:
        """Remove what a source's earlier streams left: of a topic that is gone, or of another reading."""
        found = [path for path in self._checkpoints.glob(f"{source}-*") if _is_stream_of(path.name, source)]
        old = [path for path in found if path.name != keep]
        if old:
            delete_topics(self._bootstrap_servers, [self._topics.progress(path.name) for path in old])
        for path in old:
            shutil.rmtree(path, ignore_errors=True)
        return old

    def _stop_all(self) -> None:
        for running in self._sources.values():
            running.watch.stop()
            self._end_query(running)
        wait([running.action for running in self._sources.values() if running.action], STOP_SECONDS)
        self._tell("stopped")
        self._status.close()
        self._plans.close()

    def _tell(self, state: str) -> None:
        sources = {
            key: {
                "state": running.state,
                "since": running.since,
                "error": running.error,
                "batch": running.batch,
                "lost": running.lost.total if running.lost else 0,
                "lag": running.lag if running.state == "running" else None,
                "partitions": len(running.watch.view.end) if running.watch.view else None,
            }
            for key, running in self._sources.items()
            if running.plan.all_trees
        }
        message = {
            "state": state,
            "since": self._started,
            "clock": _now(),
            "sources": sources,
        }
        self._status.send(msgspec.json.encode(message))


def run(bootstrap_servers: str, prefix: str, master: str, var_dir: Path) -> None:
    """Run the job until SIGTERM or SIGINT."""
    topics = Topics(prefix)
    jvm_file = var_dir / "run" / f"spark-{prefix}.json"
    _end_orphan(jvm_file)
    scratch = var_dir / "scratch" / prefix
    shutil.rmtree(scratch, ignore_errors=True)  # what a killed job left
    spark = engine.session(master, jars_dir(var_dir), var_dir, scratch=scratch)
    try:
        _remember(jvm_file, engine.jvm_pid(spark))
        # Spark starts while the broker does: it is the slower of the two, and does not need it.
        _wait_for_kafka(bootstrap_servers)
        create_topics(bootstrap_servers, topics.shared())
        job = Job(spark, bootstrap_servers, topics, var_dir / "checkpoints" / prefix)

        def on_signal(number: int, frame: FrameType | None) -> None:
            job.stop()

        signal.signal(signal.SIGTERM, on_signal)
        signal.signal(signal.SIGINT, on_signal)
        job.run()
    except Exception as error:
        if engine.is_alive(spark, patience=5.0):
            raise
        raise SystemExit("Spark’s Java process ended, and the job with it.") from error
    finally:
        if engine.is_alive(spark):
            spark.stop()


def _watch(source: SourceSpec) -> Watch:
    return Watch(source.bootstrap_servers, source.topic, source.security, source.isolation)


def _of_topic(source: SourceSpec, topic_id: str) -> SourceSpec:
    """The source as the stream of one topic: one made anew under the same name is another stream."""
    return replace(source, made=f"{source.made}@{topic_id}")


def _is_stream_of(name: str, source: str) -> bool:
    """Whether a checkpoint or progress topic belongs to a source (`SourceSpec.stream`).

    >>> _is_stream_of("a-0123456789ab", "a"), _is_stream_of("a-b-0123456789ab", "a")
    (True, False)
    """
    return re.fullmatch(re.escape(source) + "-[0-9a-f]{12}", name) is not None


def _started(action: "Future[StreamingQuery | None] | None") -> StreamingQuery | None:
    """What a start that has ended has started."""
    return None if action is None or action.exception() is not None else action.result()


def _stop(query: StreamingQuery | None) -> None:
    if query is not None:
        query.stop()


def _wait_for_kafka(bootstrap_servers: str) -> None:
    """Return when Kafka answers; say so when it takes long, and go on waiting."""
    began = told = time.monotonic()
    while not answers(bootstrap_servers):
        if time.monotonic() - told > 10:
            told = time.monotonic()
            log.warning("Kafka at %s has not answered for %.0f s.", bootstrap_servers, told - began)
        time.sleep(0.2)


def _remember(jvm_file: Path, pid: int) -> None:
    jvm_file.parent.mkdir(parents=True, exist_ok=True)
    engine.write_whole(jvm_file, json.dumps([pid, _started_at(pid)]))


def _end_orphan(jvm_file: Path) -> None:
    """End the Spark JVM of a job that was killed: two must never write to one checkpoint.

    It ends by itself when it notices, but may finish a batch before that.
    """
    try:
        pid, started_at = json.loads(jvm_file.read_text())
    except (OSError, ValueError):
        return
    if started_at is None or _started_at(pid) != started_at:
        return  # it is gone; another process may have its number by now
    log.warning("Ending the Spark process %d that a killed job left behind.", pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    while _started_at(pid) == started_at:
        time.sleep(0.05)


def _started_at(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; None once it has ended (or where there is no /proc)."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else fields[18]


def _now() -> int:
    return int(time.time() * 1000)
