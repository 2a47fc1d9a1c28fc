"""Reads result blocks from a place in their topic on, with when each was written. Blocking; one thread."""

import logging
import time
from typing import NamedTuple

import msgspec
from kafka import KafkaConsumer, TopicPartition

from dashboard.live.reader import POLL_MS, REQUEST_MS, BrokerLost
from streaming.results import ResultBlock, decode
from streaming.topics import Topics, create_topics

logger = logging.getLogger(__name__)

CHECK_EVERY_SECONDS = 3.0


class Heard(NamedTuple):
    """What one message brought, and when it was written (ms)."""

    at: int
    blocks: list[ResultBlock]


class Results:
    """A consumer without a group: the place is kept with what was made of the results, by whoever reads."""

    def __init__(self, bootstrap_servers: str, topics: Topics) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topics = topics
        self._partition = TopicPartition(topics.results, 0)  # it is made with one partition
        self._consumer: KafkaConsumer | None = None
        self._next_check = 0.0

    @property
    def is_open(self) -> bool:
        return self._consumer is not None

    def open(self, offset: int | None, since: int, most: int | None = None) -> None:
        """Connect and go to the offset; without one, to the first message since that time (ms).

        With `most`, no more than so many messages before the end.
        """
        try:
            self._consumer = consumer = KafkaConsumer(
                bootstrap_servers=self._bootstrap_servers,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",  # where retention has removed what was not read
                max_poll_records=500,
                check_crcs=False,  # in Python it takes longer than all the rest; TCP has checked already
                fetch_max_wait_ms=POLL_MS,
                bootstrap_timeout_ms=REQUEST_MS,
                request_timeout_ms=REQUEST_MS,
                reconnect_backoff_max_ms=1_000,
            )
            if self._topics.results not in consumer.topics():
                create_topics(self._bootstrap_servers, self._topics.shared())
            consumer.assign([self._partition])
            consumer.seek(self._partition, self._start(consumer, offset, since, most))
        except Exception as error:  # kafka-python raises errors of several families here
            self.close()
            raise BrokerLost(f"Results cannot be read at {self._bootstrap_servers}: {error}") from error
        self._next_check = time.monotonic() + CHECK_EVERY_SECONDS

    def _start(self, consumer: KafkaConsumer, offset: int | None, since: int, most: int | None) -> int:
        end: int = consumer.end_offsets([self._partition])[self._partition]
        if offset is not None and offset <= end:
            return offset
        if offset is not None:  # beyond the end: the topic was deleted and made anew
            return int(consumer.beginning_offsets([self._partition])[self._partition])
        at = consumer.offsets_for_times({self._partition: since}).get(self._partition)
        start: int = at.offset if at is not None else end
        return start if most is None else max(start, end - most)

    def poll(self) -> list[Heard]:
        """What has come since the last call, in order; waits a moment when there is nothing."""
        consumer = self._opened()
        try:
            records = consumer.poll(timeout_ms=POLL_MS)
            if time.monotonic() >= self._next_check:
                # An idle poll looks the same with and without a broker; asking for an offset does not.
                consumer.end_offsets([self._partition])
                self._next_check = time.monotonic() + CHECK_EVERY_SECONDS
        except Exception as error:
            self.close()
            raise BrokerLost(f"The broker at {self._bootstrap_servers} no longer answers.") from error
        return [Heard(one.timestamp, _decoded(one.value)) for one in records.get(self._partition, ())]

    @property
    def offset(self) -> int:
        """Of the next message."""
        return int(self._opened().position(self._partition))

    def caught_up(self) -> bool:
        """Whether all that is there now has been read."""
        try:
            end: int = self._opened().end_offsets([self._partition])[self._partition]
        except BrokerLost:
            raise
        except Exception as error:
            self.close()
            raise BrokerLost(f"The broker at {self._bootstrap_servers} no longer answers.") from error
        return self.offset >= end

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _opened(self) -> KafkaConsumer:
        if self._consumer is None:
            raise BrokerLost("The results are not open.")
        return self._consumer


def _decoded(value: bytes) -> list[ResultBlock]:
    try:
        return decode(value)
    except (msgspec.DecodeError, TypeError):
        logger.warning("Skipped a message among the results that is not ours.")
        return []
