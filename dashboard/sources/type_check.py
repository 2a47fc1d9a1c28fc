"""Whether sampled values fit the type that somebody chose for a field, read by the engine's own code."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from dashboard.sources.kafka import KafkaProblem
from dashboard.sources.legible import avro_records
from streaming.decimals import DECIMALS
from streaming.formats import DECODERS
from streaming.formats.base import FormatOptions, Wrong
from streaming.reach import SourceProblem
from streaming.sources import FieldType

PLURALS: dict[FieldType, str] = {
    "text": "texts",
    "integer": "whole numbers",
    "number": "numbers",
    "boolean": "true or false",
    **{kind: f"decimals with at most {places} places" for places, kind in enumerate(DECIMALS)},
}
EXAMPLE_LENGTH = 40
DELIMITERS = {"csv": ",", "tsv": "\t"}
_JSON = msgspec.json.Encoder(decimal_format="number")


def fit_words(
    values: Sequence[bytes | None],
    written_as: str,
    options: FormatOptions,
    types: dict[str, FieldType],
    field: str,
) -> str:
    """Such as: 3 of 50 sampled values are not numbers, such as “n/a”."""
    try:
        decoded = DECODERS[written_as](pa.array(values, pa.binary()), types, options)
    except SourceProblem as problem:
        raise KafkaProblem("registry", str(problem)) from problem
    wrong = decoded.wrong.get(field, Wrong.of([])).rows
    present = len(wrong) + len(decoded.table) - decoded.table.column(field).null_count
    if not present:
        return "No sampled message has a value for it."
    if not len(wrong):
        return f"All {present} sampled values are {PLURALS[types[field]]}."
    example = _shown(values[int(decoded.rows[wrong[0]])] or b"", written_as, options, list(types), field)
    verb = "is" if present == 1 else "are"
    return (
        f"{len(wrong)} of {present} sampled values {verb} not {PLURALS[types[field]]}, such as “{example}”."
    )


def _shown(value: bytes, written_as: str, options: FormatOptions, names: list[str], field: str) -> str:
    """The field of one message as people read it."""
    if written_as in DELIMITERS:
        reader = csv.reader(io.StringIO(value.decode(), newline=""), delimiter=DELIMITERS[written_as])
        text = next(reader)[names.index(field)]
    else:
        item: Any = avro_records([value], options)[0] if written_as == "avro" else msgspec.json.decode(value)
        for part in field.split("."):
            item = item[part]
        text = item if isinstance(item, str) else _JSON.encode(item).decode()
    return text if len(text) <= EXAMPLE_LENGTH else f"{text[: EXAMPLE_LENGTH - 1]}…"
