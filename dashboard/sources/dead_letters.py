"""Messages that the job refused, as the dead-letter topic holds them, and whether they would be read now."""

import time
from base64 import b64decode
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import msgspec
from django.conf import settings

from dashboard.sources.kafka import Message, consumer_of, reader
from dashboard.sources.models import Source
from dashboard.sources.presentation import TEXT_LENGTH, cut, instant
from dashboard.sources.topic_readings import readings
from dashboard.sources.topic_walk import Walk, extent, read_ranges, topic_extent
from streaming.topics import Topics

MOST_OWN = 2_000  # letters of one source
LOOKED_AT = 20_000  # letters of all sources, to find those
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
class Look:
    """The newest letters of one source, newest first, and how far back among those of all it was looked."""

    letters: list[DeadLetter]  # a message that was refused again has one, the last
    looked_at: int  # letters of all sources
    is_whole: bool  # Kafka keeps no older ones


@dataclass(frozen=True)
class DeadLetters:
    """What the tab shows at once."""

    look: Look
    letters: list[DeadLetter]
    groups: list[tuple[str, int]]  # what they can be filtered by, and how many there are of each

    @property
    def total(self) -> int:
        return len(self.look.letters)


def recent_dead_letters(source_key: str, group: str = "") -> DeadLetters:
    """The newest refused messages of a source; none while the topic does not exist."""
    look = _look(source_key)
    counted = Counter(letter.group for letter in look.letters)
    wanted = [letter for letter in look.letters if not group or letter.group == group]
    return DeadLetters(look, wanted[:SHOWN], counted.most_common())


def find_letter(source_key: str, partition: int, offset: int) -> DeadLetter | None:
    letters = _look(source_key).letters
    return next((one for one in letters if (one.partition, one.offset) == (partition, offset)), None)


def _look(source_key: str) -> Look:
    """All sources share a topic: it is gone back through until enough, time or the topic is up."""
    topic = Topics(settings.TOPIC_PREFIX).dead_letters
    with reader(settings.KAFKA_BOOTSTRAP) as consumer:
        known = topic_extent(consumer, topic)
        if known is None:
            return Look([], 0, is_whole=True)
        walk = Walk(consumer, topic, known.first, known.end, backwards=True, wanted=LOOKED_AT)
        key, found, looked_at = source_key.encode(), dict[tuple[int, int], DeadLetter](), 0
        for message in islice(walk, LOOKED_AT):
            looked_at += 1
            if message.key == key and message.value:
                letter = msgspec.json.decode(message.value, type=DeadLetter)
                found.setdefault((letter.partition, letter.offset), letter)
            if len(found) == MOST_OWN:
                break
    return Look(list(found.values()), looked_at, is_whole=walk.at == known.first)


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
    letters = [letter for letter in _look(source.key).letters if letter.kind != "late"]
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
