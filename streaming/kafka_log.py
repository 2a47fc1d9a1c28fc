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
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from streaming.kafka_connection import FETCH_BYTES, Connection, raise_for
from streaming.record_batches import Damaged, Messages, RecordBatches
from streaming.watch import SourceProblem, gone, refused, silent

PATIENCE_SECONDS = 10.0  # without a sign of life
PAUSE_SECONDS = 0.1  # between two attempts
LOOK_EVERY = 3.0  # seconds after which new partitions are noticed
SPARE_BYTES = 64 << 10  # asked for on top of what messages should take
EMPTY_ANSWERS = 3  # in a row, though the log goes on: nothing is left up to its end

_T = TypeVar("_T")
_Part = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition


@dataclass(frozen=True)
class _Leader:
    address: str
    epoch: int


class _Patience:
    """Whether it is worth another attempt."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._deadline = time.monotonic() + PATIENCE_SECONDS

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
        self._message_bytes = float(FETCH_BYTES)  # as Kafka stores messages, by the last answer

    def close(self) -> None:
        for connections in self._idle.values():
            while connections:
                connections.pop().close()

    def ends(self) -> dict[int, int]:
        """Per partition, the offset that the next message gets."""
        return self._persist(lambda: self._offsets(OffsetSpec.LATEST))

    def beginnings(self) -> dict[int, int]:
        """Per partition, the oldest offset that is kept."""
        return self._persist(lambda: self._offsets(OffsetSpec.EARLIEST))

    def offsets_at(self, instant: int) -> dict[int, int]:
        """Per partition, the offset of the first message whose timestamp is not older; −1: there is none."""
        return self._persist(lambda: self._offsets(instant))

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
        leader = self._leader(partition)
        with self._connection(leader.address) as connection:

            def ask() -> None:
                size = self._fetch_bytes(until - position)
                connection.send_fetch(self._topic, partition, leader.epoch, position, size)

            ask()
            empty = 0
            while position < until:
                fetched = connection.receive_fetch()
                batches = RecordBatches(fetched.records, position)
                if batches.following == position:
                    if fetched.is_throttled:
                        patience.renew()
                    else:
                        empty += 1
                    if patience.is_over or (empty == EMPTY_ANSWERS and fetched.end >= until):
                        return
                    ask()
                    continue
                self._message_bytes = len(fetched.records) / (batches.following - position)
                empty, position = 0, batches.following
                if position < until:
                    ask()
                yield batches
                patience.renew()

    def _fetch_bytes(self, messages: int) -> int:
        """What to ask for, to get that many and not much that nobody wants; brokers send a batch at least."""
        return min(FETCH_BYTES, int(messages * self._message_bytes * 1.2) + SPARE_BYTES)

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
                isolation_level=0,
                topics=[ListOffsetsRequest.ListOffsetsTopic(name=self._topic, partitions=parts)],
                min_version=1,
            )
            with self._connection(address) as connection:
                answer = connection.ask(request)
            for part in answer.topics[0].partitions:
                raise_for(part.error_code, part.partition_index)
                offsets[part.partition_index] = part.offset
        return offsets

    def _leader(self, partition: int) -> _Leader:
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
        patience = _Patience()
        while True:
            try:
                return act()
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
        timed_out = isinstance(error, RequestTimedOutError)  # kafka-python's word for its own timeouts
        if isinstance(error, BrokerResponseError) and not timed_out:
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
