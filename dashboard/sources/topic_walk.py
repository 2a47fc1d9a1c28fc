"""Walking through a topic for a page: forwards or backwards, all partitions in order of their timestamps.

Messages are read in small pieces as they are needed, so that one page of a huge topic, or of huge messages,
costs no more than a page. Nothing is committed.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kafka import TopicPartition

from dashboard.sources.kafka import KafkaProblem, Message, TopicReader
from dashboard.sources.models import Source

WALK_SECONDS = 6.0
PIECE_BYTES = 32 << 20  # of messages that are held in memory at once
SMALLEST_PIECE, LARGEST_PIECE = 5, 1_000

Places = dict[int, int]  # an offset in every partition


@dataclass(frozen=True)
class Extent:
    """What a topic holds: by partition, the oldest offset that is kept, and the next that will be given."""

    first: Places
    end: Places

    @property
    def kept(self) -> int:
        return sum(self.end[part] - self.first[part] for part in self.end)


def extent(consumer: TopicReader, source: Source) -> Extent:
    """Refuses a topic that does not exist."""
    known = topic_extent(consumer, source.topic)
    if known is None:
        raise KafkaProblem(
            "topic",
            f"There is no topic “{source.topic}” on {source.bootstrap_servers}, "
            "or this connection may not see it.",
        )
    return known


def topic_extent(consumer: TopicReader, topic: str) -> Extent | None:
    """None: there is no such topic, or it may not be seen."""
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        return None
    parts = [TopicPartition(topic, number) for number in sorted(numbers)]
    first, end = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
    return Extent({p.partition: first[p] for p in parts}, {p.partition: end[p] for p in parts})


class Walk:
    """Iterates over the messages between two places; `at` is how far it has come, by partition."""

    def __init__(
        self,
        consumer: TopicReader,
        topic: str,
        low: Mapping[int, int],
        high: Mapping[int, int],
        *,
        backwards: bool,
        wanted: int,
        with_aborted: bool = False,
    ) -> None:
        self._consumer, self._topic = consumer, topic
        self._low, self._high = dict(low), dict(high)
        self._backwards, self._with_aborted = backwards, with_aborted
        self._piece = min(LARGEST_PIECE, max(SMALLEST_PIECE, 2 * wanted // max(1, len(low))))
        self._fetched = dict(high if backwards else low)
        self.at = dict(self._fetched)
        self._waiting: dict[int, deque[Message]] = {part: deque() for part in self.at}
        self._deadline = time.monotonic() + WALK_SECONDS
        self.out_of_time = False

    def __iter__(self) -> Iterator[Message]:
        while self._fill() and (heads := [queue[0] for queue in self._waiting.values() if queue]):
            choose = max if self._backwards else min
            head = choose(heads, key=lambda message: message.timestamp)
            self._waiting[head.partition].popleft()
            self.at[head.partition] = head.offset if self._backwards else head.offset + 1
            yield head
        if not self.out_of_time and not any(self._waiting.values()):
            self.at = dict(self._fetched)  # the last of them may have been removed by compaction

    def _fill(self) -> bool:
        """Read on wherever nothing waits, else the order would not hold; False when time is up."""
        while ranges := self._missing():
            if time.monotonic() > self._deadline:
                self.out_of_time = True
                return False
            found, complete = read_ranges(
                self._consumer, self._topic, ranges, self._deadline, self._with_aborted
            )
            if complete:
                self._take(ranges, found)
            elif self._piece == 1:
                self.out_of_time = True
                return False
            else:  # they are large: fewer at a time
                self._piece = max(1, self._piece // 8)
        return True

    def _missing(self) -> dict[int, range]:
        ranges = {}
        for part, queue in self._waiting.items():
            at = self._fetched[part]
            if self._backwards:
                piece = range(max(self._low[part], at - self._piece), at)
            else:
                piece = range(at, min(self._high[part], at + self._piece))
            if not queue and piece:
                ranges[part] = piece
        return ranges

    def _take(self, ranges: dict[int, range], found: dict[int, list[Message]]) -> None:
        for part, piece in ranges.items():
            messages = found.get(part, [])
            self._waiting[part].extend(reversed(messages) if self._backwards else messages)
            self._fetched[part] = piece.start if self._backwards else piece.stop


def read_ranges(
    consumer: TopicReader,
    topic: str,
    ranges: Mapping[int, range],
    deadline: float,
    with_aborted: bool = False,
) -> tuple[dict[int, list[Message]], bool]:
    """The messages of these ranges, in order, and whether those are all: time and memory are bounded."""
    found: dict[int, list[Message]] = {number: [] for number in ranges}
    held = 0
    for number, piece in ranges.items():
        for message in consumer.messages(topic, number, piece):
            if held > PIECE_BYTES or time.monotonic() > deadline:
                return found, False
            if message.is_aborted and not with_aborted:
                continue
            found[number].append(message)
            held += len(message.value or b"") if len(piece) > 1 else 0
    return found, True


def read_one(consumer: TopicReader, source: Source, partition: int, offset: int) -> Message:
    """One message, or in words why it cannot be had."""
    known = extent(consumer, source)
    if partition not in known.end:
        raise KafkaProblem("topic", f"{source.topic} has no partition {partition}.")
    if offset >= known.end[partition]:
        raise KafkaProblem("topic", f"Partition {partition} ends before offset {offset:,}.")
    if offset < known.first[partition]:
        oldest = known.first[partition]
        raise KafkaProblem("topic", f"Kafka no longer keeps offset {offset:,}: the oldest is {oldest:,}.")
    ranges = {partition: range(offset, offset + 1)}
    deadline = time.monotonic() + WALK_SECONDS
    found, _ = read_ranges(consumer, source.topic, ranges, deadline, with_aborted=True)
    if not found[partition]:
        sentence = f"Offset {offset:,} holds no message: it is the mark of a transaction, or was compacted."
        raise KafkaProblem("topic", sentence)
    return found[partition][0]
