"""A topic where it lies, from one time to another: read only, nothing copied, no offset committed."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from streaming.accounting import instant
from streaming.inference import infer
from streaming.kafka_log import LogReader
from streaming.replay.inputs import BATCH_EVENTS, SAMPLE_EVENTS, Batch, UnreadableEvents
from streaming.security import PLAINTEXT
from streaming.sources import READ_COMMITTED, FieldType, Isolation, SourceSpec, TimeUnit
from streaming.task import message_rows
from streaming.watch import TopicView, look

SCHEME = "kafka://"
INFERRED = ("json", "csv", "tsv")  # formats whose fields can be told from the messages
_ADDRESS = re.compile(r"kafka://(?P<servers>[^/\s]+:\d+)/(?P<topic>[^/\s]+)")


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


class _Span:
    """Messages of a topic between two offsets of each partition, read a batch at a time."""

    times: dict[str, TimeUnit] = {}
    stamped = True
    types: dict[str, FieldType]

    def __init__(self, name: str, message_format: str, reader: LogReader, view: TopicView) -> None:
        self.name = name
        self.format = message_format
        self._reader = reader
        self._view = view
        self._take(view.first, view.end)

    def _take(self, starts: dict[int, int], ends: dict[int, int]) -> None:
        first = self._view.first
        self._starts = {part: max(start, first[part]) for part, start in starts.items()}
        self._ends = {part: end for part, end in ends.items() if end > self._starts[part]}
        self.partitions = tuple(sorted(self._ends))
        self.whole = self._starts == first
        self.total = sum(end - self._starts[part] for part, end in self._ends.items())

    def _take_times(self, since: int | None, until: int | None) -> None:
        """From one instant of the messages' timestamps to another; raises where nothing lies between."""
        view = self._view
        starts = view.first if since is None else self._offsets_at(since, view.end)
        ends = view.end if until is None else self._offsets_at(until, view.end)
        self._take(starts, ends)
        if not self.total:
            raise UnreadableEvents(f"The topic “{self.name}” holds no messages{_span(since, until)}.")

    def batches(self, fields: Collection[str], now: int) -> Iterator[Batch]:
        """The same part of every partition in each batch, as the job shares out what it has not read yet."""
        rounds = -(-self.total // BATCH_EVENTS)
        for number in range(rounds):
            portions = {part: self._portion(part, number, rounds) for part in self.partitions}
            found = [
                message_rows(messages, part, now)
                for part, (start, until) in portions.items()
                for messages in self._reader.read(part, start, until, with_aborted=True)
            ]
            if found:
                yield Batch(found, sum(until - self._starts[part] for part, (_, until) in portions.items()))
        self._reader.close()

    def _portion(self, part: int, number: int, rounds: int) -> tuple[int, int]:
        start, size = self._starts[part], self._ends[part] - self._starts[part]
        return start + size * number // rounds, start + size * (number + 1) // rounds

    def _offsets_at(self, instant: int, ends: dict[int, int]) -> dict[int, int]:
        """Of each partition, the first message that is not older."""
        found = self._reader.offsets_at(instant)
        return {part: min(found[part], end) if found[part] >= 0 else end for part, end in ends.items()}


class TopicSpan(_Span):
    """A topic's messages from one instant of their timestamps to another, as far as they are there now."""

    def __init__(
        self,
        address: Address,
        message_format: str,
        since: int | None = None,
        until: int | None = None,
        isolation: Isolation = READ_COMMITTED,
    ) -> None:
        if message_format not in INFERRED:
            raise UnreadableEvents(f"A replay reads topics of {', '.join(INFERRED)}, not {message_format}.")
        place = address.bootstrap_servers, address.topic, PLAINTEXT, isolation
        super().__init__(address.topic, message_format, LogReader(*place), look(*place))
        self._take_times(since, until)
        self.types = self._inferred()

    def _inferred(self) -> dict[str, FieldType]:
        of_each = -(-SAMPLE_EVENTS // len(self.partitions))
        sample: list[bytes] = []
        for part in self.partitions:
            until = min(self._ends[part], self._starts[part] + of_each)
            for messages in self._reader.read(part, self._starts[part], until):
                sample += messages.values.drop_null().to_pylist()
        inference = infer(sample, self.format)
        if not inference.readable:
            kind = self.format.upper()
            raise UnreadableEvents(f"No message of the topic “{self.name}” can be read as {kind}.")
        return dict(inference.schema)


class SourceSpan(_Span):
    """What a source's topic holds, read as the source is: its fields, its format, and what lets us in."""

    def __init__(self, source: SourceSpec) -> None:
        place = source.bootstrap_servers, source.topic, source.security, source.isolation
        super().__init__(source.topic, source.format, LogReader(*place), look(*place))
        self.types = source.types

    def between(self, since: int | None, until: int | None = None) -> "SourceSpan":
        self._take_times(since, until)
        return self

    def newest(self, count: int) -> "SourceSpan":
        """The newest messages, as many of each partition as there are of the others, where it has them."""
        view = self._view
        sizes = {part: end - view.first[part] for part, end in view.end.items()}
        shares = _shared_out(count, sizes)
        self._take({part: end - shares[part] for part, end in view.end.items()}, view.end)
        return self

    def oldest_timestamp(self) -> int | None:
        """When the oldest message that is kept was written (ms); None: there is none."""
        firsts = (
            messages.timestamps[0]
            for part in self.partitions
            for messages in self._reader.read(part, self._starts[part], self._starts[part] + 1)
            if len(messages.timestamps)
        )
        return min(map(int, firsts), default=None)

    def close(self) -> None:
        self._reader.close()


def _shared_out(count: int, sizes: dict[int, int]) -> dict[int, int]:
    """How much each gets, when all get the same as far as they can take it.

    >>> _shared_out(10, {0: 2, 1: 100, 2: 100})
    {0: 2, 1: 4, 2: 4}
    """
    shares: dict[int, int] = {}
    for at, (part, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        shares[part] = min(size, (count - sum(shares.values())) // (len(sizes) - at))
    return shares


def _span(since: int | None, until: int | None) -> str:
    """
    >>> _span(0, None), _span(None, None)
    (' from 1970-01-01T00:00:00.000Z', '')
    """
    told = (f" {word} {instant(at)}" for word, at in (("from", since), ("until", until)) if at is not None)
    return "".join(told)
