"""An installation to be hurt: a broker, a job process, a web process, a steady feed of events."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from django.conf import settings
from kafka.admin import NewTopic

from benchmarks.crashes.web import Web
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import QUICK_START, find_java
from streaming.lanes import LATEST, Timeline
from streaming.progress import Progress
from streaming.shard import END_OF_DATA
from streaming.sources import READ_COMMITTED, Isolation, SourceSpec
from streaming.spark import class_archive
from streaming.topics import Topics, create_topics

START = 1_767_225_600_000
STEP_MS = 10  # event time from one event to the next
PARTITIONS = 4
LATENESS = 5_000
DISK_BYTES = 256 << 20


class Feed:
    """Sends events from a thread until it is stopped: new groups all the time, some late, some malformed.

    Values are multiples of an eighth, so that sums are exact in any order.
    """

    def __init__(self, bootstrap_servers: str, topic: str, seed: int, per_second: int) -> None:
        self._producer = Producer(_client(bootstrap_servers) | {"enable.idempotence": True})
        self._topic = topic
        self._random = random.Random(seed)
        self._pause = 20 / per_second
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
        self.sent = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop, with every event safe in the topic."""
        self._over.set()
        self._thread.join()
        if self._producer.flush(60):
            raise RuntimeError("Events could not be sent within 60 s.")

    def _run(self) -> None:
        while not self._over.wait(self._pause):
            for _ in range(20):
                self._send(self.message(self._random))
            self._producer.poll(0)

    def _send(self, message: bytes) -> None:
        while True:
            with suppress(BufferError):  # the broker is away for long: hold the events back
                self._producer.produce(self._topic, message, partition=self.sent % PARTITIONS)
                self.sent += 1
                return
            self._producer.poll(0.1)

    def message(self, rnd: random.Random) -> bytes:
        if rnd.random() < 0.005:
            return b'{"ts": oops'
        behind = rnd.randrange(60_000) if rnd.random() < 0.01 else rnd.randrange(2_000)
        device = f"d{self.sent // 500 + rnd.randrange(20)}"
        event = {
            "ts": START + self.sent * STEP_MS - behind,
            "device": device,
            "temp": rnd.randrange(800) / 8,
        }
        return msgspec.json.encode(event)


class Transactions:
    """Sends events in transactions over all partitions, one after the other; about a third is aborted.

    What ends with the broker is aborted when it is back, by a producer of the same name.
    """

    def __init__(self, feed: Feed, bootstrap_servers: str, topic: str, seed: int) -> None:
        self._feed, self._topic = feed, topic
        self._settings = _client(bootstrap_servers) | {"transactional.id": "crash-feed"}
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="transactions", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop, with no transaction left open."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        producer = None
        while producer is None or not self._over.is_set():
            try:
                if producer is None:
                    producer = Producer(self._settings)
                    producer.init_transactions(60)
                self._transaction(producer)
            except KafkaException:
                producer = None

    def _transaction(self, producer: Producer) -> None:
        producer.begin_transaction()
        for number in range(self._random.randrange(4, 80)):
            producer.produce(self._topic, self._feed.message(self._random), partition=number % PARTITIONS)
        producer.flush(5)
        self._over.wait(self._random.random())  # open, in the way of what others send
        if self._random.random() < 1 / 3:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)


class Installation:
    """Broker, job and feed; what they say is read back from the topics alone."""

    def __init__(self, directory: Path, seed: int, master: str = "local[2]", per_second: int = 1_000) -> None:
        jars = jars_dir(settings.VAR_DIR)
        self.var_dir = directory / "var"
        self.broker = Broker(directory / "broker", free_port(), jars / "broker", find_java().path)
        self.topics = Topics("crash")
        self.source = SourceSpec(
            "s", self.broker.bootstrap_servers, "events", "json",
            (("ts", "integer"), ("device", "text"), ("temp", "number")), "ts", "ms", LATENESS,
        )  # fmt: skip
        self.feed = Feed(self.broker.bootstrap_servers, "events", seed, per_second)
        self.transactions = Transactions(self.feed, self.broker.bootstrap_servers, "events", seed)
        self.job: subprocess.Popen[bytes] | None = None
        self.job_starts = 0
        self._environment = {
            "MILLRACE_VAR": str(self.var_dir),
            "MILLRACE_JARS": str(jars),
            "MILLRACE_KAFKA": self.broker.bootstrap_servers,
            "MILLRACE_TOPIC_PREFIX": self.topics.prefix,
            "MILLRACE_SPARK_JAVA_OPTIONS": QUICK_START,
            "SPARK_MASTER": master,
        }
        self.web = Web(self._environment, directory / "web.log")
        self._progress: Consumer | None = None
        self._newest_progress: Progress | None = None
        # By query of the job: after which end it still waited for its past when it was last there.
        self.owed_after: dict[str, int] = {}
        self._disk_is_small = False

    # --- set up and take down -------------------------------------------------------------------------

    def __enter__(self) -> "Installation":
        try:
            self.var_dir.mkdir(parents=True)
            self._mount_small_disk()
            for name in ("numba", class_archive(settings.VAR_DIR).name):  # made once is enough
                (settings.VAR_DIR / "numba").mkdir(parents=True, exist_ok=True)
                (self.var_dir / name).symlink_to(settings.VAR_DIR / name)
            self.broker.start()
            self.broker.wait_until_ready()
            topics = [*self.topics.shared(), NewTopic("events", PARTITIONS, 1)]
            create_topics(self.broker.bootstrap_servers, topics)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.job is not None and self.job.poll() is None:
            self.job.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.job.wait(timeout=40)
            self.job.kill()
            self.job.wait()
        self.web.kill()
        self.broker.stop()
        if self._disk_is_small:
            subprocess.run(["umount", "-l", str(self.var_dir)], check=False)

    def _mount_small_disk(self) -> None:
        """A disk of its own that can be filled without harm; not everybody may mount one."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(self.var_dir)]
        self._disk_is_small = subprocess.run(command, capture_output=True, check=False).returncode == 0

    @property
    def disk_can_be_filled(self) -> bool:
        return self._disk_is_small

    # --- the job --------------------------------------------------------------------------------------

    def start_job(self) -> None:
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "runjob"]
        self.job = subprocess.Popen(command, env=os.environ | self._environment)
        self.job_starts += 1

    def keep_running(self) -> None:
        """What the supervisor does."""
        if self.job is None or self.job.poll() is not None:
            self.start_job()
        self.web.keep_running()

    @property
    def jvm(self) -> int | None:
        """The process id of the job's Spark, once it has one."""
        path = self.var_dir / "run" / f"spark-{self.topics.prefix}.json"
        return msgspec.json.decode(path.read_bytes())[0] if path.exists() else None

    def python_workers(self) -> list[int]:
        """The processes in which batches are planned, tasks run and shards are kept; last what forks them."""
        commands = {pid: _command(pid) for pid in children(self.jvm)}
        planners = [pid for pid, command in commands.items() if "python_streaming_source_runner" in command]
        daemons = [pid for pid, command in commands.items() if "streaming.worker_daemon" in command]
        return planners + [worker for daemon in daemons for worker in children(daemon)] + daemons

    # --- plans ----------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """The newest plan is in force, and of no query's past something is still to be read."""
        progress, plan = self.progress(), self.web.newest_plan()
        if progress is None or plan["published_at"] is None:
            return False
        timeline = _timeline_of(progress)
        return timeline.version == plan["version"] and not timeline.pasts

    def end_of_data(self) -> None:
        plans = Producer(_client(self.broker.bootstrap_servers))
        plans.produce(self.topics.plans, END_OF_DATA, key=self.source.id.encode(), partition=0)
        if plans.flush(60):
            raise RuntimeError("The end of the data could not be told within 60 s.")

    # --- what the job says ----------------------------------------------------------------------------

    def progress(self) -> Progress | None:
        """The newest that a batch has left."""
        if self._progress is None:
            topic = self._progress_topic()
            if topic is None:
                return None
            self._progress = self._consumer(topic)
        for message in self._progress.consume(1_000, 0.2):
            if message.error() is None:
                self._newest_progress = msgspec.msgpack.decode(message.value(), type=Progress)
                self._note_what_is_owed(_timeline_of(self._newest_progress))
        return self._newest_progress

    def _note_what_is_owed(self, timeline: Timeline) -> None:
        waits = {query: waits for past in timeline.pasts for query, waits in past.waits.items()}
        for member in timeline.members:
            query = member.query
            self.owed_after[query] = waits[query][0].after if query in waits else LATEST

    def _progress_topic(self) -> str | None:
        streams = list((self.var_dir / "checkpoints" / self.topics.prefix).glob("s-*/offsets"))
        return self.topics.progress(streams[0].parent.name) if streams else None

    def status(self) -> dict[str, Any]:
        """What the job last said of its source."""
        messages = [msgspec.json.decode(value) for value in self.read(self.topics.status)]
        return messages[-1]["sources"].get("s", {}) if messages else {}

    def read(self, topic: str, partition: int = 0) -> Iterator[bytes]:
        """All that a topic's partition holds at the moment."""
        return (message.value() for message in self.messages(topic, partition))

    def messages(
        self, topic: str, partition: int = 0, isolation: Isolation = READ_COMMITTED
    ) -> Iterator[Message]:
        """The same with their offsets."""
        consumer = self._consumer(topic, partition, isolation)
        end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=20)[1]
        position = 0
        while position < end:
            for message in consumer.consume(5_000, 1.0):
                error = message.error()
                if error is None:
                    position = message.offset() + 1
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:  # after the last there may be marks
                    position = end
        consumer.close()

    def _consumer(self, topic: str, partition: int = 0, isolation: Isolation = READ_COMMITTED) -> Consumer:
        settings = {"group.id": "nobody", "isolation.level": isolation, "enable.partition.eof": True}
        consumer = Consumer(_client(self.broker.bootstrap_servers) | settings)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        return consumer


def _timeline_of(progress: Progress) -> Timeline:
    return msgspec.msgpack.decode(progress.timeline, type=Timeline)


def _client(bootstrap_servers: str) -> dict[str, Any]:
    """Settings of a client that bears a broker's absence without a word."""
    return {"bootstrap.servers": bootstrap_servers, "log_level": 0, "reconnect.backoff.max.ms": 500}


def wait_until(what: str, condition: Any, timeout: float, meanwhile: Any = lambda: None) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {timeout:.0f} s.")
        meanwhile()
        time.sleep(0.05)


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """A process and all that it has started, as when its machine ends."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)  # it must not start anything new meanwhile
    for child in children(pid):
        kill_tree(child)
    kill(pid)


def children(pid: int | None) -> list[int]:
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                children.append(int(path.parent.name))
    return children


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
