"""Looks at a source's topic from outside Spark: which one it is, what it holds, or in words what is wrong."""

import logging
import threading
from contextlib import suppress
from dataclasses import dataclass

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import (
    BrokerResponseError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    for_code,
)

from streaming.kafka_connection import ANSWER_SECONDS
from streaming.reach import SourceProblem, closed_because, secure_options, why_not
from streaming.security import PLAINTEXT, Security
from streaming.sources import READ_COMMITTED, Isolation

log = logging.getLogger("millrace.job")

LOOK_EVERY = 2.0


class TopicGone(SourceProblem):
    """The cluster answers, but has no such topic."""


@dataclass(frozen=True)
class TopicView:
    """A topic as its cluster described it."""

    id: str  # another topic of the same name has another; empty where the cluster is older than Kafka 2.8
    first: dict[int, int]  # per partition, the oldest offset that is kept
    end: dict[int, int]  # per partition, the offset up to which messages can be read


def look(
    bootstrap_servers: str,
    topic: str,
    security: Security = PLAINTEXT,
    isolation: Isolation = READ_COMMITTED,
) -> TopicView:
    """What the cluster says of a topic, within seconds; raises SourceProblem."""
    options = secure_options(security)
    address = _open_door(bootstrap_servers)
    problem = why_not(address, security) if security != PLAINTEXT else None
    if problem is not None:  # kafka-python would try again and again, and say only that time is over
        raise problem
    limit = int(ANSWER_SECONDS * 1000)
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=address, bootstrap_timeout_ms=limit, request_timeout_ms=limit, **options
        )
    except (KafkaError, OSError, ValueError) as error:
        raise why_not(address, security) or silent(bootstrap_servers) from error
    try:
        return _describe(admin, topic, isolation)
    except UnknownTopicOrPartitionError as error:
        raise gone(bootstrap_servers, topic) from error
    except BrokerResponseError as error:
        raise refused(bootstrap_servers, topic, error) from error
    except (KafkaError, OSError) as error:
        raise silent(bootstrap_servers) from error
    finally:
        with suppress(KafkaError, OSError):
            admin.close()


def _describe(admin: KafkaAdminClient, topic: str, isolation: Isolation) -> TopicView:
    described = admin.describe_topics([topic])[0]
    if described["error_code"]:
        raise for_code(described["error_code"])(topic)
    numbers = sorted(part["partition_index"] for part in described["partitions"])
    parts = [TopicPartition(topic, number) for number in numbers]
    first = admin.list_partition_offsets(dict.fromkeys(parts, OffsetSpec.EARLIEST))
    end = admin.list_partition_offsets(dict.fromkeys(parts, OffsetSpec.LATEST), isolation_level=isolation)
    return TopicView(
        str(described.get("topic_id") or ""),
        {part.partition: first[part].offset for part in parts},
        {part.partition: end[part].offset for part in parts},
    )


def _open_door(bootstrap_servers: str) -> str:
    """The first address that takes a connection: Kafka's client would try closed ones for long."""
    for address in bootstrap_servers.split(","):
        if closed_because(address.strip(), ANSWER_SECONDS / 2) is None:
            return address.strip()
    raise silent(bootstrap_servers)


def silent(bootstrap_servers: str) -> SourceProblem:
    return SourceProblem(f"The Kafka cluster at {bootstrap_servers} does not answer.")


def refused(bootstrap_servers: str, topic: str, error: BrokerResponseError) -> SourceProblem:
    if isinstance(error, TopicAuthorizationFailedError):
        return not_authorised(bootstrap_servers, topic)
    reason = type(error).__name__.removesuffix("Error")
    return SourceProblem(f"The Kafka cluster at {bootstrap_servers} refused “{topic}”: {reason}.")


def not_authorised(bootstrap_servers: str, topic: str) -> SourceProblem:
    return SourceProblem(
        f"Kafka at {bootstrap_servers} does not let this connection read “{topic}”: its user needs the"
        " rights Describe and Read on the topic."
    )


def gone(bootstrap_servers: str, topic: str) -> TopicGone:
    return TopicGone(f"There is no topic “{topic}” on {bootstrap_servers}.")


class Watch:
    """Looks at one topic every few seconds, in a thread of its own: nobody waits for a dead cluster."""

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        security: Security = PLAINTEXT,
        isolation: Isolation = READ_COMMITTED,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._security = security
        self._isolation = isolation
        self._over = threading.Event()
        self.view: TopicView | None = None  # the newest there was
        self.problem: str | None = None
        self.looks = 0
        self._misses = 0  # looks in a row that found no such topic
        threading.Thread(target=self._run, daemon=True, name=f"watch {topic}").start()

    @property
    def topic_is_gone(self) -> bool:
        return self._misses > 1  # a broker that has just started may not know its topics yet

    def stop(self) -> None:
        self._over.set()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self.view = look(self._bootstrap_servers, self._topic, self._security, self._isolation)
                self.problem, self._misses = None, 0
            except SourceProblem as problem:
                self._misses = self._misses + 1 if isinstance(problem, TopicGone) else 0
                self.problem = str(problem)
            except Exception as error:  # whatever a cluster answers: without a word nobody would know
                log.exception("Looking at topic %s failed.", self._topic)
                self._misses = 0
                self.problem = (
                    f"The Kafka cluster at {self._bootstrap_servers} cannot be understood: {error}."
                )
            self.looks += 1
            self._over.wait(LOOK_EVERY)
