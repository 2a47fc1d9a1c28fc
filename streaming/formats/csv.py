"""Delimited records, one per message without a header: the columns are the source's fields, in their order.

Quotes are RFC 4180's; an empty field is null. A compiled scan takes plain messages at once, and Python's csv
module reads whatever is unusual.
"""

import csv
import io
import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from streaming.decimals import DECIMALS
from streaming.formats.base import NO_OPTIONS, Decoded, FormatOptions
from streaming.formats.columns import Columns, Reader, Unreadable, WrongValue
from streaming.formats.scan.csv import scan_records
from streaming.formats.scan.kinds import KINDS
from streaming.sources import FieldType

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def decode_csv(
    values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
) -> Decoded:
    """Decode comma-separated records."""
    return _decode(values, types, options, ",")


def decode_tsv(
    values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
) -> Decoded:
    """Decode tab-separated records."""
    return _decode(values, types, options, "\t")


def _decode(values: pa.Array, types: dict[str, FieldType], options: FormatOptions, delimiter: str) -> Decoded:
    columns = scan(values, types, options, delimiter)
    return columns.finish(reader(_columns(types, options), tuple(types.items()), delimiter), options)


def _columns(types: dict[str, FieldType], options: FormatOptions) -> tuple[str, ...]:
    return options.columns or tuple(types)


def scan(values: pa.Array, types: dict[str, FieldType], options: FormatOptions, delimiter: str) -> Columns:
    """Take what is plain, and mark what is doubtful."""
    columns = Columns(values, types)
    places = {name: field for field, name in enumerate(types)}
    scan_records(
        columns.data,
        columns.offsets,
        ord(delimiter),
        np.array([places.get(name, -1) for name in _columns(types, options)], np.int64),
        np.array([KINDS[kind] for kind in types.values()], np.int64),
        columns.numbers,
        columns.starts,
        columns.lengths,
        columns.doubtful,
    )
    return columns


@lru_cache(maxsize=64)
def reader(names: tuple[str, ...], types: tuple[tuple[str, FieldType], ...], delimiter: str) -> Reader:
    """Reads one message with Python's csv module."""
    places = [(name, names.index(name) if name in names else None, _READ[kind]) for name, kind in types]

    def read(message: bytes) -> list[Any]:
        record = _record(message, delimiter)
        if len(record) != len(names):
            raise Unreadable(f"The message has {_count(len(record))}, not {len(names)}.")
        return [
            convert(name, record[place]) if place is not None and record[place] else None
            for name, place, convert in places
        ]

    return read


def _record(message: bytes, delimiter: str) -> list[str]:
    name = "CSV" if delimiter == "," else "TSV"
    try:
        lines = io.StringIO(message.decode(), newline="")
        records = [record for record in csv.reader(lines, delimiter=delimiter, strict=True) if record]
    except (UnicodeDecodeError, csv.Error) as error:
        raise Unreadable(f"Not readable as {name}: {error}.") from error
    if not records:
        raise Unreadable("The message is empty.")
    if len(records) > 1:
        raise Unreadable(f"The message has {len(records)} records, not one.")
    return records[0]


def _count(columns: int) -> str:
    return "1 column" if columns == 1 else f"{columns} columns"


def _number(name: str, text: str) -> float | WrongValue:
    if not _NUMBER.fullmatch(text.strip(" ")):
        return WrongValue(f"{name} is text, not a number.")
    value = float(text)
    return WrongValue(f"{name} is a number out of range.") if math.isinf(value) else value


def _decimal(name: str, text: str) -> Decimal | WrongValue:
    if not _NUMBER.fullmatch(text.strip(" ")):
        return WrongValue(f"{name} is text, not a number.")
    return Decimal(text.strip(" "))


def _boolean(name: str, text: str) -> bool | WrongValue:
    word = text.strip(" ").lower()
    if word not in ("true", "false"):
        return WrongValue(f"{name} is text, not true or false.")
    return word == "true"


def _text(name: str, text: str) -> str:
    return text


_READ: dict[FieldType, Callable[[str, str], Any]] = {
    "text": _text,
    "integer": _number,
    "number": _number,
    "boolean": _boolean,
    **dict.fromkeys(DECIMALS, _decimal),
}
