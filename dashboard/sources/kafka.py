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
from kafka.errors import KafkaError, KafkaTimeoutError

from dashboard.sources.models import Source
from streaming.kafka_log import LogReader
from streaming.reach import (
    SourceProblem,
    Unreachable,
    closed_because,
    misdirected,
    secure_options,
    why_not,
)
from streaming.security import PLAINTEXT, Security
from streaming.sources import READ_COMMITTED, Isolation
from streaming.watch import gone, look

CONNECT_SECONDS = 3.0
READ_SECONDS = 4.0
SHOWN_MESSAGES = 20
MESSAGE_BYTES = 2_000  # that are fetched for a message of a topic of which nothing is known yet


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
    is_aborted: bool = False  # by its transaction
    problem: str = ""  # why it cannot be read


class TopicReader(KafkaConsumer):  # type: ignore[misc]  # kafka-python has no types
    """A consumer without a group: it asks about topics, and has them read as the job reads them."""

    def __init__(self, bootstrap_servers: str, security: Security, isolation: Isolation) -> None:
        self._place = bootstrap_servers, security, isolation
        self._logs: dict[tuple[str, Isolation], LogReader] = {}
        super().__init__(
            group_id=None,
            enable_auto_commit=False,
            allow_auto_create_topics=False,
            fetch_max_wait_ms=200,
            isolation_level=isolation,
            **client_options(bootstrap_servers, security),
        )

    def messages(
        self, topic: str, partition: int, offsets: range, isolation: Isolation | None = None
    ) -> Iterator[Message]:
        """The messages with these offsets, in order, also those that were aborted."""
        log = self._log(topic, isolation or self._place[2])
        try:
            for found in log.records(partition, offsets.start, offsets.stop):
                yield Message(partition, *found)
        except SourceProblem as problem:
            raise KafkaProblem("topic", str(problem)) from problem

    def _log(self, topic: str, isolation: Isolation) -> LogReader:
        bootstrap_servers, security, _ = self._place
        if (topic, isolation) not in self._logs:
            self._logs[topic, isolation] = LogReader(
                bootstrap_servers, topic, security, isolation, message_bytes=MESSAGE_BYTES
            )
        return self._logs[topic, isolation]

    def close(self, **how: Any) -> None:
        for log in self._logs.values():
            log.close()
        super().close(**how)


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
        found = heapq.nlargest(limit, _read(consumer, starts, end), key=lambda m: (m.timestamp, m.offset))
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
    consumer: TopicReader, starts: dict[TopicPartition, int], end: dict[TopicPartition, int]
) -> Iterator[Message]:
    """Messages from `starts` up to `end`, or as many as come within the time allowed."""
    deadline = time.monotonic() + READ_SECONDS
    for part, start in starts.items():
        for message in consumer.messages(part.topic, part.partition, range(start, end[part])):
            if time.monotonic() > deadline:
                return
            if not message.is_aborted:
                yield message


@contextmanager
def reader(
    bootstrap_servers: str, security: Security = PLAINTEXT, isolation: Isolation = READ_COMMITTED
) -> Iterator[TopicReader]:
    """A consumer without a group, closed in any case; every failure becomes a sentence."""
    consumer = TopicReader(bootstrap_servers, security, isolation)
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


def consumer_of(source: Source) -> AbstractContextManager[TopicReader]:
    """A consumer without a group on the source's cluster, which reads as the source does."""
    spec = source.spec()
    return reader(spec.bootstrap_servers, spec.security, spec.isolation)


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
