"""Looking into Kafka for a page: which topics there are and what their newest messages hold.

Nothing here joins a consumer group or commits an offset, so looking never disturbs who reads the topic.
"""

import heapq
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from dashboard.sources.models import Source

CONNECT_SECONDS = 3.0
READ_SECONDS = 4.0
SHOWN_MESSAGES = 20


class KafkaProblem(RuntimeError):
    """Something is wrong with the connection or the topic; `field` names the form field to look at."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence


@dataclass(frozen=True)
class Message:
    """One message as it lies in the topic."""

    partition: int
    offset: int
    timestamp: int  # ms
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True)
class Sample:
    """The newest messages over all partitions, newest first."""

    partitions: int
    kept: int  # messages that the topic holds now
    messages: list[Message]


def list_topics(bootstrap_servers: str) -> list[str]:
    """All topics of the cluster but Kafka's own."""
    with _reader(bootstrap_servers) as consumer:
        return _topics(consumer)


def newest_messages(bootstrap_servers: str, topic: str, limit: int = SHOWN_MESSAGES) -> Sample:
    """The newest `limit` messages of a topic; refuses a topic that does not exist."""
    with _reader(bootstrap_servers) as consumer:
        if topic not in _topics(consumer):
            raise KafkaProblem("topic", f"There is no topic “{topic}” on {bootstrap_servers}.")
        parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        first, end = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
        starts = {part: max(first[part], end[part] - limit) for part in parts if end[part] > first[part]}
        messages = heapq.nlargest(limit, _read(consumer, starts, end), key=lambda m: (m.timestamp, m.offset))
        return Sample(len(parts), sum(end[part] - first[part] for part in parts), messages)


def _topics(consumer: KafkaConsumer) -> list[str]:
    return sorted(name for name in consumer.topics() if not name.startswith("__"))


def _read(
    consumer: KafkaConsumer, starts: dict[TopicPartition, int], end: dict[TopicPartition, int]
) -> Iterator[Message]:
    """Messages from `starts` up to `end`, or as many as come within the time allowed."""
    consumer.assign(list(starts))
    for part, offset in starts.items():
        consumer.seek(part, offset)
    open_parts = set(starts)
    deadline = time.monotonic() + READ_SECONDS
    while open_parts and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=250).values():
            for record in records:
                yield Message(record.partition, record.offset, record.timestamp, record.key, record.value)
        # Aborted or compacted records leave holes: the position tells the end, not the last record.
        open_parts = {part for part in open_parts if consumer.position(part) < end[part]}


@contextmanager
def _reader(bootstrap_servers: str) -> Iterator[KafkaConsumer]:
    """A consumer without a group, closed in any case; every failure becomes a sentence."""
    # The client tries addresses at random and can spend all its time on closed ones: it gets an open one.
    address = _open_door(bootstrap_servers)
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=[address],
            group_id=None,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            bootstrap_timeout_ms=int(CONNECT_SECONDS * 1000),
            request_timeout_ms=int(READ_SECONDS * 1000),
            fetch_max_wait_ms=200,
        )
    except (KafkaError, OSError, ValueError) as error:
        raise _not_kafka(bootstrap_servers) from error
    try:
        yield consumer
    except (KafkaTimeoutError, OSError) as error:
        raise KafkaProblem(
            "bootstrap_servers",
            f"{bootstrap_servers} stopped answering; check that its brokers are reachable from here.",
        ) from error
    except KafkaError as error:
        raise KafkaProblem("topic", f"Kafka refused to read the topic: {type(error).__name__}.") from error
    finally:
        consumer.close(autocommit=False)


@contextmanager
def consumer_of(source: Source) -> Iterator[KafkaConsumer]:
    """A consumer without a group on the source's cluster."""
    with _reader(source.bootstrap_servers) as consumer:
        yield consumer


@contextmanager
def admin_of(source: Source) -> Iterator[KafkaAdminClient]:
    """A client that asks the source's cluster about itself; callers put what it raises into words."""
    address, limit = _open_door(source.bootstrap_servers), int(READ_SECONDS * 1000)
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=[address], bootstrap_timeout_ms=limit, request_timeout_ms=limit
        )
    except (KafkaError, OSError, ValueError) as error:
        raise _not_kafka(source.bootstrap_servers) from error
    try:
        yield admin
    finally:
        admin.close()


def _not_kafka(bootstrap_servers: str) -> KafkaProblem:
    return KafkaProblem(
        "bootstrap_servers",
        f"{bootstrap_servers} answers, but not as a Kafka broker with a plain listener; check the port.",
    )


def _open_door(bootstrap_servers: str) -> str:
    """The first address that answers, found in plain TCP: Kafka's client would only speak of a time-out."""
    problems = []
    for address in bootstrap_servers.split(","):
        problem = _closed_because(address.strip())
        if problem is None:
            return address.strip()
        problems.append(problem)
    raise KafkaProblem("bootstrap_servers", " ".join(problems))


def _closed_because(address: str) -> str | None:
    host, port = split_address(address)
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except socket.gaierror:
        return f"The name {host} does not resolve; check its spelling."
    except TimeoutError:
        return (
            f"{address} does not answer within {CONNECT_SECONDS:.0f} s; check the address and the firewall."
        )
    except ConnectionRefusedError:
        return f"{address} refused the connection; check that Kafka is running on this port."
    except OSError as error:
        return f"{address} cannot be reached: {error.strerror or error}."
    return None


def split_address(address: str) -> tuple[str, int]:
    """Host and port of one bootstrap server."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise KafkaProblem(
            "bootstrap_servers",
            f"“{address}” is not an address: write host:port, several separated by commas.",
        )
    return host.strip("[]"), int(port)
