"""Through broker and Spark, every message of a topic is counted: in its windows, or once as a dead letter."""

import json
import time
import uuid
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from optimizer import Statistics, optimize
from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming import spark as engine
from streaming.accounting import DeadLetter
from streaming.lanes import EARLIEST, Timeline
from streaming.progress import Progress, ProgressReader
from streaming.shard import END_OF_DATA
from streaming.sources import SourceSpec
from streaming.topics import Topics, create_topics
from tests.streaming import oracle
from tests.streaming.rules import Judge

pytestmark = pytest.mark.spark

DAY, STEP = 86_400_000, 400
BUSY, IDLE = (0, 1), 2  # the last of four partitions stays empty
QUERIES = (
    QuerySpec.single("sum", "sum", "temp", (WindowSpec("10s", "5s"), WindowSpec("7s", "7s")), ("device",)),
    QuerySpec.single("all", "count", None, (WindowSpec("5s", "5s"),)),
)


class Stream:
    """A topic of one source, what was sent to it, and what is expected of it."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.topics = Topics(f"accounts-{uuid.uuid4().hex[:8]}")
        self.source = SourceSpec(
            "s",
            broker,
            f"{self.topics.prefix}.events",
            schema=(("ts", "integer"), ("device", "text"), ("temp", "number")),
            event_time="ts",
            allowed_lateness=5_000,
            past_bound=DAY,
        )
        events = NewTopic(self.source.topic, 4, 1)
        create_topics(broker, [*self.topics.shared(), self.topics.progress_topic(self.source.stream), events])
        self.producer = KafkaProducer(bootstrap_servers=broker, linger_ms=5)
        self.progress = ProgressReader(broker, self.topics.progress(self.source.stream))
        self.sent: dict[int, list[Any]] = {0: [], 1: [], 2: []}
        self.refused: dict[tuple[int, int], str] = {}
        self._judges = {partition: Judge(self.source) for partition in self.sent}

    def send(self, partition: int, value: Any, timestamp: int, watermark: int = EARLIEST) -> None:
        kind = self._judges[partition].kind(value, timestamp, DAY * 365 * 200, watermark)
        if kind is not None:
            self.refused[partition, len(self.sent[partition])] = kind
        self.sent[partition].append(value)
        message = json.dumps(value).encode() if isinstance(value, dict) else value
        self.producer.send(self.source.topic, message, b"k", None, partition, timestamp)

    def accepted(self) -> Iterator[dict[str, Any]]:
        for partition, values in self.sent.items():
            yield from (v for offset, v in enumerate(values) if (partition, offset) not in self.refused)

    def wait_for(self, what: str, condition: Callable[[Progress], bool]) -> Progress:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            newest = self.progress.newest()
            if newest is not None and condition(newest):
                return newest
        raise AssertionError(f"{what} did not happen")

    def read(self, topic: str) -> list[bytes]:
        consumer = KafkaConsumer(bootstrap_servers=self.broker, group_id=None, enable_auto_commit=False)
        partition, values = TopicPartition(topic, 0), []
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            values += [record.value for record in consumer.poll(timeout_ms=200).get(partition, [])]
        consumer.close()
        return values


def backlog(stream: Stream, base: int) -> None:
    """A minute of two busy partitions with all that can be wrong, and a partition that soon falls silent."""
    for number in range(150):
        for partition in BUSY:
            at = base + number * STEP
            event = {"ts": at, "device": f"d{number % 3}", "temp": number / 4}
            wrong = {
                3: None,
                4: b"",
                5: b"{cut",
                6: b"\xff\xfe\x00\x01",
                7: event | {"ts": at - 20_000},
                8: event | {"ts": at + DAY},
                9: event | {"ts": 4_070_908_800_000},
                10: event | {"ts": at - 30 * DAY},
                11: event | {"ts": "soon"},
                12: {"device": "d0"},
                13: event | {"ts": at + 30_000},  # a clock that is half a minute ahead: accepted
            }
            stream.send(partition, wrong.get((number + partition) % 15, event), at + 50)
    for number in range(5):
        stream.send(
            IDLE, {"ts": base + number * STEP, "device": "d9", "temp": 1.0}, base + number * STEP + 50
        )
    stream.producer.flush()


def come_back(stream: Stream, base: int) -> None:
    """Keep the busy partitions going until the silent one is not waited for; then it brings old events."""

    def moved_on(progress: Progress) -> bool:
        now = int(time.time() * 1000)
        for partition in BUSY:
            stream.send(partition, {"ts": now, "device": "d1", "temp": 2.0}, now)
        stream.producer.flush()
        time.sleep(0.2)
        return progress.watermark > base + 10_000

    watermark = stream.wait_for("an idle partition", moved_on).watermark
    stream.send(IDLE, {"ts": base + 9_000, "device": "d9", "temp": 64.0}, base + 9_000, watermark)
    now = int(time.time() * 1000)
    stream.send(IDLE, {"ts": now, "device": "d9", "temp": 128.0}, now, watermark)
    stream.producer.flush()


def raw(letter: DeadLetter) -> bytes | None:
    """The message that was refused, byte for byte."""
    if letter.encoding == "base64":
        return b64decode(letter.data or "")
    return None if letter.value is None else letter.value.encode()


def finals(stream: Stream) -> dict[oracle.Row, tuple[float | None, int]]:
    found = {}
    for block in (one for message in stream.read(stream.topics.results) for one in results.decode(message)):
        name, window = block.query.split("@")
        for group, value, count in block.rows() if block.final else ():
            found[name, *window.split("/"), group, block.start, block.end] = (value, count)
    return found


def test_counts_add_up_to_the_last_message_and_answers_are_those_of_the_accepted(
    spark, broker, tmp_path: Path
):
    stream = Stream(broker)
    base = int(time.time() * 1000) - 120_000
    backlog(stream, base)
    plan = optimize([query for spec in QUERIES for query in spec.queries()], Statistics(), source="s")
    timeline = Timeline().adopt(plan, EARLIEST)
    checkpoint = str(tmp_path / "checkpoint")
    launch = engine.Launch(stream.source, timeline, broker, stream.topics, checkpoint, 0, max_per_batch=120)
    query = engine.start(spark, launch)
    try:
        come_back(stream, base)
        total = sum(map(len, stream.sent.values()))
        stream.wait_for("the last message", lambda progress: progress.totals.read == total)
        stream.producer.send(stream.topics.plans, key=b"s", value=END_OF_DATA).get(timeout=10)
        done = stream.wait_for("the end", lambda progress: progress.ended)
        stream.wait_for("the last commit", lambda progress: progress.batch > done.batch)
    finally:
        query.stop()

    letters = [
        msgspec.json.decode(value, type=DeadLetter) for value in stream.read(stream.topics.dead_letters)
    ]
    told = sorted((letter.partition, letter.offset, letter.kind) for letter in letters)
    assert told == sorted((*place, kind) for place, kind in stream.refused.items())
    for letter in letters:
        sent = stream.sent[letter.partition][letter.offset]
        assert raw(letter) == (json.dumps(sent).encode() if isinstance(sent, dict) else sent)

    kinds = Counter(stream.refused.values())
    assert set(kinds) == {"malformed", "late", "future", "past"}
    counts = {"accepted": total - kinds.total(), **kinds}
    assert msgspec.structs.asdict(done.totals) == {
        "read": total,
        **counts,
        "removed": 0,
        "aborted": 0,
        "gaps": 0,
    }
    meters = {m["batch"]: m for m in map(json.loads, stream.read(stream.topics.meters)) if m["shard"] == 0}
    assert {kind: sum(meter[kind] for meter in meters.values()) for kind in counts} == counts
    assert sum(meter["events"] for meter in meters.values()) == total
    assert len([meter for meter in meters.values() if meter["events"]]) > 3, (
        "several batches, or little is shown"
    )

    path = tmp_path / "accepted.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in stream.accepted()))
    spec = {"source": {"event_time": "ts"}, "queries": [query.to_json() for query in QUERIES]}
    assert finals(stream) == oracle.answers(path, spec)
