"""A topic as its brokers tell of it: who leads its partitions, and which offsets they hold.

A process keeps its `TopicClient`, and so its connections. Nothing here is compiled: planning batches needs no
more than this.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka.admin import OffsetSpec
from kafka.errors import (
    BrokerResponseError,
    IllegalSaslStateError,
    KafkaError,
    LeaderNotAvailableError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedSaslMechanismError,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from streaming.kafka_connection import LEVELS, Connection, raise_for
from streaming.reach import SourceProblem, address_of, secure_options, why_not
from streaming.security import PLAINTEXT, Security
from streaming.sources import READ_COMMITTED, Isolation
from streaming.watch import gone, refused, silent

PATIENCE_SECONDS = 10.0  # without a sign of life
PAUSE_SECONDS = 0.1  # between two attempts
LOOK_EVERY = 3.0  # seconds after which new partitions are noticed

NOT_OF_THE_TOPIC = (
    RequestTimedOutError,  # kafka-python's word for its own timeouts
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    IllegalSaslStateError,
)

_T = TypeVar("_T")
_Part = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition


@dataclass(frozen=True)
class Leader:
    address: str
    epoch: int


class Patience:
    """Whether it is worth another attempt."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._deadline = time.monotonic() + PATIENCE_SECONDS

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._deadline


class TopicClient:
    """Asks about one topic; raises SourceProblem when it cannot. `client_options` are kafka-python's."""

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        security: Security = PLAINTEXT,
        isolation: Isolation = READ_COMMITTED,
        **client_options: Any,
    ) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._security = security
        self._isolation = isolation
        self._options = secure_options(security) | client_options
        self._idle: dict[str, list[Connection]] = defaultdict(list)  # by address
        self._leaders: dict[int, Leader | None] = {}  # by partition; None while there is none
        self._looked = float("-inf")  # when the leaders were asked for

    def close(self) -> None:
        for connections in self._idle.values():
            while connections:
                connections.pop().close()

    def ends(self) -> dict[int, int]:
        """Per partition, the offset up to which messages can be read.

        Read committed, that is where the oldest open transaction begins, else what the next message gets.
        """
        return self._persist(lambda: self._offsets(OffsetSpec.LATEST))

    def beginnings(self) -> dict[int, int]:
        """Per partition, the oldest offset that is kept."""
        return self._persist(lambda: self._offsets(OffsetSpec.EARLIEST))

    def offsets_at(self, instant: int) -> dict[int, int]:
        """Per partition, the offset of the first message whose timestamp is not older; −1: there is none."""
        return self._persist(lambda: self._offsets(instant))

    def _offsets(self, instant: int) -> dict[int, int]:
        self._look_if_due()
        led: dict[str, list[int]] = defaultdict(list)
        for partition in self._leaders:
            led[self._leader(partition).address].append(partition)
        offsets = {}
        for address, partitions in led.items():
            parts = [
                _Part(partition_index=number, current_leader_epoch=-1, timestamp=int(instant))
                for number in partitions
            ]
            request = ListOffsetsRequest(
                isolation_level=LEVELS[self._isolation],
                topics=[ListOffsetsRequest.ListOffsetsTopic(name=self._topic, partitions=parts)],
                min_version=2,  # that there is an isolation level
            )
            with self._connection(address) as connection:
                answer = connection.ask(request)
            for part in answer.topics[0].partitions:
                raise_for(part.error_code, part.partition_index)
                offsets[part.partition_index] = part.offset
        return offsets

    def _leader(self, partition: int) -> Leader:
        if partition not in self._leaders:
            self._look()
        if partition not in self._leaders:
            raise UnknownTopicOrPartitionError(partition)
        leader = self._leaders[partition]
        if leader is None:
            raise LeaderNotAvailableError(partition)
        return leader

    def _look_if_due(self) -> None:
        if time.monotonic() > self._looked + LOOK_EVERY:
            self._look()

    def _look(self) -> None:
        """Ask any broker which partitions there are, and who leads them."""
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=self._topic)],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        answer = self._ask_any(request)
        brokers = {broker.node_id: address_of(broker) for broker in answer.brokers}
        (topic,) = answer.topics
        self._leaders = {
            part.partition_index: Leader(brokers[part.leader_id], part.leader_epoch)
            if part.leader_id in brokers
            else None
            for part in topic.partitions
        }
        raise_for(topic.error_code)
        self._looked = time.monotonic()

    def _ask_any(self, request: Any) -> Any:
        known = [address for address, connections in self._idle.items() if connections]
        configured = [address.strip() for address in self._bootstrap_servers.split(",")]
        for address in (*known, *configured):
            try:
                with self._connection(address) as connection:
                    return connection.ask(request)
            except (KafkaError, OSError) as error:
                failure = error
        raise failure

    @contextmanager
    def _connection(self, address: str) -> Iterator[Connection]:
        """One that is not in use; it is kept if nothing goes wrong."""
        idle = self._idle[address]
        connection = idle.pop() if idle else Connection(address, self._options)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        idle.append(connection)

    def _persist(self, act: Callable[[], _T]) -> _T:
        """Try until it succeeds or patience is over."""
        patience = Patience()
        while True:
            try:
                return act()
            except (KafkaError, OSError) as error:
                self._recover(error, patience)

    def _recover(self, error: KafkaError | OSError, patience: Patience) -> None:
        """Make ready for another attempt, or raise what people are told."""
        can_pass = isinstance(error, OSError) or error.retriable
        if patience.is_over or not can_pass:
            raise self._problem(error) from error
        time.sleep(PAUSE_SECONDS)
        self.close()  # connections may be as dead as the one that failed
        self._looked = float("-inf")
        self._leaders = {}

    def _problem(self, error: KafkaError | OSError) -> SourceProblem:
        if isinstance(error, UnknownTopicOrPartitionError):
            if self._leaders:
                return SourceProblem(
                    f"“{self._topic}” on {self._bootstrap_servers} has no partition {error.args[0]}."
                )
            return gone(self._bootstrap_servers, self._topic)
        if isinstance(error, BrokerResponseError) and not isinstance(error, NOT_OF_THE_TOPIC):
            return refused(self._bootstrap_servers, self._topic, error)
        return why_not(self._bootstrap_servers, self._security) or silent(self._bootstrap_servers)
