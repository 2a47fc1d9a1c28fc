"""Messages that the job refused, as the dead-letter topic holds them, and whether they would be read now."""

import time
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.conf import settings

from dashboard.sources.kafka import KafkaProblem, Message, consumer_of, newest_messages
from dashboard.sources.models import Source
from dashboard.sources.presentation import TEXT_LENGTH, cut, instant
from dashboard.sources.topic_readings import readings
from dashboard.sources.topic_walk import extent, read_ranges
from streaming.topics import Topics

LOOKED_AT = 2_000
SHOWN = 100
CHECKED = 100
CHECK_SECONDS = 6.0
KINDS = {"malformed": "malformed", "late": "late", "future": "from the future", "past": "from the far past"}


class DeadLetter(msgspec.Struct, frozen=True):
    """One refused message: where it lies, why it was refused, and what it held."""

    source: str
    partition: int
    offset: int
    timestamp: int | None  # ms
    reason: str
    kind: str = "malformed"
    value: str | None = None
    encoding: str = "utf-8"
    data: str | None = None  # the bytes in base64, where they are no text
    note: str | None = None  # says what is missing of a long message

    @property
    def time(self) -> datetime | None:
        return None if self.timestamp is None else instant(self.timestamp)

    @property
    def text(self) -> str:
        return cut(self.value or "", TEXT_LENGTH)

    @property
    def group(self) -> str:
        """What letters are filtered by: the sentence where it says what is wrong, else the kind."""
        return self.reason if self.kind == "malformed" else KINDS.get(self.kind, self.kind)

    @property
    def kept_bytes(self) -> bytes | None:
        if self.value is None:
            return None
        return b64decode(self.data) if self.data else self.value.encode()


@dataclass(frozen=True)
class DeadLetters:
    """The newest letters of one source among the last that any source had."""

    letters: list[DeadLetter]
    groups: list[tuple[str, int]]  # what they can be filtered by, and how many there are of each
    total: int
    looked_at: int


def recent_dead_letters(source_key: str, group: str = "") -> DeadLetters:
    """The newest refused messages of a source; none while the topic does not exist."""
    own = _own(source_key)
    counted = Counter(letter.group for letter in own)
    wanted = [letter for letter in own if not group or letter.group == group]
    return DeadLetters(wanted[:SHOWN], counted.most_common(), len(own), LOOKED_AT)


def find_letter(source_key: str, partition: int, offset: int) -> DeadLetter | None:
    letters = _own(source_key)
    return next((one for one in letters if (one.partition, one.offset) == (partition, offset)), None)


def _own(source_key: str) -> list[DeadLetter]:
    """Newest first; a message that was refused again has one letter, the last."""
    topic = Topics(settings.TOPIC_PREFIX).dead_letters
    try:
        sample = newest_messages(settings.KAFKA_BOOTSTRAP, topic, LOOKED_AT)
    except KafkaProblem as problem:
        if problem.field == "topic":
            return []
        raise
    key, found = source_key.encode(), dict[tuple[int, int], DeadLetter]()
    for message in sample.messages:
        if message.key == key and message.value:
            letter = msgspec.json.decode(message.value, type=DeadLetter)
            found.setdefault((letter.partition, letter.offset), letter)
    return list(found.values())


@dataclass(frozen=True)
class Verdict:
    """What would become of a refused message today."""

    letter: DeadLetter
    state: str  # read, refused or gone
    reason: str = ""


@dataclass(frozen=True)
class Check:
    """The newest letters, read again from the source's topic with the fields that are saved now."""

    verdicts: list[Verdict]
    total: int

    def count(self, state: str) -> int:
        return sum(verdict.state == state for verdict in self.verdicts)

    @property
    def read(self) -> int:
        return self.count("read")

    @property
    def gone(self) -> int:
        return self.count("gone")


def check_again(source: Source) -> Check:
    """Late ones are left out: whether a message is late does not depend on how it is read."""
    letters = [letter for letter in _own(source.key) if letter.kind != "late"]
    looked_for, originals = _originals(source, letters[:CHECKED])
    made = readings(source, list(originals.values()))
    judged = dict(zip(originals, made, strict=True))
    verdicts = []
    for letter in looked_for:
        reading = judged.get((letter.partition, letter.offset))
        if reading is None:
            verdicts.append(Verdict(letter, "gone", "Kafka no longer keeps the message."))
        elif reading.kind and reading.kind != "late":
            verdicts.append(Verdict(letter, "refused", reading.reason))
        else:
            verdicts.append(Verdict(letter, "read"))
    return Check(verdicts, len(letters))


def _originals(
    source: Source, letters: list[DeadLetter]
) -> tuple[list[DeadLetter], dict[tuple[int, int], Message]]:
    """The letters that there was time for, and the messages themselves, as far as the topic has them."""
    looked_for: list[DeadLetter] = []
    found: dict[tuple[int, int], Message] = {}
    deadline = time.monotonic() + CHECK_SECONDS
    with consumer_of(source) as consumer:
        known = extent(consumer, source)
        for letter in letters:
            part, offset = letter.partition, letter.offset
            if part in known.end and known.first[part] <= offset < known.end[part]:
                ranges = {part: range(offset, offset + 1)}
                messages, complete = read_ranges(consumer, source.topic, ranges, deadline)
                if not complete:
                    break
                found.update(((part, offset), message) for message in messages[part])
            looked_for.append(letter)
    return looked_for, found
