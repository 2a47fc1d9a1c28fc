"""A topic's log, read as fast as brokers send it: raw batches, compiled parsing, the next fetch under way.

A process keeps its `LogReader`, and so its connections, from batch to batch. Of transactions only those that
were committed are read, up to where the oldest open one begins, unless the reader is to read uncommitted.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from kafka.errors import KafkaError, OffsetOutOfRangeError

from streaming.kafka_connection import FETCH_BYTES
from streaming.kafka_topic import Patience, TopicClient
from streaming.reach import SourceProblem
from streaming.record_batches import Damaged, Messages, Record, RecordBatches
from streaming.security import PLAINTEXT, Security
from streaming.sources import READ_COMMITTED, Isolation

SPARE_BYTES = 64 << 10  # asked for on top of what messages should take
EMPTY_ANSWERS = 3  # in a row, though the log goes on: nothing is left up to its end

T = TypeVar("T")


class LogReader(TopicClient):
    """Reads one topic; raises SourceProblem when it cannot. `client_options` are kafka-python's."""

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        security: Security = PLAINTEXT,
        isolation: Isolation = READ_COMMITTED,
        message_bytes: float = FETCH_BYTES,
        **client_options: Any,
    ) -> None:
        super().__init__(bootstrap_servers, topic, security, isolation, **client_options)
        self._message_bytes = message_bytes  # as Kafka stores messages, by the last answer

    def read(self, partition: int, start: int, until: int, with_aborted: bool = False) -> Iterator[Messages]:
        """Messages with start ≤ offset < until, in log order; those of aborted transactions are marked.

        What retention has removed is left out, and so is what a topic made anew does not have.
        """
        return self._read(partition, start, until, partial(RecordBatches.messages, with_aborted=with_aborted))

    def records(self, partition: int, start: int, until: int) -> Iterator[Record]:
        """The same with keys and headers, one by one, for few of them; also those that were aborted."""
        return self._read(partition, start, until, RecordBatches.records)

    def _read(
        self, partition: int, start: int, until: int, take: Callable[[RecordBatches, int, int], Iterator[T]]
    ) -> Iterator[T]:
        position, patience = start, Patience()
        while position < until:
            try:
                with closing(self._fetch(partition, position, until, patience)) as answers:
                    for batches in answers:
                        first, position = position, batches.following
                        yield from take(batches, first, until)
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
        self, partition: int, position: int, until: int, patience: Patience
    ) -> Generator[RecordBatches, None, None]:
        """What the leader sends; while one answer is worked on, the next is on its way."""
        leader = self._leader(partition)
        with self._connection(leader.address) as connection:

            def ask() -> None:
                size = self._fetch_bytes(until - position)
                connection.send_fetch(self._topic, partition, leader.epoch, position, size, self._isolation)

            ask()
            empty = 0
            while position < until:
                fetched = connection.receive_fetch()
                batches = RecordBatches(fetched.records, position, fetched.aborted)
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


_readers: dict[tuple[str, str, Isolation], tuple[Security, LogReader]] = {}


def reader(
    bootstrap_servers: str,
    topic: str,
    security: Security = PLAINTEXT,
    isolation: Isolation = READ_COMMITTED,
) -> LogReader:
    """This process's reader of a topic; a cluster that lets us in otherwise than before is dialled anew."""
    key = (bootstrap_servers, topic, isolation)
    used, known = _readers.get(key, (security, None))
    if known is None or used != security:
        if known is not None:
            known.close()
        known = LogReader(bootstrap_servers, topic, security, isolation)
        _readers[key] = (security, known)
    return known
