"""Messages as a page shows them: any bytes become readable text, cut to a length that fits."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from dashboard.sources.kafka import Message

KEY_LENGTH = 40
TEXT_LENGTH = 400
PAIRS_SHOWN = 12
VALUE_LENGTH = 60
WHOLE_LENGTH = 8_000


@dataclass(frozen=True)
class Pair:
    """One field of a message: `kind` (number, text, word) chooses its colour."""

    name: str
    value: str
    kind: str


@dataclass(frozen=True)
class ShownMessage:
    """A line of the message table, and the whole message for the details under it."""

    partition: int
    offset: int
    time: datetime
    key: str
    pairs: list[Pair]
    text: str  # where the value is no JSON object
    whole: str
    size: int


def present(message: Message) -> ShownMessage:
    value = _decoded(message.value)
    is_object = isinstance(value, dict)
    return ShownMessage(
        partition=message.partition,
        offset=message.offset,
        time=datetime.fromtimestamp(message.timestamp / 1000, UTC),
        key="" if message.key is None else cut(readable(message.key), KEY_LENGTH),
        pairs=[_pair(name, item) for name, item in list(value.items())[:PAIRS_SHOWN]] if is_object else [],
        text="" if is_object else _text(message.value),
        whole=_whole(message.value, value),
        size=len(message.value or b""),
    )


def readable(data: bytes) -> str:
    """UTF-8 where it is that, else the bytes in hexadecimal."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data[:TEXT_LENGTH].hex(" ")
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in text)


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _decoded(data: bytes | None) -> Any:
    try:
        return msgspec.json.decode(data or b"")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _text(data: bytes | None) -> str:
    if data is None:
        return "tombstone: key deleted, no value"
    return cut(readable(data), TEXT_LENGTH) or "empty"


def _whole(data: bytes | None, value: Any) -> str:
    if isinstance(value, dict | list):
        return cut(msgspec.json.format(msgspec.json.encode(value), indent=2).decode(), WHOLE_LENGTH)
    return cut(readable(data or b""), WHOLE_LENGTH)


def _pair(name: str, value: Any) -> Pair:
    if isinstance(value, str):
        return Pair(name, cut(value, VALUE_LENGTH), "text")
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else "word"
    return Pair(name, cut(msgspec.json.encode(value).decode(), VALUE_LENGTH), kind)
