"""What messages hold: the fields with their types, and which of them can tell the event time."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from statistics import median
from typing import Any

import msgspec

from streaming.decimals import decimal_of, places_of
from streaming.sources import FieldType, TimeUnit

EXAMPLE_LENGTH = 80
MOST_DEPTH = 8  # of objects within objects that are looked into
MOST_DIGITS = 400  # of a number: the greatest has 309
_KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "text",
    dict: "object",
    list: "list",
    bytes: "bytes",
}
_WORDS = {
    "object": "an object",
    "list": "a list",
    "bytes": "bytes",
    "text": "text",
    "number": "numbers",
    "boolean": "true or false",
}
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")  # 007 is a name
_TIME_NAMES = ("timestamp", "event_time", "eventtime", "ts", "time", "occurred_at", "created_at", "date")
_UNITS_PER_SECOND: dict[TimeUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_JSON = msgspec.json.Encoder(decimal_format="number")
# A number is taken for a time if it lies between these instants in some unit; the spans do not overlap.
_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
_LATEST = datetime(2100, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class InferredField:
    """One field of the messages; `type` is None where it cannot be used, and `note` says why."""

    name: str
    type: FieldType | None
    missing: float  # share of messages in which it is absent or null
    example: str
    note: str = ""
    time_unit: TimeUnit | None = None  # the unit if its values look like instants


MOST_EXACT = 2**53  # beyond it floats, which all numbers are to queries, skip whole numbers
INEXACT = (
    f"Holds whole numbers beyond {MOST_EXACT:,}, which become the nearest that 64-bit floats have: "
    "identifiers so long are told apart as texts only."
)
ODD_NAME = "Its name has a quote or a backslash, so it cannot be used."


@dataclass(frozen=True)
class Inference:
    """The fields in the order in which they first appear, and how many messages could be read."""

    fields: tuple[InferredField, ...]
    messages: int
    readable: int

    @property
    def schema(self) -> list[tuple[str, FieldType]]:
        return [(field.name, field.type) for field in self.fields if field.type is not None]

    @property
    def event_time(self) -> InferredField | None:
        """The field that most likely holds the event time."""
        candidates = [field for field in self.fields if field.time_unit is not None]
        return min(candidates, key=lambda field: _name_rank(field.name), default=None)


def infer(values: Sequence[bytes | None], message_format: str = "json") -> Inference:
    """Fields and types of a sample of messages, newest first; what is no object or record is left out."""
    if message_format in _DELIMITERS:
        objects: list[Any] = _records(values, _DELIMITERS[message_format])
    else:
        objects = [_decode(value) for value in values]
    return infer_objects(objects, len(values))


def infer_objects(objects: Iterable[dict[str, Any] | None], messages: int) -> Inference:
    """The same of messages that were decoded; None is one that could not be."""
    readable = [item for item in objects if item is not None]
    fields: dict[str, InferredField] = {}
    for field in _fields(readable, ""):
        fields.setdefault(field.name, field)
    return Inference(tuple(fields.values()), messages, len(readable))


def _fields(objects: list[dict[str, Any]], path: str) -> Iterator[InferredField]:
    """Fields by their paths: what is always an object is looked into."""
    for name in dict.fromkeys(name for item in objects for name in item):
        values = [item.get(name) for item in objects]
        present = [value for value in values if value is not None]
        is_object = any(present) and all(isinstance(value, dict) for value in present)
        if has_odd_characters(name):
            example = _example(present[0]) if present else "null"
            yield InferredField(path + name, None, 0.0, example, ODD_NAME)
        elif path and "." in name:
            example = _example(present[0]) if present else "null"
            yield InferredField(
                path + name, None, 0.0, example, "Its name has a dot, so no path leads to it."
            )
        elif is_object and path.count(".") < MOST_DEPTH:
            yield from _fields([value or {} for value in values], f"{path}{name}.")
        else:
            yield _field(path + name, values)


def has_odd_characters(name: str) -> bool:
    """Whether a name has what JSON writes otherwise than it is: no reader looks for such a key.

    >>> has_odd_characters('5" pipes'), has_odd_characters("room temperature, °C")
    (True, False)
    """
    return any(character in '"\\' or character < " " for character in name)


def _decode(value: bytes | None) -> dict[str, Any] | None:
    try:
        item = msgspec.json.decode(value or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return item if isinstance(item, dict) else None


def _records(values: Sequence[bytes | None], delimiter: str) -> list[dict[str, Any]]:
    """Records as objects with numbered columns; those with more or fewer columns than most are left out."""
    records = [record for record in (_record(value or b"", delimiter) for value in values) if record]
    if not records:
        return []
    usual, _ = Counter(map(len, records)).most_common(1)[0]
    columns = zip(*(record for record in records if len(record) == usual), strict=True)
    named = {f"column_{number}": _column(list(texts)) for number, texts in enumerate(columns, 1)}
    return [dict(zip(named, item, strict=True)) for item in zip(*named.values(), strict=True)]


def _record(value: bytes, delimiter: str) -> list[str] | None:
    try:
        lines = io.StringIO(value.decode(), newline="")
        records = [record for record in csv.reader(lines, delimiter=delimiter, strict=True) if record]
    except (UnicodeDecodeError, csv.Error):
        return None
    return records[0] if len(records) == 1 else None


def _column(texts: list[str]) -> list[Any]:
    """The values of a column; where most are no numbers and no truth values, all are texts."""
    values = [_value(text) for text in texts]
    present = [value for value in values if value is not None]
    if present and _kind(present)[0] == "text":
        return [text or None for text in texts]
    return values


def _value(text: str) -> Any:
    if not text:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = _NUMBER.fullmatch(text) if len(text) <= MOST_DIGITS else None
    if number is None:
        return text
    return float(text) if number[2] or number[3] else int(text)


def _field(name: str, values: list[Any]) -> InferredField:
    present = [value for value in values if value is not None]
    missing = 1 - len(present) / len(values)
    if not present:
        return InferredField(
            name, None, missing, "null", "Always null in these messages, so its type is unknown."
        )
    kind, share = _kind(present)
    example = _example(next(value for value in present if _fits(value, kind)))
    if kind in ("object", "list", "bytes"):
        return InferredField(name, None, missing, example, f"Holds {_WORDS[kind]}, which queries cannot use.")
    fitting = [value for value in present if _fits(value, kind)]
    unit = guess_time_unit(fitting)
    notes = []
    if share < 1:
        notes.append(f"{_percent(1 - share)} of the messages hold something else, which counts as no value.")
    is_time = unit is not None and _name_rank(name) < len(_TIME_NAMES)  # else ids may look like nanoseconds
    if kind == "integer" and not is_time and max(map(abs, fitting)) > MOST_EXACT:
        notes.append(INEXACT)
    return InferredField(name, kind, missing, example, " ".join(notes), unit)  # type: ignore[arg-type]


def _kind(present: list[Any]) -> tuple[str, float]:
    """The most frequent kind and its share; whole numbers and fractions together are numbers."""
    kinds = Counter(map(_kind_of, present))
    if decimals := [kind for kind in kinds if kind.startswith("decimal")]:
        _join_decimals(kinds, decimals)
    if kinds["number"] and kinds["integer"]:
        kinds["number"] += kinds.pop("integer")
    kind, count = kinds.most_common(1)[0]
    return kind, count / len(present)


def _kind_of(value: Any) -> str:
    """Decimals, which Avro has, by their places."""
    if not isinstance(value, Decimal):
        return _KINDS[type(value)]
    exponent = value.as_tuple().exponent
    return decimal_of(-exponent if isinstance(exponent, int) else -1) or "number"


def _join_decimals(kinds: Counter[str], decimals: list[str]) -> None:
    """Decimals of any places are decimals of the most."""
    most = max(decimals, key=lambda kind: places_of(kind) or 0)
    if kinds["number"]:
        most = "number"
    kinds[most] += sum(kinds.pop(kind) for kind in decimals if kind != most)
    if not kinds["number"]:
        kinds[most] += kinds.pop("integer", 0)


def _fits(value: Any, kind: str) -> bool:
    own = _kind_of(value)
    is_decimal = kind.startswith("decimal") and (own.startswith("decimal") or own == "integer")
    return own == kind or is_decimal or (kind == "number" and (own == "integer" or own.startswith("decimal")))


def _example(value: Any) -> str:
    text = value if isinstance(value, str) else _JSON.encode(value).decode()
    return text if len(text) <= EXAMPLE_LENGTH else text[: EXAMPLE_LENGTH - 1] + "…"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %" if share >= 0.01 else f"{share * 100:.1f} %"


def guess_time_unit(values: Iterable[Any]) -> TimeUnit | None:
    """The unit in which these values are instants between 2000 and 2100; None if they are not.

    >>> guess_time_unit([1_794_838_349_377])
    'ms'
    """
    sample = list(values)
    if not sample or any(isinstance(value, bool) for value in sample):
        return None
    if all(isinstance(value, str) for value in sample):
        return "iso" if all(_is_iso(value) for value in sample) else None
    if not all(isinstance(value, int | float) for value in sample):
        return None
    middle = median(sample)
    for unit, per_second in _UNITS_PER_SECOND.items():
        if _EARLIEST <= middle / per_second < _LATEST:
            return unit
    return None


def _is_iso(text: str) -> bool:
    # A bare date or a number of a year is a text that happens to parse, not an instant.
    if "T" not in text and " " not in text:
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _name_rank(name: str) -> int:
    name = name.lower()
    return _TIME_NAMES.index(name) if name in _TIME_NAMES else len(_TIME_NAMES)
