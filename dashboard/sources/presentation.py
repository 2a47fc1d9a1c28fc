"""Messages as a page shows them: any bytes become readable text, cut to a length that fits."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec

from dashboard.sources.kafka import Message
from dashboard.sources.topic_readings import Reading

KEY_LENGTH = 40
TEXT_LENGTH = 400
PAIRS_SHOWN = 12
VALUE_LENGTH = 60
WHOLE_LENGTH = 8_000
PARSED_BYTES = 256 << 10  # of a message that is taken apart for one line
PRINTED_BYTES = 256 << 10  # of a message that the inspector shows
DUMPED_BYTES = 8 << 10  # of a message that it shows byte by byte
# Numbers keep all their digits, as they are written.
_READ = msgspec.json.Decoder(float_hook=Decimal)
_WRITE = msgspec.json.Encoder(decimal_format="number")


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


def present(message: Message, legible: bytes | None) -> ShownMessage:
    """`legible` is the message's value as people read it."""
    value = _decoded(legible)
    is_object = isinstance(value, dict)
    return ShownMessage(
        partition=message.partition,
        offset=message.offset,
        time=datetime.fromtimestamp(message.timestamp / 1000, UTC),
        key="" if message.key is None else cut(readable(message.key), KEY_LENGTH),
        pairs=[_pair(name, item) for name, item in list(value.items())[:PAIRS_SHOWN]] if is_object else [],
        text="" if is_object else message.problem or _text(legible),
        whole=_whole(legible, value),
        size=len(message.value or b""),
    )


@dataclass(frozen=True)
class Line:
    """A message on one line of the messages tab."""

    partition: int
    offset: int
    time: datetime | None  # of the event where it is known, else of the message
    is_event_time: bool
    key: str | None
    pairs: list[Pair]
    text: str  # where the value is no object
    chip: str  # why it is refused, or which field has no value
    reason: str
    kind: str
    is_aborted: bool  # by its transaction: it counts nowhere


def line_of(message: Message, legible: bytes | None, reading: Reading, event_time: str | None) -> Line:
    """The event time has a column of its own and is none of the pairs."""
    small = legible is not None and len(legible) <= PARSED_BYTES
    value = _decoded(legible) if small else None
    items = value if isinstance(value, dict) and value else _known(reading)
    shown = {name: item for name, item in items.items() if name != event_time or reading.time is None}
    return Line(
        partition=message.partition,
        offset=message.offset,
        time=instant(message.timestamp if reading.time is None else reading.time),
        is_event_time=reading.time is not None,
        key=None if message.key is None else cut(readable(message.key), KEY_LENGTH),
        pairs=[_pair(name, item) for name, item in list(shown.items())[:PAIRS_SHOWN]],
        text="" if items or message.problem else _text(legible),
        chip=cut(reading.chip, VALUE_LENGTH),
        reason=reading.sentence,
        kind=reading.kind,
        is_aborted=message.is_aborted,
    )


def _known(reading: Reading) -> dict[str, Any]:
    """The fields of a message that is no JSON: whole numbers are read as such."""
    return {name: plain(value) for name, value in reading.values.items() if value is not None}


def plain(value: Any) -> Any:
    """A field's value as it is written: the engine holds whole numbers as 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def instant(milliseconds: int) -> datetime | None:
    """None where there is no time, or none that a calendar holds."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds >= 0 else None
    except (OverflowError, ValueError, OSError):
        return None


@dataclass(frozen=True)
class Printed:
    """A value as the inspector prints it; `note` says what is missing."""

    text: str
    kind: str  # json, text, bytes, tombstone, empty or unread
    note: str = ""


def printed(value: bytes | None) -> Printed:
    if value is None:
        return Printed("", "tombstone")
    if not value:
        return Printed("", "empty")
    cut_off = _only(PRINTED_BYTES, value)
    whole = _decoded(value) if not cut_off else None
    if isinstance(whole, dict | list):
        return Printed(msgspec.json.format(_WRITE.encode(whole), indent=2).decode(), "json")
    try:
        value.decode()
    except UnicodeDecodeError:
        return Printed(hex_dump(value), "bytes", _only(DUMPED_BYTES, value))
    return Printed(readable(value[:PRINTED_BYTES].decode(errors="ignore").encode()), "text", cut_off)


def hex_dump(value: bytes) -> str:
    """Sixteen bytes a line: place, bytes, characters."""
    starts = range(0, min(len(value), DUMPED_BYTES), 16)
    lines = [(start, value[start : start + 16]) for start in starts]
    return "\n".join(f"{start:06x}  {data.hex(' '):<47}  {_characters(data)}" for start, data in lines)


def dumped(value: bytes | None) -> Printed:
    return (
        Printed("", "empty") if not value else Printed(hex_dump(value), "bytes", _only(DUMPED_BYTES, value))
    )


def _only(shown: int, value: bytes) -> str:
    return f"Only the first {shown:,} of {len(value):,} bytes are shown." if len(value) > shown else ""


def _characters(data: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)


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
        return _READ.decode(data or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _text(data: bytes | None) -> str:
    if data is None:
        return "tombstone: key deleted, no value"
    return cut(readable(data), TEXT_LENGTH) or "empty"


def _whole(data: bytes | None, value: Any) -> str:
    if isinstance(value, dict | list):
        return cut(msgspec.json.format(_WRITE.encode(value), indent=2).decode(), WHOLE_LENGTH)
    return cut(readable(data or b""), WHOLE_LENGTH)


def _pair(name: str, value: Any) -> Pair:
    if isinstance(value, str):
        return Pair(name, cut(value, VALUE_LENGTH), "text")
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return Pair(name, cut(_WRITE.encode(value).decode(), VALUE_LENGTH), "number" if is_number else "word")
