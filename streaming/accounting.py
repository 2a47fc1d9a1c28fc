"""What became of every message that was read: accepted, or refused into the dead letters for one reason."""

from base64 import b64encode
from datetime import UTC, datetime
from typing import Literal

import msgspec

Kind = Literal["malformed", "late", "future", "past"]
VALUE_LIMIT = 10_000  # bytes of a refused message that are kept


class Counts(msgspec.Struct, array_like=True):
    """Messages by what became of them: `read` is counted on arrival, the others where it is decided.

    With `removed`, `aborted` and `gaps`, which are not among those read, they add up to the last offset.
    """

    read: int = 0
    accepted: int = 0
    malformed: int = 0
    late: int = 0
    future: int = 0
    past: int = 0
    removed: int = 0  # by Kafka, before they were read
    aborted: int = 0  # by their transactions
    gaps: int = 0  # offsets of no message: marks of transactions, and what compaction left out

    def __add__(self, other: "Counts") -> "Counts":
        mine, theirs = msgspec.structs.astuple(self), msgspec.structs.astuple(other)
        return Counts(*(a + b for a, b in zip(mine, theirs, strict=True)))


class DeadLetter(msgspec.Struct):
    """A message that was refused, with the reason: the dead-letter topic's format, as JSON."""

    source: str
    partition: int
    offset: int
    timestamp: int
    kind: Kind
    reason: str
    value: str | None  # readable; None for a message without a value
    encoding: Literal["utf-8", "base64"] = "utf-8"
    data: str | None = None  # the bytes in base64, where they are not UTF-8 and `value` only looks like them
    note: str | None = None  # says what is missing of a long message


def dead_letter(
    source: str,
    partition: int,
    offset: int,
    timestamp: int,
    kind: Kind,
    reason: str,
    value: bytes | None,
    limit: int = VALUE_LIMIT,
) -> DeadLetter:
    letter = DeadLetter(source, partition, offset, timestamp, kind, reason, None)
    if value is None:
        return letter
    kept = value[:limit]
    if len(kept) < len(value):
        letter.note = f"Only the first {len(kept):,} of {len(value):,} bytes are kept."
    try:
        value.decode("utf-8")
        letter.value = kept.decode("utf-8", errors="ignore")  # the cut may go through a character
    except UnicodeDecodeError:
        letter.value = kept.decode("utf-8", errors="replace")
        letter.encoding = "base64"
        letter.data = b64encode(kept).decode("ascii")
    return letter


def instant(milliseconds: int) -> str:
    """An instant for people; what no calendar holds stays a number."""
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
