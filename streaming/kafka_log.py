"""A topic's log, read as fast as brokers send it: raw batches, compiled parsing, the next fetch under way.

A process keeps its `LogReader`, and so its connections, from batch to batch. What was not committed is read,
too, as Spark's own source does.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka.admin import OffsetSpec
from kafka.errors import (
    BrokerResponseError,
    KafkaError,
    LeaderNotAvailableError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from streaming.kafka_connection import Connection, raise_for
from streaming.record_batches import Damaged, Messages, RecordBatches
from streaming.watch import ANSWER_SECONDS, SourceProblem, gone, refused, silent

PATIENCE_SECONDS = 10.0  # without a sign of life
PAUSE_SECONDS = 0.1  # between two attempts
LOOK_EVERY = 3.0  # seconds after which new partitions are noticed
EMPTY_ANSWERS = 3  # in a row, though the log goes on: nothing is left up to its end

_T = TypeVar("_T")
_Part = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition


@dataclass(frozen=True)
class _Leader:
    address: str
    epoch: int


class _Patience:
    """The time that is left for attempts."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._deadline = time.monotonic() + PATIENCE_SECONDS

    @property
    def left(self) -> float:
        """Seconds; never none, which would mean not to wait at all."""
        return max(self._deadline - time.monotonic(), 0.001)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._deadline


class LogReader:
    """Reads one topic; raises SourceProblem when it cannot. `client_options` are kafka-python's."""

    def __init__(self, bootstrap_servers: str, topic: str, **client_options: Any) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._options = client_options
        self._idle: dict[str, list[Connection]] = defaultdict(list)  # by address
        self._leaders: dict[int, _Leader | None] = {}  # by partition; None while there is none
        self._looked = float("-inf")  # when the leaders were asked for

    def close(self) -> None:
        for connections in self._idle.values():
            while connections:
                connections.pop().close()

    def ends(self) -> dict[int, int]:
        """Per partition, the offset that the next message gets."""
        return self._persist(lambda patience: self._offsets(OffsetSpec.LATEST, patience))

    def beginnings(self) -> dict[int, int]:
        """Per partition, the oldest offset that is kept."""
        return self._persist(lambda patience: self._offsets(OffsetSpec.EARLIEST, patience))

    def read(self, partition: int, start: int, until: int) -> Iterator[Messages]:
        """Messages with start ≤ offset < until, in log order.

        What retention has removed is left out, and so is what a topic made anew does not have.
        """
        position, patience = start, _Patience()
        while position < until:
            try:
                with closing(self._fetch(partition, position, until, patience)) as answers:
                    for batches in answers:
                        first, position = position, batches.following
                        yield from batches.messages(first, until)
                return
            except OffsetOutOfRangeError:
                oldest = self.beginnings().get(partition, 0)
                if oldest <= position:  # it lies beyond the end: this topic is another one
                    return
                position = oldest
            except Damaged as damage:
                raise SourceProblem(
                    f"Partition {partition} of “{self._topic}” on {self._bootstrap_servers}"
                    f" cannot be read at offset {damage.offset}: {damage}."
                ) from damage
            except (KafkaError, OSError) as error:
                self._recover(error, patience)

    def _fetch(
        self, partition: int, position: int, until: int, patience: _Patience
    ) -> Generator[RecordBatches, None, None]:
        """What the leader sends; while one answer is worked on, the next is on its way."""
        leader = self._leader(partition, patience)
        with self._connection(leader.address, patience) as connection:

            def ask() -> None:
                connection.send_fetch(self._topic, partition, leader.epoch, position, patience.left)

            ask()
            empty = 0
            while position < until:
                fetched = connection.receive_fetch(patience.left)
                batches = RecordBatches(fetched.records, position)
                if batches.following > position:
                    empty, position = 0, batches.following
                    if position < until:
                        ask()
                    yield batches
                    patience.renew()
                    continue
                if fetched.throttled_ms:  # such an answer may leave out what there is
                    time.sleep(fetched.throttled_ms / 1000)
                    patience.renew()
                else:
                    empty += 1
                    if patience.is_over or (empty == EMPTY_ANSWERS and fetched.end >= until):
                        return
                ask()

    def _offsets(self, spec: OffsetSpec, patience: _Patience) -> dict[int, int]:
        self._look_if_due(patience)
        led: dict[str, list[int]] = defaultdict(list)
        for partition in self._leaders:
            led[self._leader(partition, patience).address].append(partition)
        offsets = {}
        for address, partitions in led.items():
            parts = [
                _Part(partition_index=number, current_leader_epoch=-1, timestamp=int(spec))
                for number in partitions
            ]
            request = ListOffsetsRequest(
                isolation_level=0,
                topics=[ListOffsetsRequest.ListOffsetsTopic(name=self._topic, partitions=parts)],
                min_version=1,
            )
            with self._connection(address, patience) as connection:
                answer = connection.ask(request, patience.left)
            for part in answer.topics[0].partitions:
                raise_for(part.error_code, part.partition_index)
                offsets[part.partition_index] = part.offset
        return offsets

    def _leader(self, partition: int, patience: _Patience) -> _Leader:
        if partition not in self._leaders:
            self._look(patience)
        if partition not in self._leaders:
            raise UnknownTopicOrPartitionError(partition)
        leader = self._leaders[partition]
        if leader is None:
            raise LeaderNotAvailableError(partition)
        return leader

    def _look_if_due(self, patience: _Patience) -> None:
        if time.monotonic() > self._looked + LOOK_EVERY:
            self._look(patience)

    def _look(self, patience: _Patience) -> None:
        """Ask any broker which partitions there are, and who leads them."""
        request = MetadataRequest(
            topics=[MetadataRequest.MetadataRequestTopic(name=self._topic)],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        answer = self._ask_any(request, patience)
        brokers = {broker.node_id: _address(broker) for broker in answer.brokers}
        (topic,) = answer.topics
        self._leaders = {
            part.partition_index: _Leader(brokers[part.leader_id], part.leader_epoch)
            if part.leader_id in brokers
            else None
            for part in topic.partitions
        }
        raise_for(topic.error_code)
        self._looked = time.monotonic()

    def _ask_any(self, request: Any, patience: _Patience) -> Any:
        known = [address for address, connections in self._idle.items() if connections]
        configured = [address.strip() for address in self._bootstrap_servers.split(",")]
        for address in (*known, *configured):
            try:
                with self._connection(address, patience) as connection:
                    return connection.ask(request, min(patience.left, ANSWER_SECONDS))
            except (KafkaError, OSError) as error:
                failure = error
        raise failure

    @contextmanager
    def _connection(self, address: str, patience: _Patience) -> Iterator[Connection]:
        """One that is not in use; it is kept if nothing goes wrong."""
        if self._idle[address]:
            connection = self._idle[address].pop()
        else:
            connection = Connection(address, self._options, min(patience.left, ANSWER_SECONDS))
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._idle[address].append(connection)

    def _persist(self, act: Callable[[_Patience], _T]) -> _T:
        """Try until it succeeds or patience is over."""
        patience = _Patience()
        while True:
            try:
                return act(patience)
            except (KafkaError, OSError) as error:
                self._recover(error, patience)

    def _recover(self, error: KafkaError | OSError, patience: _Patience) -> None:
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
        if isinstance(error, BrokerResponseError):
            return refused(self._bootstrap_servers, self._topic, error)
        return silent(self._bootstrap_servers)


def _address(broker: Any) -> str:
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"


_readers: dict[tuple[str, str], LogReader] = {}


def reader(bootstrap_servers: str, topic: str) -> LogReader:
    """This process's reader of a topic."""
    key = (bootstrap_servers, topic)
    if key not in _readers:
        _readers[key] = LogReader(*key)
    return _readers[key]
