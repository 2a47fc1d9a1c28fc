"""Reads results, meters and status from Kafka: from some minutes back, then as they come.

Blocking, and used by one thread at a time (the relay's). No consumer group: nothing is ever committed, and
every web process reads everything.
"""

import logging
import time
from typing import Any

import msgspec
from kafka import KafkaConsumer, TopicPartition

from dashboard.live.hub import Arrivals
from dashboard.live.messages import MeterMessage, StatusMessage
from streaming.results import decode
from streaming.topics import Topics, create_topics

logger = logging.getLogger(__name__)

LOOK_BACK_MS = 15 * 60_000
POLL_MS = 200
CHECK_EVERY_SECONDS = 3.0
REQUEST_MS = 4_000

_meter = msgspec.json.Decoder(MeterMessage)
_status = msgspec.json.Decoder(StatusMessage)


class BrokerLost(ConnectionError):
    """The broker did not answer; the sentence says where it was looked for."""


Places = dict[TopicPartition, int]  # the next offset of each


class Reader:
    """One consumer over the three topics, placed 15 minutes back, or where another one ended."""

    def __init__(self, bootstrap_servers: str, topics: Topics) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._topics = topics
        self._consumer: KafkaConsumer | None = None
        self._ends: Places = {}
        self.places: Places = {}  # how far it has read
        self._next_check = 0.0

    def open(self, places: Places | None = None) -> None:
        """Connect, make the topics where this is a new cluster, and go back in time, or to those places.

        Whichever is further back: after a long sleep of this machine 15 minutes would leave a hole.
        """
        try:
            consumer = KafkaConsumer(
                bootstrap_servers=self._bootstrap_servers,
                group_id=None,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                max_poll_records=1_000,
                check_crcs=False,  # in Python it takes longer than all the rest; TCP has checked already
                fetch_max_wait_ms=POLL_MS,
                bootstrap_timeout_ms=REQUEST_MS,
                request_timeout_ms=REQUEST_MS,
                reconnect_backoff_max_ms=1_000,
            )
        except Exception as error:  # kafka-python raises errors of several families here
            raise BrokerLost(f"No broker answers at {self._bootstrap_servers}.") from error
        self._consumer = consumer
        try:
            self._go_back(consumer, places or {})
        except Exception as error:
            self.close()
            raise BrokerLost(
                f"Millrace’s topics cannot be read at {self._bootstrap_servers}: {error}"
            ) from error

    def _go_back(self, consumer: KafkaConsumer, places: Places) -> None:
        names = (self._topics.results, self._topics.meters, self._topics.status)
        if not set(names) <= consumer.topics():
            create_topics(self._bootstrap_servers, self._topics.shared())
        partitions = [TopicPartition(name, 0) for name in names]  # each is made with one partition
        consumer.assign(partitions)
        self._ends = consumer.end_offsets(partitions)
        since = int(time.time() * 1000) - LOOK_BACK_MS
        offsets = consumer.offsets_for_times(dict.fromkeys(partitions, since))
        for partition in partitions:
            at, end = offsets.get(partition), self._ends[partition]
            back = at.offset if at is not None else end
            known = places.get(partition, back)  # of a topic that was made anew it may lie behind the end
            self.places[partition] = min(back, known) if known <= end else back
            consumer.seek(partition, self.places[partition])
        self._next_check = time.monotonic() + CHECK_EVERY_SECONDS

    def poll(self) -> Arrivals:
        """What has come since the last call; waits a moment when there is nothing."""
        if self._consumer is None:
            raise BrokerLost("The reader is not open.")
        try:
            records = self._consumer.poll(timeout_ms=POLL_MS)
            if time.monotonic() >= self._next_check:
                # An idle poll looks the same with and without a broker; asking for an offset does not.
                self._consumer.end_offsets([next(iter(self._ends))])
                self._next_check = time.monotonic() + CHECK_EVERY_SECONDS
        except Exception as error:
            raise BrokerLost(f"The broker at {self._bootstrap_servers} no longer answers.") from error
        arrivals = Arrivals()
        for partition, messages in records.items():
            for message in messages:
                self._decode(partition.topic, message, arrivals)
                self.places[partition] = message.offset + 1
        return arrivals

    def caught_up(self) -> bool:
        """Whether all that was there when the reader opened has been read."""
        consumer = self._consumer
        return consumer is not None and all(consumer.position(tp) >= end for tp, end in self._ends.items())

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _decode(self, topic: str, message: Any, arrivals: Arrivals) -> None:
        try:
            if topic == self._topics.results:
                arrivals.blocks += decode(message.value)
            elif topic == self._topics.meters:
                arrivals.meters.append(_meter.decode(message.value))
            else:
                arrivals.status.append(_status.decode(message.value))
        except (msgspec.DecodeError, TypeError):
            # Someone else's message on our topic must not end the relay of all the others.
            logger.warning("Skipped a message that is not ours: %s, offset %s.", topic, message.offset)
