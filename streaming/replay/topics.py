"""A topic where it lies, from one time to another: read only, nothing copied, no offset committed."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from optimizer.durations import InvalidDuration, parse_duration
from streaming.accounting import instant
from streaming.inference import infer
from streaming.kafka_log import LogReader
from streaming.replay.inputs import BATCH_EVENTS, SAMPLE_EVENTS, Batch, UnreadableEvents, rows
from streaming.sources import FieldType, TimeUnit
from streaming.watch import look

SCHEME = "kafka://"
INFERRED = ("json", "csv", "tsv")  # formats whose fields can be told from the messages
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
        self._reader = LogReader(address.bootstrap_servers, address.topic)
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
        """The same part of every partition in each batch, as the job shares out what it has not read yet."""
        rounds = -(-self.total // BATCH_EVENTS)
        for number in range(rounds):
            portions = {part: self._portion(part, number, rounds) for part in self.partitions}
            found = [
                rows(messages.values, part, messages.offsets, messages.timestamps, now)
                for part, (start, until) in portions.items()
                for messages in self._reader.read(part, start, until)
            ]
            if found:
                yield Batch(found, sum(until - self._starts[part] for part, (_, until) in portions.items()))
        self._reader.close()

    def _portion(self, part: int, number: int, rounds: int) -> tuple[int, int]:
        start, size = self._starts[part], self._ends[part] - self._starts[part]
        return start + size * number // rounds, start + size * (number + 1) // rounds

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

    def _offsets_at(self, instant: int, ends: dict[int, int]) -> dict[int, int]:
        """Of each partition, the first message that is not older."""
        found = self._reader.offsets_at(instant)
        return {part: min(found[part], end) if found[part] >= 0 else end for part, end in ends.items()}


def _span(since: int | None, until: int | None) -> str:
    """
    >>> _span(0, None), _span(None, None)
    (' from 1970-01-01T00:00:00.000Z', '')
    """
    told = (f" {word} {instant(at)}" for word, at in (("from", since), ("until", until)) if at is not None)
    return "".join(told)
