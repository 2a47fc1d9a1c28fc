"""Looking into Kafka for a page: which topics there are and what their newest messages hold.

Nothing here joins a consumer group or commits an offset, so looking never disturbs who reads the topic.
"""

import heapq
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from dashboard.sources.models import Source
from streaming.reach import (
    SourceProblem,
    Unreachable,
    closed_because,
    misdirected,
    secure_options,
    why_not,
)
from streaming.security import PLAINTEXT, Security
from streaming.watch import gone, look, not_authorised

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


def list_topics(bootstrap_servers: str, security: Security = PLAINTEXT) -> list[str]:
    """All topics of the cluster but Kafka's own."""
    with reader(bootstrap_servers, security) as consumer:
        return _topics(consumer)


def newest_messages(
    bootstrap_servers: str, topic: str, limit: int = SHOWN_MESSAGES, security: Security = PLAINTEXT
) -> Sample:
    """The newest `limit` messages of a topic; refuses a topic that does not exist or may not be read."""
    with reader(bootstrap_servers, security) as consumer:
        if topic not in _topics(consumer):
            raise _not_there(bootstrap_servers, topic, security)
        parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        first, end = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
        starts = {part: max(first[part], end[part] - limit) for part in parts if end[part] > first[part]}
        try:
            found = heapq.nlargest(limit, _read(consumer, starts, end), key=lambda m: (m.timestamp, m.offset))
        except TopicAuthorizationFailedError as error:
            raise KafkaProblem("topic", str(not_authorised(bootstrap_servers, topic))) from error
        return Sample(len(parts), sum(end[part] - first[part] for part in parts), found)


def check(bootstrap_servers: str, security: Security) -> list[str]:
    """The topics that can be seen; raises KafkaProblem also where readers are sent on to a closed door."""
    topics = list_topics(bootstrap_servers, security)
    problem = misdirected(bootstrap_servers, security)
    if problem is not None:
        raise KafkaProblem(problem.field, str(problem))
    return topics


def _not_there(bootstrap_servers: str, topic: str, security: Security) -> KafkaProblem:
    """Lists leave out what may not be seen; asked for by name, the cluster says which it is."""
    try:
        look(bootstrap_servers, topic, security)
    except SourceProblem as problem:
        return KafkaProblem("topic", str(problem))
    return KafkaProblem("topic", str(gone(bootstrap_servers, topic)))


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
def reader(bootstrap_servers: str, security: Security = PLAINTEXT) -> Iterator[KafkaConsumer]:
    """A consumer without a group, closed in any case; every failure becomes a sentence."""
    consumer = KafkaConsumer(
        group_id=None,
        enable_auto_commit=False,
        allow_auto_create_topics=False,
        fetch_max_wait_ms=200,
        **client_options(bootstrap_servers, security),
    )
    try:
        with _in_words(bootstrap_servers):
            yield consumer
    finally:
        consumer.close(autocommit=False)


def client_options(bootstrap_servers: str, security: Security = PLAINTEXT) -> dict[str, Any]:
    """kafka-python's options for a cluster that lets us in now; raises KafkaProblem if it does not."""
    # The client tries addresses at random and can spend all its time on closed ones: it gets an open one.
    address = _open_door(bootstrap_servers)
    problem = why_not(address, security)
    if problem is not None:
        raise KafkaProblem(problem.field, str(problem))
    return {
        "bootstrap_servers": [address],
        "bootstrap_timeout_ms": int(CONNECT_SECONDS * 1000),
        "request_timeout_ms": int(READ_SECONDS * 1000),
        **secure_options(security),
    }


@contextmanager
def _in_words(bootstrap_servers: str) -> Iterator[None]:
    try:
        yield
    except (KafkaTimeoutError, OSError) as error:
        raise KafkaProblem(
            "bootstrap_servers",
            f"{bootstrap_servers} stopped answering; check that its brokers are reachable from here.",
        ) from error
    except KafkaError as error:
        raise KafkaProblem("topic", f"Kafka refused to read the topic: {type(error).__name__}.") from error


def consumer_of(source: Source) -> AbstractContextManager[KafkaConsumer]:
    """A consumer without a group on the source's cluster."""
    return reader(source.bootstrap_servers, source.connection.security())


@contextmanager
def admin_of(source: Source) -> Iterator[KafkaAdminClient]:
    """A client that asks the source's cluster about itself; callers put what it raises into words."""
    admin = KafkaAdminClient(**client_options(source.bootstrap_servers, source.connection.security()))
    try:
        yield admin
    finally:
        admin.close()


def _open_door(bootstrap_servers: str) -> str:
    """The first address that answers, found in plain TCP: Kafka's client would only speak of a time-out."""
    problems = []
    for address in map(str.strip, bootstrap_servers.split(",")):
        try:
            problem = closed_because(address, CONNECT_SECONDS)
        except Unreachable as error:
            raise KafkaProblem(error.field, str(error)) from error
        if problem is None:
            return address
        problems.append(problem)
    raise KafkaProblem("bootstrap_servers", " ".join(problems))
