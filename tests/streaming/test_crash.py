"""Killing the job loses nothing and doubles nothing: its results equal those of an undisturbed run."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.conf import settings
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming.jars import jars_dir
from streaming.progress import Progress
from streaming.shard import END_OF_DATA
from streaming.sources import SourceSpec
from streaming.topics import Topics, create_topics
from tests.streaming import oracle

pytestmark = pytest.mark.spark

START = 1_767_225_600_000
PARTITIONS = 4
FIRST = QuerySpec(
    "hot",
    "max",
    "temp",
    (WindowSpec("10s", "10s"), WindowSpec("30s", "5s"), WindowSpec("45s", "20s")),
    ("device",),
)
MEAN = QuerySpec("mean", "mean", "temp", (WindowSpec("30s", "10s"),), ("device",))
ADDED = QuerySpec("added", "max", "temp", (WindowSpec("20s", "5s"),), ("device",))


class Installation:
    """A job process on its own topics, with what a test needs to feed, kill and question it."""

    def __init__(self, broker: str, var_dir: Path) -> None:
        self.broker = broker
        self.var_dir = var_dir
        self.topics = Topics(f"crash-{uuid.uuid4().hex[:8]}")
        self.events_topic = f"{self.topics.prefix}.events"
        self.source = SourceSpec(
            "s", broker, self.events_topic, "json",
            (("ts", "integer"), ("device", "text"), ("temp", "number")), "ts", "ms", 5_000,
        )  # fmt: skip
        events = NewTopic(self.events_topic, PARTITIONS, 1)
        create_topics(broker, [*self.topics.shared(), self.topics.progress_topic(self.source.stream), events])
        self.producer = KafkaProducer(bootstrap_servers=broker, linger_ms=5)
        self.job: subprocess.Popen[bytes] | None = None

    def start_job(self) -> None:
        environment = os.environ | {
            "MILLRACE_VAR": str(self.var_dir),
            "MILLRACE_JARS": str(jars_dir(settings.VAR_DIR)),
            "MILLRACE_KAFKA": self.broker,
            "MILLRACE_TOPIC_PREFIX": self.topics.prefix,
            "SPARK_MASTER": "local[2]",
        }
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "runjob"]
        self.job = subprocess.Popen(command, env=environment)

    def kill_job(self) -> None:
        assert self.job is not None
        self.job.send_signal(signal.SIGKILL)
        self.job.wait()

    def stop_job(self) -> None:
        if self.job is not None and self.job.poll() is None:
            self.job.terminate()
            self.job.wait(timeout=60)

    def publish(self, plan: Plan) -> None:
        message = msgspec.json.encode({"source": self.source.to_json(), "plan": plan.to_json()})
        self.producer.send(self.topics.plans, key=b"s", value=message).get(timeout=10)

    def send(self, events: list[dict[str, Any]]) -> None:
        for number, event in enumerate(events):
            self.producer.send(self.events_topic, msgspec.json.encode(event), partition=number % PARTITIONS)
        self.producer.flush()

    def end(self) -> None:
        self.producer.send(self.topics.plans, key=b"s", value=END_OF_DATA).get(timeout=10)

    def read(self, topic: str) -> Iterator[bytes]:
        consumer = KafkaConsumer(bootstrap_servers=self.broker, group_id=None, enable_auto_commit=False)
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for record in consumer.poll(timeout_ms=200).get(partition, []):
                yield record.value
        consumer.close()

    def progress(self) -> Progress | None:
        newest = None
        for message in self.read(self.topics.progress(self.source.stream)):
            newest = msgspec.msgpack.decode(message, type=Progress)
        return newest

    def wait_for(self, what: str, condition: Callable[[Progress], bool], timeout: float = 180) -> Progress:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            progress = self.progress()
            if progress is not None and condition(progress):
                return progress
            assert self.job is not None and self.job.poll() is None, "the job ended by itself"
            time.sleep(0.2)
        raise AssertionError(f"{what} did not happen within {timeout:.0f} s")

    def finals(self) -> dict[oracle.Row, tuple[float | None, int]]:
        """Final answers by (query, range, slide, group, start, end); told twice, they must be the same."""
        found: dict[oracle.Row, tuple[float | None, int]] = {}
        for message in self.read(self.topics.results):
            block = results.decode(message)
            if not block.final:
                continue
            name, window = block.query.split("@")
            size, slide = window.split("/")
            for group, value, count in block.rows():
                key = (name, size, slide, group, block.start, block.end)
                assert found.get(key, (value, count)) == (value, count), f"{key} was told in two ways"
                found[key] = (value, count)
        return found


@pytest.fixture
def installation(broker: str, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(broker, tmp_path / "var")
    yield made
    made.stop_job()
    made.producer.close()


def make_events(count: int) -> list[dict[str, Any]]:
    """Three minutes of sensor events, a few of them late; values exact in binary."""
    rnd = random.Random(11)
    events = []
    for number in range(count):
        now = START + number * 180_000 // count
        behind = rnd.randrange(60_000) if rnd.random() < 0.01 else rnd.randrange(2_000)
        events.append({"ts": now - behind, "device": f"d{rnd.randrange(10)}", "temp": rnd.randrange(800) / 8})
    return events


def accepted(events: list[dict[str, Any]], lateness: int) -> list[dict[str, Any]]:
    """The events that are not late for their partition: the rule as the documentation states it."""
    greatest = [-(2**62)] * PARTITIONS
    kept = []
    for number, event in enumerate(events):
        partition = number % PARTITIONS
        if event["ts"] >= greatest[partition] - lateness:
            kept.append(event)
        greatest[partition] = max(greatest[partition], event["ts"])
    return kept


def plan_of(specs: list[QuerySpec], version: int, previous: Plan | None = None) -> Plan:
    queries = [query for spec in specs for query in spec.queries()]
    return optimize(queries, Statistics(), source="s", version=version, previous=previous)


def test_a_killed_job_that_gains_a_query_ends_with_the_results_of_an_undisturbed_run(installation, tmp_path):
    events = make_events(40_000)
    third = len(events) // 3 // PARTITIONS * PARTITIONS
    first = plan_of([FIRST, MEAN], 1)
    installation.publish(first)
    installation.start_job()
    installation.send(events[:third])
    installation.wait_for("the first batch", lambda progress: progress.batch >= 0)
    installation.send(events[third : third + 4_000])
    installation.kill_job()

    installation.send(events[third + 4_000 : 2 * third])
    killed_at = installation.progress().batch
    installation.start_job()
    installation.wait_for("a batch after the crash", lambda progress: progress.batch > killed_at + 1)
    installation.publish(plan_of([FIRST, MEAN, ADDED], 2, first))
    installation.wait_for("the new plan", lambda progress: progress.timeline.version == 2)
    installation.send(events[2 * third :])
    reached = max(event["ts"] for event in events)
    installation.wait_for("the end of the events", lambda p: min(p.greatest.values()) > reached - 2_000)
    installation.end()
    done = installation.wait_for("the end of the data", lambda progress: progress.ended)
    installation.wait_for("the last commit", lambda progress: progress.batch > done.batch)

    path = tmp_path / "accepted.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in accepted(events, 5_000)))
    spec = {"source": {"event_time": "ts"}, "queries": [q.to_json() for q in (FIRST, MEAN, ADDED)]}
    expected = oracle.answers(path, spec)
    answers = installation.finals()
    there_from_the_start = {key for key in expected if key[0] != "added"}
    assert {key: value for key, value in answers.items() if key[0] != "added"} == {
        key: expected[key] for key in there_from_the_start
    }
    added = {key: value for key, value in answers.items() if key[0] == "added"}
    since = min(start for *_, start, _ in added)
    assert added == {key: value for key, value in expected.items() if key[0] == "added" and key[4] >= since}
    assert since < reached - 60_000, "the added query must have answered while the stream ran"
