"""A topic where it lies, from one time to another: read only, nothing copied, no offset committed."""

import gc
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from optimizer.durations import InvalidDuration, parse_duration
from streaming.accounting import instant
from streaming.inference import infer
from streaming.replay.inputs import BATCH_EVENTS, SAMPLE_EVENTS, Batch, UnreadableEvents, rows
from streaming.sources import FieldType, TimeUnit
from streaming.watch import look

SCHEME = "kafka://"
MESSAGES_AT_ONCE = 50_000
ANSWER_SECONDS = 30.0  # without a message, and the cluster counts as gone
INFERRED = ("json", "csv", "tsv")  # formats whose fields can be told from the messages
Message = Any  # by its type one could lack its partition and offset, but none that was consumed does
_ADDRESS = re.compile(r"kafka://(?P<servers>[^/\s]+:\d+)/(?P<topic>[^/\s]+)")
_AGO = re.compile(r"now(?:\s*-\s*(?P<ago>.+))?")


@dataclass(frozen=True)
class Address:
    bootstrap_servers: str
    topic: str

    @classmethod
    def parse(cls, text: str) -> "Address":
        """
        >>> Address.parse("kafka://a:9092,b:9092/clicks")
        Address(bootstrap_servers='a:9092,b:9092', topic='clicks')
        """
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise UnreadableEvents(f"“{text}” is not a topic: write it as kafka://HOST:PORT/TOPIC.")
        return cls(found["servers"], found["topic"])


def parse_instant(text: str, now: int) -> int:
    """Milliseconds since the epoch of an ISO time (UTC where it names no zone), `now` or `now-15m`.

    >>> parse_instant("1970-01-01T00:01:00", 0), parse_instant("now-15m", 1_000_000)
    (60000, 100000)
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago is not None:
            return now - (parse_duration(ago["ago"]) if ago["ago"] else 0)
        moment = datetime.fromisoformat(text.strip())
    except (InvalidDuration, ValueError) as error:
        raise UnreadableEvents(
            f"“{text}” is not a time: write it as 2026-01-31T12:00, with a zone (UTC if none), or now-15m."
        ) from error
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


class TopicSpan:
    """A topic's messages from one instant of their timestamps to another, as far as they are there now."""

    times: dict[str, TimeUnit] = {}
    stamped = True

    def __init__(
        self, address: Address, message_format: str, since: int | None = None, until: int | None = None
    ) -> None:
        if message_format not in INFERRED:
            raise UnreadableEvents(f"A replay reads topics of {', '.join(INFERRED)}, not {message_format}.")
        self.name = address.topic
        self.format = message_format
        self._address = address
        view = look(address.bootstrap_servers, address.topic)
        starts = view.first if since is None else self._offsets_at(since, view.end)
        ends = view.end if until is None else self._offsets_at(until, view.end)
        self._starts = {part: max(start, view.first[part]) for part, start in starts.items()}
        self._ends = {part: end for part, end in ends.items() if end > self._starts[part]}
        self.partitions = tuple(sorted(self._ends))
        self.whole = self._starts == view.first
        self.total = sum(end - self._starts[part] for part, end in self._ends.items())
        if not self.total:
            raise UnreadableEvents(f"The topic “{address.topic}” holds no messages{_span(since, until)}.")
        self.types = self._inferred()

    def batches(self, fields: Collection[str], now: int) -> Iterator[Batch]:
        waiting: list[pa.RecordBatch] = []
        positions = dict(self._starts)
        for messages in self._read():
            for partition, part in messages.apart():
                waiting.append(rows(part.values, partition, part.offsets, part.timestamps, now))
                positions[partition] = int(part.offsets[-1]) + 1
            if sum(map(len, waiting)) >= BATCH_EVENTS:
                yield Batch(waiting, self._done(positions))
                waiting = []
        if waiting:
            yield Batch(waiting, self.total)

    def _done(self, positions: dict[int, int]) -> int:
        return sum(position - self._starts[part] for part, position in positions.items())

    def _inferred(self) -> dict[str, FieldType]:
        sample: list[bytes] = []
        for messages in self._read():
            sample += messages.values.drop_null().to_pylist()
            if len(sample) >= SAMPLE_EVENTS:
                break
        inference = infer(sample[:SAMPLE_EVENTS], self.format)
        if not inference.readable:
            kind = self.format.upper()
            raise UnreadableEvents(f"No message of the topic “{self.name}” can be read as {kind}.")
        return dict(inference.schema)

    def _read(self) -> Iterator["_Messages"]:
        """All messages, as they come."""
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(self.name, part, self._starts[part]) for part in self._ends])
            unread, heard = set(self._ends), time.monotonic()
            while unread:
                messages = self._consumed(consumer, unread)
                if messages is not None:
                    heard = time.monotonic()
                    yield messages
                elif time.monotonic() - heard > ANSWER_SECONDS:
                    servers = self._address.bootstrap_servers
                    raise UnreadableEvents(f"The Kafka cluster at {servers} has stopped answering.")
        finally:
            consumer.close()

    def _consumed(self, consumer: Consumer, unread: set[int]) -> "_Messages | None":
        """The next messages; None if there were none in a while.

        The collector rests meanwhile: going over so many objects for cycles takes as long as all the rest.
        """
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            found = consumer.consume(MESSAGES_AT_ONCE, timeout=0.2)
            return self._taken(found, unread) if found else None
        finally:
            if was_enabled:
                gc.enable()

    def _taken(self, found: list[Message], unread: set[int]) -> "_Messages":
        """The messages of the span; partitions that have come to their end are crossed off."""
        messages = _Messages.of([message for message in found if message.error() is None])
        reached = {part: int(each.offsets[-1]) + 1 for part, each in messages.apart()}
        for message in found if len(messages.values) < len(found) else ():
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise UnreadableEvents(f"The topic “{self.name}” cannot be read: {error.str()}.")
            if error is not None:  # the last offsets may hold no message: transactions, compaction
                reached[message.partition()] = message.offset()
        unread -= {part for part, offset in reached.items() if offset >= self._ends[part]}
        ends = np.zeros(1 + max(self._ends), np.int64)
        ends[list(self._ends)] = list(self._ends.values())
        return messages.only(messages.offsets < ends[messages.partitions])

    def _offsets_at(self, instant: int, ends: dict[int, int]) -> dict[int, int]:
        """Of each partition, the first message that is not older."""
        consumer = self._consumer()
        asked = [TopicPartition(self.name, part, instant) for part in ends]
        try:
            found = consumer.offsets_for_times(asked, timeout=ANSWER_SECONDS)
        except KafkaException as error:
            reason = error.args[0].str()
            raise UnreadableEvents(f"The topic “{self.name}” cannot be searched: {reason}.") from error
        finally:
            consumer.close()
        return {at.partition: min(at.offset, ends[at.partition]) if at.offset >= 0 else ends[at.partition]
                for at in found}  # fmt: skip

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._address.bootstrap_servers,
                "group.id": "millrace-replay",  # the library wants one; it is never joined
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_uncommitted",  # as the job reads
                "allow.auto.create.topics": False,
                "queued.min.messages": 500_000,
                "queued.max.messages.kbytes": 256 << 10,
                "fetch.wait.max.ms": 10,
                "log_level": 0,
            }
        )


@dataclass(frozen=True)
class _Messages:
    """Messages in columns."""

    partitions: np.ndarray
    offsets: np.ndarray
    timestamps: np.ndarray
    values: pa.Array

    @classmethod
    def of(cls, messages: list[Message]) -> "_Messages":
        return cls(
            np.array([message.partition() for message in messages], np.int64),
            np.array([message.offset() for message in messages], np.int64),
            np.array([message.timestamp()[1] for message in messages], np.int64),
            pa.array([message.value() for message in messages], pa.binary()),
        )

    def apart(self) -> Iterator[tuple[int, "_Messages"]]:
        """Partition by partition: a map task judges each by itself, in the order of its log."""
        for partition in np.unique(self.partitions).tolist():
            yield partition, self.only(self.partitions == partition)

    def only(self, kept: np.ndarray) -> "_Messages":
        if kept.all():
            return self
        columns = (self.partitions[kept], self.offsets[kept], self.timestamps[kept])
        return _Messages(*columns, self.values.filter(pa.array(kept)))


def _span(since: int | None, until: int | None) -> str:
    """
    >>> _span(0, None), _span(None, None)
    (' from 1970-01-01T00:00:00.000Z', '')
    """
    told = (f" {word} {instant(at)}" for word, at in (("from", since), ("until", until)) if at is not None)
    return "".join(told)
