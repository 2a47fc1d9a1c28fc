"""Topics of a real broker, read by `LogReader` and by confluent-kafka: both must find the same messages."""

import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as Place
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings as django_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic
from kafka.protocol.admin import AlterClientQuotasRequest

from streaming import kafka_connection, kafka_topic, shuffle, task
from streaming.accounting import Counts
from streaming.broker import Broker, free_port
from streaming.input_stream import InputReader, InputSetup, Range, TaskInput
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.kafka_connection import Connection
from streaming.kafka_log import LogReader
from streaming.lanes import Timeline
from streaming.security import Security, seal
from streaming.sources import READ_COMMITTED, Isolation, SourceSpec
from streaming.topics import create_topics, delete_topics
from streaming.watch import SourceProblem, TopicGone
from tests.frozen import frozen

pytestmark = pytest.mark.broker

Row = tuple[int, int, bytes | None]
START = 1_767_225_600_000
MESSAGE_BYTES = 4 << 20


class Log:
    """A topic of its own, with someone to write it and someone else to read it."""

    def __init__(self, broker: str, partitions: int = 1, **config: str) -> None:
        self.broker = broker
        self.topic = f"log-{uuid.uuid4().hex[:8]}"
        self.partitions = partitions
        self.config = {"max.message.bytes": str(MESSAGE_BYTES), "retention.ms": "-1", **config}
        self.create()
        self.reader = LogReader(broker, self.topic)

    def create(self) -> None:
        create_topics(self.broker, [NewTopic(self.topic, self.partitions, 1, topic_configs=self.config)])

    def producer(self, **options: Any) -> Producer:
        return Producer(
            {"bootstrap.servers": self.broker, "message.max.bytes": MESSAGE_BYTES, "linger.ms": 20, **options}
        )

    def write(self, count: int, size: int = 20, partition: int = 0, **options: Any) -> None:
        producer = self.producer(**options)
        for number in range(count):
            producer.produce(
                self.topic, b"%0*d" % (size, number), timestamp=START + number, partition=partition
            )
        producer.flush()

    def read(self, start: int = 0, until: int | None = None, partition: int = 0) -> list[Row]:
        until = self.reader.ends()[partition] if until is None else until
        return rows(self.reader.read(partition, start, until))

    def as_confluent_reads(self, partition: int = 0, isolation: Isolation = READ_COMMITTED) -> list[Row]:
        """All messages of a partition, by librdkafka."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker,
                "group.id": uuid.uuid4().hex,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
            }
        )
        consumer.assign([Place(self.topic, partition, 0)])
        found = []
        try:
            while True:
                for message in consumer.consume(10_000, timeout=0.5):
                    if message.error() is None:
                        found.append((message.offset(), message.timestamp()[1], message.value()))
                    elif message.error().code() == KafkaError._PARTITION_EOF:
                        return found
                    else:
                        raise RuntimeError(message.error())
        finally:
            consumer.close()

    def remove_before(self, offset: int) -> None:
        """What retention does, at a moment of our choice."""
        admin = KafkaAdminClient(bootstrap_servers=self.broker)
        admin.delete_records({TopicPartition(self.topic, 0): offset})
        admin.close()


def rows(parts: Iterator[Any]) -> list[Row]:
    found: list[Row] = []
    for messages in parts:
        messages.values.validate(full=True)
        found += zip(messages.offsets.tolist(), messages.timestamps.tolist(), messages.values.to_pylist())
    return found


@pytest.fixture
def make_log(broker: str) -> Iterator[Callable[..., Log]]:
    logs = []

    def make(partitions: int = 1, **config: str) -> Log:
        logs.append(Log(broker, partitions, **config))
        return logs[-1]

    yield make
    for log in logs:
        log.reader.close()
    delete_topics(broker, [log.topic for log in logs])


def write_anything(log: Log, chance: random.Random, compression: str, count: int = 3_000) -> None:
    """Messages with and without keys, values and headers, of all sizes, in batches of all sizes."""
    producer = log.producer(**{"compression.type": compression})
    for number in range(count):
        size = (
            chance.choice([0, 1, 10, 100, 127, 128, 1_000, 16_383, 16_384]) if number % 1_000 else 1_500_000
        )
        producer.produce(
            log.topic,
            value=None if chance.random() < 0.05 else chance.randbytes(size),
            key=chance.choice([None, b"", chance.randbytes(5), chance.randbytes(300)]),
            headers=chance.choice([[], [("a", b"1")], [("b", None), ("ä" * 70, chance.randbytes(200))]]),
            timestamp=START + chance.randrange(-1_000_000, 1_000_000),
            partition=chance.randrange(log.partitions),
        )
        if chance.random() < 0.01:
            producer.flush()
    producer.flush()


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_message_is_read_as_another_client_reads_it(make_log, compression: str):
    log = make_log(partitions=3)
    chance = random.Random(compression)
    write_anything(log, chance, compression)
    for partition in range(3):
        expected = log.as_confluent_reads(partition)
        assert len(expected) > 500
        assert log.read(partition=partition) == expected
        for _ in range(5):  # ranges begin and end in the middle of batches
            start, until = sorted(chance.choices(range(len(expected) + 1), k=2))
            assert log.read(start, until, partition) == expected[start:until]


@pytest.fixture(scope="module")
def numbers(broker: str) -> Iterator[Log]:
    """Ten thousand messages in batches of all sizes."""
    log = Log(broker)
    for count in (1, 4_000, 10, 5_000, 1, 988):
        log.write(count)
    yield log
    log.reader.close()
    delete_topics(broker, [log.topic])


@settings(max_examples=50, deadline=None)
@given(bounds=st.lists(st.integers(0, 10_000), min_size=1, max_size=5))
def test_ranges_that_meet_have_every_message_once(numbers: Log, bounds: list[int]):
    cuts = [0, *sorted(bounds), 10_000]
    found = [row for start, until in pairwise(cuts) for row in numbers.read(start, until)]
    assert [offset for offset, _, _ in found] == list(range(10_000))
    assert found[9_999] == (9_999, START + 987, b"%020d" % 987)


def test_large_logs_come_in_parts_of_a_few_megabytes(make_log):
    log = make_log()
    log.write(40_000, size=500)
    parts = list(log.reader.read(0, 0, 40_000))
    assert len(parts) >= 4
    assert max(part.values.nbytes for part in parts) < 8 << 20
    assert sum(map(len, parts)) == 40_000


def test_a_reading_that_is_given_up_does_not_disturb_the_next(make_log):
    log = make_log()
    log.write(40_000, size=500)
    one, other = log.reader.read(0, 0, 40_000), log.reader.read(0, 1_000, 40_000)
    next(one)
    begun = rows(iter([next(other)]))
    one.close()
    assert log.read(0, 10) == log.as_confluent_reads()[:10]
    assert begun + rows(other) == log.as_confluent_reads()[1_000:]


def test_a_compacted_topic_has_gaps(make_log):
    log = make_log(**{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100"})
    producer = log.producer()
    writer = TransactionalWriter(log, random.Random(1))
    for number in range(5_000):
        producer.produce(log.topic, b"%d" % number, key=b"%d" % (number % 7 if number % 500 else number))
        if number % 1_000 == 999:
            producer.flush()
            writer.write(b"%d" % (number % 7))
            writer.end(commits=number % 2_000 == 999)
            time.sleep(0.2)  # the next message is in a new segment: old ones alone are compacted
    producer.flush()
    expected = compacted(log)
    assert log.read() == expected
    assert log.read(1, 3_000) == [row for row in expected if 1 <= row[0] < 3_000]
    account = accounted(log)
    assert account.read == len(expected)
    assert add_up(account) == log.reader.ends()[0]


def compacted(log: Log) -> list[Row]:
    """What is left when Kafka has done its work, which it does every 15 seconds."""
    deadline = time.monotonic() + 60
    before: list[Row] = []
    while len(now := log.as_confluent_reads()) > 2_000 or now != before:
        assert time.monotonic() < deadline, "Kafka did not compact the topic."
        before = now
        time.sleep(1)
    return now


def test_transactions_leave_no_messages_of_their_own(make_log):
    log = make_log()
    producer = log.producer(**{"transactional.id": log.topic})
    producer.init_transactions()
    for number in range(10):
        producer.begin_transaction()
        producer.produce(log.topic, b"%d" % number)
        producer.flush()
        producer.abort_transaction() if number % 3 == 0 else producer.commit_transaction()
    found = log.read()
    assert [value for _, _, value in found] == [b"%d" % number for number in range(10) if number % 3]
    assert found == log.as_confluent_reads()
    assert log.reader.ends() == {0: 20}  # ten messages, ten marks
    assert log.read(1, 2) == []  # nothing but a mark


class TransactionalWriter:
    """Writes messages in transactions, each in batches of its own, and counts what becomes of them."""

    def __init__(self, log: Log, chance: random.Random, **options: Any) -> None:
        self._topic, self._chance = log.topic, chance
        self._producer = log.producer(**{"transactional.id": uuid.uuid4().hex, **options})
        self._producer.init_transactions()
        self._producer.begin_transaction()
        self._written = self.committed = self.aborted = self.marks = 0

    def write(self, key: bytes | None = None) -> None:
        for _ in range(self._chance.randrange(1, 30)):
            self._producer.produce(self._topic, self._chance.randbytes(20), key=key, partition=0)
            self._written += 1
        self._producer.flush()

    def end(self, commits: bool) -> None:
        if commits:
            self._producer.commit_transaction()
            self.committed += self._written
        else:
            self._producer.abort_transaction()
            self.aborted += self._written
        self.marks += bool(self._written)
        self._written = 0
        self._producer.begin_transaction()


def accounted(log: Log) -> Counts:
    """What becomes of every offset of a topic of one partition, as the job's map tasks count it."""
    source = SourceSpec(log.topic, log.broker, log.topic, "csv", (("column_1", "text"),), future_bound=None)
    setup = task.TaskSetup(source, Timeline(), log.broker, "", shards=1)
    missing: dict[int, Counts] = {}
    given = TaskInput(START, [Range(0, 0, log.reader.ends()[0])])
    (report,) = task.work(setup, Timeline(), {}, task._messages(setup, given, missing), missing=missing)
    return shuffle.decode(report).partitions[0].counts


def add_up(counts: Counts) -> int:
    return counts.read + counts.removed + counts.aborted + counts.gaps


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_of_transactions_only_committed_ones_are_read_as_another_client_reads_them(make_log, compression):
    log, chance = make_log(), random.Random(compression)
    one, other = (TransactionalWriter(log, chance, **{"compression.type": compression}) for _ in range(2))
    for _ in range(25):  # interleaved, each over several batches
        writer = chance.choice([one, other])
        writer.write()
        if chance.random() < 0.4:
            writer.end(commits=chance.random() < 0.5)
        if chance.random() < 0.2:
            log.write(5, **{"compression.type": compression})
    for writer in (one, other):
        writer.end(commits=False)
    one.write()  # and stays open
    other.write()
    other.end(commits=True)
    log.write(5)
    held_at = log.reader.ends()[0]
    expected = log.as_confluent_reads()
    assert held_at < LogReader(log.broker, log.topic, isolation="read_uncommitted").ends()[0]
    assert log.read() == expected
    one.end(commits=True)

    whole, end = log.as_confluent_reads(), log.reader.ends()[0]
    assert log.read() == whole
    assert log.read(0, held_at) == expected == whole[: len(expected)]  # a batch that is run again
    for _ in range(5):
        start, until = sorted(chance.choices(range(end + 1), k=2))
        assert log.read(start, until) == [row for row in whole if start <= row[0] < until]
    account = accounted(log)
    assert account.aborted == one.aborted + other.aborted > 0
    assert account.gaps == one.marks + other.marks
    assert account.read == len(whole)
    assert add_up(account) == end
    everything = log.as_confluent_reads(isolation="read_uncommitted")
    uncommitted = LogReader(log.broker, log.topic, isolation="read_uncommitted")
    assert rows(uncommitted.read(0, 0, end)) == everything
    parts = list(log.reader.read(0, 0, end, with_aborted=True))
    assert rows(iter(parts)) == everything
    assert rows(part for part in parts if not part.are_aborted) == whole
    uncommitted.close()


def test_what_was_aborted_is_not_taken_for_removed(make_log):
    log = make_log()
    writer = TransactionalWriter(log, random.Random(1))
    writer.write()
    writer.end(commits=False)
    log.write(10)
    log.remove_before(writer.aborted + 1 + 4)
    account = accounted(log)
    assert (account.read, account.removed) == (6, writer.aborted + 1 + 4)
    assert add_up(account) == log.reader.ends()[0]


def test_the_broker_s_time_is_a_message_s_timestamp_where_the_topic_says_so(make_log):
    log = make_log(**{"message.timestamp.type": "LogAppendTime"})
    log.write(100, **{"compression.type": "lz4"})
    log.write(100)
    found = log.read()
    assert found == log.as_confluent_reads()
    assert all(timestamp > START + 1_000_000 for _, timestamp, _ in found)


def test_what_retention_removed_is_skipped(make_log):
    log = make_log()
    log.write(1_000)
    expected = log.as_confluent_reads()
    log.remove_before(400)
    assert log.reader.beginnings() == {0: 400}
    assert log.read(0, 1_000) == expected[400:]
    assert log.read(100, 300) == []
    assert log.read(100, 450) == expected[400:450]


def located(
    log: Log, since: int, end: int, bound: int | None = 300_000, most: int = 10_000, seen: int | None = None
) -> tuple[int, list[int]]:
    """Of a topic's one partition: from where on it is read back, and whether older messages are missed."""
    setup = InputSetup(
        log.broker, log.topic, log.broker, "", "", {}, 0, "", most, 0, 1, b"", [0], future_bound=bound
    )
    reader = InputReader(setup)
    past = reader._located(2, since, {"0": end}, {} if seen is None else {0: seen})
    reader.stop()
    assert past["messages"] == end - past["at"]["0"]
    return past["at"]["0"], past["bounded"]


def test_what_is_read_back_begins_with_messages_whose_events_may_be_ahead_of_them(make_log):
    log = make_log()
    log.write(1_000)  # within a second
    assert located(log, START + 300_400, 1_000) == (400, [])
    assert located(log, START + 300_400, 1_000, bound=5_000) == (1_000, [])
    assert located(log, START + 60_400, 1_000, bound=5_000) == (400, [])
    assert located(log, START + 10**9, 1_000, bound=None) == (0, [])  # the stamps may mean nothing
    assert located(log, START + 10**9, 1_000, bound=None, most=300) == (700, [0])


def test_older_messages_that_kafka_no_longer_has_are_missed_when_they_may_have_been_wanted(make_log):
    log = make_log()
    log.write(1_000)
    log.remove_before(300)
    assert located(log, START + 60_400, 1_000, bound=0) == (400, [])
    assert located(log, START + 60_200, 1_000, bound=0) == (300, [0])
    assert located(log, START + 60_200, 1_000, bound=0, seen=START + 60_200) == (300, [0])
    assert located(log, START + 60_200, 1_000, bound=0, seen=START + 60_199) == (300, [])
    assert located(log, START + 60_200, 1_000, bound=5_000, seen=START + 60_199) == (300, [0])


def test_a_partition_of_which_nothing_is_left_is_missed_unless_all_it_had_is_too_old(make_log):
    log = make_log()
    log.write(1_000)
    log.remove_before(1_000)
    since = START + 60_200
    for end in (1_000, 900):
        assert located(log, since, end) == located(log, since, end, bound=None) == (end, [0])
        assert located(log, since, end, bound=0, seen=since - 1) == (end, [])
    assert located(log, since, 0) == (0, [])


def test_a_topic_made_anew_that_is_shorter_has_no_messages(make_log, monkeypatch):
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 600.0)
    log = make_log()
    log.write(1_000)
    assert len(log.read()) == 1_000
    delete_topics(log.broker, [log.topic])
    log.create()
    log.write(10)
    began = time.monotonic()
    assert log.read(500, 1_000) == []
    assert time.monotonic() - began < kafka_topic.PATIENCE_SECONDS / 10
    assert log.reader.ends() == {0: 10}


def test_a_range_that_the_log_does_not_reach_ends_with_the_log(make_log, monkeypatch):
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 1.0)
    log = make_log()
    log.write(10)
    assert len(log.read(0, 20)) == 10


def test_messages_that_come_while_they_are_waited_for_are_read(make_log):
    log = make_log()
    log.write(10)
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(log.read, 0, 20)
        time.sleep(1)
        log.write(10)
        assert len(reading.result()) == 20


def test_ends_and_beginnings_are_those_of_the_broker(make_log):
    log = make_log(partitions=3)
    log.write(7, partition=0)
    log.write(5, partition=2)
    log.remove_before(3)
    assert log.reader.ends() == {0: 7, 1: 0, 2: 5}
    assert log.reader.beginnings() == {0: 3, 1: 0, 2: 0}


def test_partitions_that_are_added_are_noticed(make_log):
    log = make_log()
    assert set(log.reader.ends()) == {0}
    admin = KafkaAdminClient(bootstrap_servers=log.broker)
    admin.create_partitions({log.topic: 3})
    admin.close()
    log.write(5, partition=2)
    assert len(log.read(0, 5, partition=2)) == 5
    time.sleep(kafka_topic.LOOK_EVERY)
    assert log.reader.ends() == {0: 0, 1: 0, 2: 5}


@pytest.mark.parametrize("stale", [{"epoch": 99}, {"address": f"127.0.0.1:{free_port()}"}])
def test_who_leads_is_asked_anew_when_what_was_known_is_wrong(make_log, stale: dict[str, Any]):
    log = make_log()
    log.write(10)
    until = log.reader.ends()[0]
    log.reader._leaders[0] = replace(log.reader._leaders[0], **stale)
    assert len(log.read(0, until)) == 10
    log.reader._leaders[0] = replace(log.reader._leaders[0], **stale)
    assert log.reader.ends() == {0: 10}


def test_a_topic_that_does_not_exist(broker: str, monkeypatch):
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 1.0)
    reader = LogReader(broker, "nowhere")
    for attempt in (reader.ends, reader.beginnings, lambda: list(reader.read(0, 0, 10))):
        with pytest.raises(TopicGone, match=f"There is no topic “nowhere” on {broker}."):
            attempt()
    reader.close()


def test_a_partition_that_does_not_exist(make_log, monkeypatch):
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 1.0)
    log = make_log()
    with pytest.raises(SourceProblem, match=f"“{log.topic}” on {log.broker} has no partition 7."):
        log.read(0, 10, partition=7)


def test_a_broker_that_throttles_leaves_nothing_out(make_log):
    log = make_log()
    log.write(20_000, size=500)
    limit(log.broker, client="slow", bytes_a_second=1_500_000)
    log.reader = LogReader(log.broker, log.topic, client_id="slow")
    assert any(whole_reading_seconds(log) > 1 for _ in range(20)), "Nothing was throttled."


def whole_reading_seconds(log: Log) -> float:
    """A new quota holds a moment after the broker has accepted it: one reading may be too early for it."""
    began = time.monotonic()
    assert len(log.read()) == 20_000
    time.sleep(0.1)
    return time.monotonic() - began


def limit(broker: str, client: str, bytes_a_second: int) -> None:
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type="client-id", entity_name=client)],
                ops=[entry.OpData(key="consumer_byte_rate", value=float(bytes_a_second), remove=False)],
            )
        ],
        validate_only=False,
    )
    connection = Connection(broker, {})
    connection.ask(request)
    connection.close()


class GuardedBroker(Broker):
    """A broker with a second door, for those who have its certificate and a password."""

    NAME, PASSWORD = "reader", "open sesame"

    def __init__(self, data_dir: Path) -> None:
        jars = jars_dir(django_settings.VAR_DIR) / "broker"
        super().__init__(data_dir, free_port(), jars, find_java().path)
        self.guarded_port = free_port()
        self.certificate = data_dir / "certificate.pem"

    def _write_configuration(self) -> None:
        super()._write_configuration()
        key, certificate = self_signed()
        self.certificate.write_text(certificate)
        login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        changed = {
            "listeners": f",SASL_SSL://127.0.0.1:{self.guarded_port}",
            "advertised.listeners": f",SASL_SSL://127.0.0.1:{self.guarded_port}",
            "listener.security.protocol.map": ",SASL_SSL:SASL_SSL",
        }
        lines = self._properties.read_text().splitlines()
        lines = [line + changed.get(line.partition("=")[0], "") for line in lines]
        lines += [
            "ssl.keystore.type=PEM",
            f"ssl.keystore.key={escaped(key)}",
            f"ssl.keystore.certificate.chain={escaped(certificate)}",
            "sasl.enabled.mechanisms=PLAIN",
            f'listener.name.sasl_ssl.plain.sasl.jaas.config={login} user_{self.NAME}="{self.PASSWORD}";',
        ]
        self._properties.write_text("\n".join(lines))

    def reader(self, topic: str, password: str) -> LogReader:
        security = Security("SASL_SSL", "PLAIN", self.NAME, seal(password), ca=self.certificate.read_text())
        return LogReader(f"127.0.0.1:{self.guarded_port}", topic, security)


def escaped(text: str) -> str:
    return text.replace("\n", "\\n")


def self_signed() -> tuple[str, str]:
    """A key and its certificate, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private.decode(), certificate.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedBroker]:
    with GuardedBroker(tmp_path_factory.mktemp("own") / "broker") as running:
        yield running


def test_a_guarded_broker_is_read_with_a_certificate_and_a_password(own_broker: GuardedBroker):
    log = Log(own_broker.bootstrap_servers)
    log.write(40_000, size=500)
    reader = own_broker.reader(log.topic, own_broker.PASSWORD)
    assert reader.ends() == {0: 40_000}
    assert rows(reader.read(0, 0, 40_000)) == log.as_confluent_reads()
    reader.close()


def test_a_wrong_password_is_refused_without_waiting_for_a_better_answer(
    own_broker: GuardedBroker, monkeypatch
):
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 600.0)
    reader = own_broker.reader("any", "open barley")
    began = time.monotonic()
    with pytest.raises(SourceProblem, match="refused the user name or the password"):
        reader.ends()
    assert time.monotonic() - began < kafka_topic.PATIENCE_SECONDS / 10


def test_a_broker_that_hangs_is_not_waited_for_forever(own_broker: Broker, monkeypatch):
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(kafka_connection, "ANSWER_SECONDS", 1.0)
    log = Log(own_broker.bootstrap_servers)
    log.write(10)
    assert len(log.read()) == 10
    with frozen(own_broker.pid):
        for attempt in (log.reader.ends, lambda: log.read(0, 10)):
            with pytest.raises(SourceProblem, match=f"The Kafka cluster at {log.broker} does not answer."):
                attempt()
    assert len(log.read()) == 10
    log.reader.close()


def test_a_broker_that_comes_back_is_read_on_from(own_broker: Broker, monkeypatch):
    log = Log(own_broker.bootstrap_servers)
    log.write(40_000, size=500)
    expected = log.as_confluent_reads()
    reading = log.reader.read(0, 0, 40_000)
    begun = rows(iter([next(reading)]))

    own_broker.kill()
    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 1.0)
    silence = f"The Kafka cluster at {log.broker} does not answer."
    with pytest.raises(SourceProblem, match=silence):
        log.reader.ends()

    monkeypatch.setattr(kafka_topic, "PATIENCE_SECONDS", 60.0)
    with ThreadPoolExecutor() as threads:
        rest = threads.submit(rows, reading)
        own_broker.start()
        own_broker.wait_until_ready()
        assert begun + rest.result() == expected
    assert log.reader.ends() == {0: 40_000}
    log.reader.close()
