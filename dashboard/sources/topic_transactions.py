"""Which partitions an open transaction holds back: committed messages are read up to where it begins."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError

from dashboard.sources.kafka import TopicReader
from dashboard.sources.models import Source
from dashboard.sources.presentation import instant
from streaming.sources import READ_COMMITTED


@dataclass(frozen=True)
class Held:
    """What waits in a partition for the end of a transaction."""

    offsets: int
    since: datetime | None  # when the transaction began; None: nobody says
    transaction: str  # its transactional id; empty: not known


def held_back(
    consumer: TopicReader, admin: KafkaAdminClient, source: Source, ends: dict[int, int]
) -> dict[int, Held]:
    """By partition, where one is held back; `ends` are those up to which committed messages are read."""
    if source.isolation != READ_COMMITTED:
        return {}
    parts = {TopicPartition(source.topic, number): OffsetSpec.LATEST for number in ends}
    try:
        whole = {part.partition: at.offset for part, at in admin.list_partition_offsets(parts).items()}
    except KafkaError:
        return {}
    held = {number: whole.get(number, end) - end for number, end in ends.items()}
    return {
        number: _held(consumer, admin, source, TopicPartition(source.topic, number), ends[number], waiting)
        for number, waiting in held.items()
        if waiting > 0
    }


def _held(
    consumer: TopicReader,
    admin: KafkaAdminClient,
    source: Source,
    part: TopicPartition,
    end: int,
    waiting: int,
) -> Held:
    name, began = next(_described(admin, part), ("", None))
    if began is None:  # not allowed to ask, or the cluster is older than Kafka 3.0
        first = range(end, end + 1)
        messages = consumer.messages(source.topic, part.partition, first, "read_uncommitted")
        began = next((message.timestamp for message in messages), None)
    return Held(waiting, None if began is None else instant(began), name)


def _described(admin: KafkaAdminClient, part: TopicPartition) -> Iterator[tuple[str, int]]:
    """The oldest open transaction in a partition, and when it began (ms), as far as the cluster tells."""
    try:
        producers = admin.describe_producers([part])[part].active_producers
        writing = [each for each in producers if each.current_transaction_start_offset >= 0]
        oldest = min(writing, key=lambda each: each.current_transaction_start_offset, default=None)
        if oldest is None:
            return
        listed = admin.list_transactions(producer_id_filters=[oldest.producer_id])
        names = [found.transactional_id for of_broker in listed.values() for found in of_broker]
        for name, found in admin.describe_transactions(names).items():
            if found.transaction_start_time_ms > 0:
                yield name, found.transaction_start_time_ms
    except KafkaError:
        return
