"""Sources that misbehave under a running job: each is reported in words, goes on, and harms no other."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.conf import settings
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.job import Job
from streaming.lanes import Timeline
from streaming.progress import LOOK_BACK, Progress, ProgressReader
from streaming.sources import SourceSpec
from streaming.topics import MESSAGE_BYTES, Topics, create_topics, delete_topics
from tests.frozen import frozen

pytestmark = pytest.mark.spark

START = 1_767_225_600_000
DAY = 86_400_000
COUNT = QuerySpec.single("n", "count", None, (WindowSpec("10s", "10s"),))


class LiveSource:
    """One source of a running job: its topic, its queries, and what the job tells of it."""

    def __init__(self, own: str, topics: Topics, cluster: str, name: str, lateness: int) -> None:
        self.id = name
        self.topic = f"{topics.prefix}.{name}"
        self.cluster = cluster
        self._own, self._topics = own, topics
        self._spec = SourceSpec(name, cluster, self.topic, "json", (("ts", "integer"),), "ts", "ms", lateness)
        self._version = 0

    def create(self, partitions: int = 1) -> None:
        create_topics(self.cluster, [NewTopic(self.topic, partitions, 1)])

    def want(self, *queries: QuerySpec) -> None:
        """Publish a plan for these queries."""
        self._version += 1
        wanted = [query for spec in queries for query in spec.queries()]
        plan = (
            optimize(wanted, Statistics(), source=self.id, version=self._version)
            if wanted
            else Plan(self.id, self._version, "none", ())
        )
        message = msgspec.json.encode({"source": self._spec.to_json(), "plan": plan.to_json()})
        producer = KafkaProducer(bootstrap_servers=self._own)
        producer.send(self._topics.plans, key=self.id.encode(), value=message).get(timeout=10)
        producer.close()

    def send(self, count: int, start: int = START, partition: int = 0) -> None:
        producer = KafkaProducer(bootstrap_servers=self.cluster)
        for number in range(count):
            producer.send(self.topic, b'{"ts": %d}' % (start + 100 * number), partition=partition)
        producer.flush()
        producer.close()

    def lose_progress(self) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self._own)
        names = [name for name in admin.list_topics() if name.startswith(self._topics.progress(self.id))]
        admin.close()
        assert len(names) == 1
        delete_topics(self._own, names)

    def status(self) -> dict[str, Any]:
        told = [msgspec.json.decode(message) for message in _read(self._own, self._topics.status)]
        return told[-1]["sources"].get(self.id, {}) if told else {}

    def says(self, state: str, words: str = "") -> bool:
        status = self.status()
        return status.get("state") == state and words in (status["error"] or "")

    def meter(self) -> dict[str, Any]:
        """The newest."""
        told = map(msgspec.json.decode, _read(self._own, self._topics.meters))
        return [message for message in told if message["source"] == self.id][-1]

    def final(self, range_: int) -> dict[int, float]:
        """The final counts of windows of one length, by their ends."""
        blocks = self._blocks()
        return {
            block.end: sum(value for _, value, _ in block.rows())
            for block in blocks
            if block.source == self.id and block.final and block.end - block.start == range_
        }

    def _blocks(self) -> Iterator[results.ResultBlock]:
        for message in _read(self._own, self._topics.results):
            yield from results.decode(message)

    def counted(self, since: int = START) -> int:
        """Events in all windows that start at `since` or later, each by what was last told of it."""
        newest: dict[int, tuple[tuple[bool, int], float]] = {}
        for block in self._blocks():
            if block.source == self.id and block.start >= since:
                told = ((block.final, block.batch), sum(value for _, value, _ in block.rows()))
                newest[block.end] = max(newest.get(block.end, told), told)
        return int(sum(value for _, value in newest.values()))


def _read(servers: str, topic: str) -> Iterator[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=None, enable_auto_commit=False)
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    end = consumer.end_offsets([partition])[partition]
    while consumer.position(partition) < end:
        for record in consumer.poll(timeout_ms=200).get(partition, []):
            yield record.value
    consumer.close()


def wait_until(condition: Callable[[], bool], timeout: float = 300) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def make_source(spark, broker: str, tmp_path_factory) -> Iterator[Callable[..., LiveSource]]:
    """Sources of one job that runs as long as this module's tests."""
    topics = Topics(f"live-{uuid.uuid4().hex[:8]}")
    create_topics(broker, topics.shared())
    job = Job(spark, broker, topics, tmp_path_factory.mktemp("checkpoints"))
    thread = threading.Thread(target=job.run)
    thread.start()

    def make(name: str, cluster: str = broker, lateness: int = DAY) -> LiveSource:
        return LiveSource(broker, topics, cluster, name, lateness)

    yield make
    job.stop()
    thread.join()


def test_a_topic_that_is_deleted_is_reported_and_read_from_its_beginning_when_made_anew(make_source):
    source = make_source("deleted")
    source.create()
    source.want(COUNT)
    source.send(50)
    wait_until(lambda: source.counted() == 50)
    delete_topics(source.cluster, [source.topic])
    wait_until(lambda: source.says("failing", f"There is no topic “{source.topic}” on {source.cluster}."))
    source.create()
    source.send(30, START + DAY)
    wait_until(lambda: source.says("running") and source.counted(START + DAY) == 30)
    source.want()


def test_partitions_that_are_added_while_a_source_runs_are_read_whole(make_source):
    source = make_source("grown")
    source.create()
    source.want(COUNT)
    source.send(50)
    wait_until(lambda: source.counted() == 50)
    admin = KafkaAdminClient(bootstrap_servers=source.cluster)
    admin.create_partitions({source.topic: 3})
    admin.close()
    source.send(40, partition=1)
    source.send(30, partition=2)
    wait_until(lambda: source.counted() == 120)
    wait_until(lambda: (source.status().get("lag"), source.status().get("partitions")) == (0, 3))
    source.want()


def test_a_query_that_comes_later_counts_what_was_sent_before_it(make_source):
    source = make_source("recalled", lateness=1_000)
    source.create()
    source.want(COUNT)
    source.send(600)  # one minute
    wait_until(lambda: len(source.final(10_000)) >= 5)
    source.want(COUNT, QuerySpec.single("m", "count", None, (WindowSpec("50s", "10s"),)))
    wait_until(lambda: source.meter()["plan"] == 2)
    source.send(300, START + 60_000)
    wait_until(lambda: len(source.final(10_000)) == 8)
    wait_until(lambda: START + 80_000 in source.final(50_000))
    assert source.final(50_000) == {START + seconds * 1_000: 500 for seconds in (60, 70, 80)}
    assert source.meter()["waiting"] == {} and source.meter()["recall"] is None
    source.want()


def test_the_first_windows_of_a_topic_that_kafka_has_shortened_are_whole_ones(make_source):
    source = make_source("shortened", lateness=1_000)
    source.create()
    source.send(600)  # one minute
    remove_before(source, {0: 255})
    source.want(COUNT)
    wait_until(lambda: START + 50_000 in source.final(10_000))
    assert source.final(10_000) == {START + 40_000: 100, START + 50_000: 100}
    source.want()


def test_messages_that_kafka_removed_unread_are_counted_and_reported(make_source):
    source = make_source("overtaken")
    source.create(partitions=2)
    source.want(COUNT)
    source.send(50)
    wait_until(lambda: source.counted() == 50 and (source.status().get("batch") or 0) >= 2)
    source.want()
    wait_until(lambda: not source.status())
    source.send(100)
    source.send(20, partition=1)
    remove_before(source, {0: 110, 1: 5})
    source.want(COUNT)
    wait_until(lambda: source.says("running", f"Kafka removed 65 messages of “{source.topic}”"))
    assert source.status()["lost"] == 65
    wait_until(lambda: source.counted() == 50 + 100 + 20 - 65)
    source.want()


def test_a_query_that_kafka_overtakes_while_it_runs_goes_on_and_says_what_it_missed(make_source, spark):
    source = make_source("outrun")
    source.create(partitions=2)
    source.want(COUNT)
    source.send(50)
    wait_until(lambda: source.counted() == 50 and source.says("running"))
    runs = {query.runId for query in spark.streams.active}
    with standing_still(spark):
        source.send(100)
        source.send(20, partition=1)
        remove_before(source, {0: 110, 1: 5})
    wait_until(lambda: source.says("running", f"Kafka removed 65 messages of “{source.topic}”"))
    assert source.status()["lost"] == 65
    wait_until(lambda: source.counted() == 50 + 100 + 20 - 65)
    source.send(10, START + DAY)
    wait_until(lambda: source.counted(START + DAY) == 10)
    assert {query.runId for query in spark.streams.active} == runs
    source.want()


def test_a_source_whose_progress_is_lost_with_the_broker_begins_anew(make_source):
    source = make_source("forgotten")
    source.create()
    source.want(COUNT)
    source.send(50)
    wait_until(lambda: source.counted() == 50 and (source.status().get("batch") or 0) >= 2)
    source.want()
    wait_until(lambda: not source.status())
    source.lose_progress()
    source.send(50, START + DAY)
    source.want(COUNT)
    wait_until(lambda: source.says("running") and source.counted() == 100)
    source.want()


def remove_before(source: LiveSource, offsets: dict[int, int]) -> None:
    """What retention does, at a moment of our choice."""
    admin = KafkaAdminClient(bootstrap_servers=source.cluster)
    admin.delete_records({TopicPartition(source.topic, number): at for number, at in offsets.items()})
    admin.close()


@contextmanager
def standing_still(spark) -> Iterator[None]:
    """No batch is planned or read meanwhile: the process that would have it done is stopped."""
    jvm = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    with frozen(jvm):
        yield


def test_a_cluster_that_is_away_stalls_its_own_source_only(make_source, spark, tmp_path: Path):
    port = free_port()
    jars = jars_dir(settings.VAR_DIR) / "broker"
    near, far = make_source("near"), make_source("far", f"127.0.0.1:{port}")
    near.create()
    near.want(COUNT)
    far.want(COUNT)
    wait_until(lambda: far.says("failing", f"The Kafka cluster at {far.cluster} does not answer."))
    near.send(10)
    wait_until(lambda: near.counted() == 10)
    assert spark.sparkContext._jsc.sc().getPoolForName("near").isDefined()

    with Broker(tmp_path / "far", port, jars, find_java().path) as there:
        far.create()
        far.send(10)
        wait_until(lambda: far.says("running") and far.counted() == 10)
        far.send(5)
        with frozen(there.pid):
            wait_until(lambda: far.says("failing", "does not answer"))
            near.send(10, START + DAY)
            wait_until(lambda: near.says("running") and near.counted() == 20)
        far.send(10, START + DAY)
        wait_until(lambda: far.says("running") and far.counted() == 25)
        far.want()
        wait_until(lambda: not far.status())
    near.want()


def test_progress_is_found_behind_many_attempts_of_the_batch_that_follows(broker: str):
    topics = Topics(f"live-{uuid.uuid4().hex[:8]}")
    create_topics(broker, [topics.progress_topic("s")])
    producer = KafkaProducer(bootstrap_servers=broker)
    for batch in (5, 6, *[7] * 40):
        message = msgspec.msgpack.encode(
            Progress(batch, msgspec.Raw(msgspec.msgpack.encode(Timeline())), {0: batch}, 0)
        )
        producer.send(topics.progress("s"), message)
    producer.flush()
    producer.close()
    reader = ProgressReader(broker, topics.progress("s"))
    assert reader.after(6).greatest == {0: 6}
    assert reader.after(7).greatest == {0: 7}
    reader.close()


def test_what_looks_for_progress_all_the_time_keeps_no_more_of_it_than_batches_need(broker: str):
    topics = Topics(f"live-{uuid.uuid4().hex[:8]}")
    create_topics(broker, [topics.progress_topic("s")])
    reader = ProgressReader(broker, topics.progress("s"))
    producer = KafkaProducer(bootstrap_servers=broker)
    for batch in range(100):
        message = msgspec.msgpack.encode(
            Progress(batch, msgspec.Raw(msgspec.msgpack.encode(Timeline())), {0: batch}, 0)
        )
        producer.send(topics.progress("s"), message)
    producer.flush()
    producer.close()
    wait_until(lambda: (newest := reader.newest()) is not None and newest.batch == 99)
    assert len(reader._records) == LOOK_BACK
    assert reader.after(99 - LOOK_BACK + 1).greatest == {0: 99 - LOOK_BACK + 1}
    reader.close()


def test_the_newest_progress_is_told_only_when_all_that_there_was_has_been_read(broker: str):
    """Records of a thousand queries are large: a fetch may end before the newest of them."""
    topics = Topics(f"live-{uuid.uuid4().hex[:8]}")
    create_topics(broker, [topics.progress_topic("s")])
    producer = KafkaProducer(bootstrap_servers=broker, max_request_size=MESSAGE_BYTES)
    timeline = msgspec.Raw(msgspec.msgpack.encode(b"x" * 150_000))
    for batch in range(40):
        progress = Progress(batch, timeline, {}, 0)
        producer.send(topics.progress("s"), msgspec.msgpack.encode(progress))
    producer.flush()
    producer.close()
    reader = ProgressReader(broker, topics.progress("s"))
    told: list[Progress] = []
    wait_until(lambda: bool(told.extend(filter(None, [reader.newest(timeout_ms=0)])) or told))
    assert told[0].batch == 39
    reader.close()
