"""A topic is replayed where it lies: from a time, to a time, and as the running job answers."""

import json
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from dashboard.queries import sampling
from streaming import results
from streaming import spark as engine
from streaming.accounting import Counts
from streaming.lanes import EARLIEST, Timeline
from streaming.progress import ProgressReader
from streaming.replay import Replay, Summary, topics
from streaming.replay.files import open_file
from streaming.replay.inputs import UnreadableEvents
from streaming.replay.results import write_results
from streaming.replay.topics import Address, SourceSpan, TopicSpan
from streaming.results import ResultBlock
from streaming.shard import END_OF_DATA
from streaming.sources import SourceSpec
from streaming.spec import Spec
from streaming.topics import Topics, create_topics
from streaming.watch import SourceProblem, look
from tests.streaming.test_replay import START, read_rows, spec_of, windows, write_events

pytestmark = pytest.mark.broker

QUERIES: list[dict[str, Any]] = [
    {"name": "sum", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "10s"), ("7m", "2m")]),
     "group_by": ["device"]},
    {"name": "all", "aggregate": "count", "windows": windows([("45s", "20s")]), "where": "status = 'ok'"},
]  # fmt: skip
MINUTE: dict[str, Any] = {"name": "n", "aggregate": "count", "windows": windows([("1m", "1m")])}


def read_spec(queries: list[dict[str, Any]], **source: Any) -> Spec:
    spec = spec_of(queries)
    spec["source"] |= source
    return Spec.read(json.dumps(spec).encode())


@pytest.fixture
def topic(broker: str) -> Iterator[str]:
    """A topic of three partitions."""
    name = f"replayed-{uuid4().hex[:8]}"
    create_topics(broker, [NewTopic(name, 3, 1, topic_configs={"retention.ms": "-1"})])
    yield name


def produce(broker: str, topic: str, messages: list[tuple[int, int, bytes | None]]) -> None:
    """Messages as (partition, timestamp, value)."""
    producer = Producer({"bootstrap.servers": broker, "queue.buffering.max.messages": 1_000_000})
    for partition, timestamp, value in messages:
        producer.produce(topic, value, partition=partition, timestamp=timestamp)
    producer.flush()


def sensor_lines(tmp_path: Path) -> list[bytes]:
    """Events with some that are late, malformed, of the future, and without a value."""
    write_events(tmp_path / "sensors.jsonl", 6_000)
    lines = (tmp_path / "sensors.jsonl").read_bytes().splitlines()
    for at in range(100, 6_000, 500):
        lines[at] = json.dumps({"ts": START, "device": "late", "temp": 1}).encode()
        lines[at + 1] = b"{cut"
        lines[at + 2] = json.dumps({"ts": START + 10**12, "device": "future", "temp": 1}).encode()
    return lines


def run(read: Any, spec: Spec, out: Path, **running: Any) -> Summary:
    return Replay.planned(read, spec).run(out, lambda _: None, **running)


def final_blocks(broker: str, own: Topics) -> list[ResultBlock]:
    consumer = KafkaConsumer(bootstrap_servers=broker, group_id=None)
    partition = TopicPartition(own.results, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = consumer.end_offsets([partition])[partition]
    blocks = {}
    while consumer.position(partition) < end:
        for record in consumer.poll(timeout_ms=500).get(partition, []):
            for block in results.decode(record.value):
                if block.final:
                    blocks[block.query, block.end, block.shard] = block
    consumer.close()
    return list(blocks.values())


def run_job(
    spark: Any, broker: str, topic: str, replay: Replay, checkpoint: Path
) -> tuple[list[ResultBlock], Counts]:
    """What the job's own streaming query answers, in batches of a thousand."""
    source = SourceSpec.from_json(
        replay.source.to_json() | {"bootstrap_servers": broker, "topic": topic, "format": "json"}
    )
    own = Topics(f"job-{uuid4().hex[:8]}")
    create_topics(broker, [*own.shared(), own.progress_topic(source.stream)])
    timeline = Timeline().adopt(replay.plan, EARLIEST)
    query = engine.start(
        spark,
        engine.Launch(source, timeline, broker, own, str(checkpoint), plans_offset=0, max_per_batch=1_000),
    )
    reader = ProgressReader(broker, own.progress(source.stream))
    total = TopicSpan(Address(broker, topic), "json").total
    try:
        while (newest := reader.newest()) is None or newest.totals.read < total:
            assert query.exception() is None
        producer = KafkaProducer(bootstrap_servers=broker)
        producer.send(own.plans, key=source.id.encode(), value=END_OF_DATA)
        producer.close()
        while not newest.ended or (engine.last_batch(query) or 0) < newest.batch:
            assert query.exception() is None
            newest = reader.newest() or newest
    finally:
        reader.close()
        query.stop()
        shutil.rmtree(checkpoint, ignore_errors=True)
    return final_blocks(broker, own), newest.totals


def one_shard(blocks: list[ResultBlock], spec: Spec, out: Path) -> bytes:
    """The job's answers as a replay writes them: rows of several shards in the order of one."""
    write_results(out, spec, blocks)
    return b"\n".join(sorted(out.read_bytes().splitlines()))


@pytest.mark.spark
def test_a_topic_and_a_file_give_what_the_job_gives(spark, broker, topic, tmp_path):
    lines = sensor_lines(tmp_path)
    events, spec = tmp_path / "events.jsonl", read_spec(QUERIES)
    events.write_bytes(b"\n".join(lines))
    single = f"{topic}-single"
    create_topics(broker, [NewTopic(single, 1, 1)])
    now = int(time.time() * 1000)
    produce(broker, topic, [(at % 3, now, line) for at, line in enumerate(lines)] + [(0, now, None)])
    produce(broker, single, [(0, now, line) for line in lines])
    for name, read in (
        (topic, TopicSpan(Address(broker, topic), "json")),
        (single, TopicSpan(Address(broker, single), "json")),
        (single, open_file(events, "UTC")),
    ):
        replay = Replay.planned(read, spec)
        done = replay.run(tmp_path / "out", lambda _: None)
        blocks, totals = run_job(spark, broker, name, replay, tmp_path / f"checkpoint-{uuid4().hex}")
        job = one_shard(blocks, spec, tmp_path / "job")
        assert b"\n".join(sorted((tmp_path / "out").read_bytes().splitlines())) == job
        assert job.count(b"\n") > 5_000
        assert done.counts == totals
        assert totals.late > 0 and totals.malformed > 0 and totals.future > 0


def test_a_topic_is_read_from_a_time_to_a_time(broker, topic, tmp_path):
    messages = [
        (at % 2, START + at * 1_000, json.dumps({"ts": START + at * 1_000, "v": at}).encode())
        for at in range(600)
    ]
    produce(broker, topic, messages)
    spec = read_spec([MINUTE], allowed_lateness="10s")
    since, until = START + 120_000, START + 420_000
    done = run(TopicSpan(Address(broker, topic), "json", since, until), spec, tmp_path / "out", verify=True)
    assert done.counts == Counts(300, 300)
    # Of the minute in which it begins something may be missing: events may be late by ten seconds.
    assert [(start, count) for (*_, start, _), (_, count) in read_rows(tmp_path / "out").items()] == [
        (START + minute * 60_000, 60) for minute in range(3, 7)
    ]
    [comparison] = done.comparisons
    assert (comparison.rows, comparison.different) == (4, 0)
    whole = run(TopicSpan(Address(broker, topic), "json", until=until), spec, tmp_path / "out")
    assert (whole.counts.read, whole.results) == (420, 7)


def test_of_transactions_only_committed_messages_are_replayed(broker, topic, tmp_path):
    """One that is committed, one that is aborted, and one that stays open: of three messages each."""
    producer = Producer({"bootstrap.servers": broker, "transactional.id": topic})
    producer.init_transactions()
    for place, end in enumerate((producer.commit_transaction, producer.abort_transaction, None)):
        producer.begin_transaction()
        for at in range(3 * place, 3 * place + 3):
            producer.produce(
                topic, json.dumps({"ts": START + at}).encode(), partition=0, timestamp=START + at
            )
        producer.flush()
        if end is not None:
            end()
    span = partial(TopicSpan, Address(broker, topic), "json")
    done = run(span(), read_spec([MINUTE]), tmp_path / "out", verify=True)
    assert done.counts == Counts(3, 3, aborted=3)
    assert [count for _, count in read_rows(tmp_path / "out").values()] == [3]
    assert not done.comparisons[0].different
    source = SourceSpec("s", broker, topic, schema=(("ts", "integer"),), event_time="ts")
    newest = SourceSpan(source).newest(100)  # as previews read
    assert sum(rows.num_rows for rows in sampling._rows(newest).values()) == 3
    all_there_is = run(
        span(isolation="read_uncommitted"),
        read_spec([MINUTE], isolation="read_uncommitted"),
        tmp_path / "out",
    )
    assert all_there_is.counts == Counts(9, 9)
    producer.abort_transaction()


def test_a_topic_s_own_timestamps_can_be_event_times(broker, topic, tmp_path):
    produce(broker, topic, [(0, START + at, b'{"v": 1}') for at in (0, 1, 60_000)])
    run(TopicSpan(Address(broker, topic), "json"), read_spec([MINUTE], event_time=None), tmp_path / "out")
    assert [count for _, count in read_rows(tmp_path / "out").values()] == [2, 1]


def test_nothing_is_committed_and_no_topic_made(broker, topic, tmp_path):
    produce(broker, topic, [(0, START, json.dumps({"ts": START}).encode())])
    before = set(KafkaConsumer(bootstrap_servers=broker).topics())
    run(TopicSpan(Address(broker, topic), "json"), read_spec([MINUTE]), tmp_path / "out")
    admin = KafkaAdminClient(bootstrap_servers=broker)
    assert "millrace-replay" not in str(admin.list_groups())
    assert set(KafkaConsumer(bootstrap_servers=broker).topics()) == before
    admin.close()


@pytest.mark.parametrize("most", [1, 7, 100])
def test_results_do_not_depend_on_how_many_messages_come_at_once(broker, topic, tmp_path, monkeypatch, most):
    lines = sensor_lines(tmp_path)[:900]
    produce(broker, topic, [(at % 3, START, line) for at, line in enumerate(lines)])
    spec = read_spec(QUERIES, future_bound=None)
    run(TopicSpan(Address(broker, topic), "json"), spec, tmp_path / "expected")
    monkeypatch.setattr(topics, "BATCH_EVENTS", most)
    run(TopicSpan(Address(broker, topic), "json"), spec, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()
    assert (tmp_path / "out").stat().st_size > 10_000


def test_a_partition_that_ends_with_a_transaction_s_mark_comes_to_its_end(broker, topic, tmp_path):
    producer = Producer({"bootstrap.servers": broker, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, json.dumps({"ts": START}).encode(), partition=1)
    producer.commit_transaction()
    deadline = time.monotonic() + 30
    while look(broker, topic).end[1] < 2:  # the mark has an offset, too, and comes a little later
        assert time.monotonic() < deadline
    read = TopicSpan(Address(broker, topic), "json")
    assert read.total == 2
    assert run(read, read_spec([MINUTE]), tmp_path / "out").counts == Counts(1, 1)


def test_what_is_wrong_with_a_topic_is_said(broker, topic):
    with pytest.raises(SourceProblem, match="There is no topic “nowhere” on "):
        TopicSpan(Address(broker, "nowhere"), "json")
    with pytest.raises(SourceProblem, match=r"The Kafka cluster at 127.0.0.1:1 does not answer."):
        TopicSpan(Address("127.0.0.1:1", "nowhere"), "json")
    with pytest.raises(UnreadableEvents, match=f"The topic “{topic}” holds no messages.$"):
        TopicSpan(Address(broker, topic), "json")
    produce(broker, topic, [(0, START, b"hello")])
    with pytest.raises(UnreadableEvents, match=r"holds no messages from 2026-01-01T00:00:01.000Z.$"):
        TopicSpan(Address(broker, topic), "json", START + 1_000)
    with pytest.raises(UnreadableEvents, match=f"No message of the topic “{topic}” can be read as JSON."):
        TopicSpan(Address(broker, topic), "json")
    with pytest.raises(UnreadableEvents, match=r"A replay reads topics of json, csv, tsv, not avro."):
        TopicSpan(Address(broker, topic), "avro")


@pytest.mark.parametrize(
    "text", ["kafka://host/topic", "kafka://host:9092", "kafka://host:x/topic", "kafka://"]
)
def test_an_address_that_is_none_is_refused(text):
    with pytest.raises(
        UnreadableEvents, match=f"“{text}” is not a topic: write it as kafka://HOST:PORT/TOPIC."
    ):
        Address.parse(text)
