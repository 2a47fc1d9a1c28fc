"""Messages that the job refused, as the dead-letter topic holds them."""

from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from django.conf import settings

from dashboard.sources.kafka import KafkaProblem, newest_messages
from dashboard.sources.presentation import TEXT_LENGTH, cut
from streaming.topics import Topics

LOOKED_AT = 500
SHOWN = 50


class DeadLetter(msgspec.Struct, frozen=True):
    """One refused message: where it lies, why it was refused, and what it held."""

    source: str
    partition: int
    offset: int
    timestamp: int | None  # ms
    reason: str
    value: str | None = None
    note: str | None = None  # says what is missing of a long message

    @property
    def time(self) -> datetime | None:
        return None if self.timestamp is None else datetime.fromtimestamp(self.timestamp / 1000, UTC)

    @property
    def text(self) -> str:
        return cut(self.value or "", TEXT_LENGTH)


@dataclass(frozen=True)
class DeadLetters:
    """The newest letters of one source among the last that any source had."""

    letters: list[DeadLetter]
    looked_at: int


def recent_dead_letters(source_key: str) -> DeadLetters:
    """The newest refused messages of a source; none while the topic does not exist."""
    topic = Topics(settings.TOPIC_PREFIX).dead_letters
    try:
        sample = newest_messages(settings.KAFKA_BOOTSTRAP, topic, LOOKED_AT)
    except KafkaProblem as problem:
        if problem.field == "topic":
            return DeadLetters([], 0)
        raise
    own = [
        message.value for message in sample.messages if message.key == source_key.encode() and message.value
    ]
    return DeadLetters([msgspec.json.decode(value, type=DeadLetter) for value in own[:SHOWN]], LOOKED_AT)
