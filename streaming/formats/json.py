"""JSON objects, one per message. Only the fields that the plan needs are built; the rest is skipped over.

msgspec decodes and checks types in one pass and says per message what is wrong with it; a columnar reader
would refuse the whole batch for one bad message, and a stream always has one.
"""

import re
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from streaming.expressions import ARROW_TYPES
from streaming.formats.base import Decoded, Refused
from streaming.sources import FieldType

# A field that was whole in the sample may carry a fraction later: both numeric types take both.
_PYTHON_TYPES: dict[FieldType, Any] = {
    "text": str | None,
    "integer": float | None,
    "number": float | None,
    "boolean": bool | None,
}
_WORDS = {"str": "text", "float": "a number", "int": "a number", "bool": "true or false", "array": "a list"}
_MISMATCH = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)`(?: - at `\$\.?(.*)`)?")


def decode_json(values: pa.Array, types: dict[str, FieldType]) -> Decoded:
    """Decode a column of messages into one Arrow column per field of `types`."""
    decode = _decoder(tuple(types.items())).decode
    rows: list[int] = []
    objects: list[Any] = []
    refused: list[Refused] = []
    for row, message in enumerate(values.to_pylist()):
        try:
            objects.append(decode(message))
            rows.append(row)
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
            reason = "The message is empty." if message is None else _reason(error)
            refused.append(Refused(row, reason))
    columns = {
        name: pa.array([getattr(item, f"f{position}") for item in objects], ARROW_TYPES[kind])
        for position, (name, kind) in enumerate(types.items())
    }
    if not columns:  # a table without columns has no length
        columns[""] = pa.nulls(len(rows))
    return Decoded(np.array(rows, np.int64), pa.table(columns), refused)


@lru_cache(maxsize=64)
def _decoder(types: tuple[tuple[str, FieldType], ...]) -> msgspec.json.Decoder[Any]:
    """A decoder for a struct with just these fields; attribute names are ours, so any JSON key will do."""
    fields = [(f"f{position}", _PYTHON_TYPES[kind], None) for position, (_, kind) in enumerate(types)]
    rename = {f"f{position}": name for position, (name, _) in enumerate(types)}
    struct = msgspec.defstruct("Message", fields, rename=rename, gc=False)
    return msgspec.json.Decoder(struct)


def _reason(error: Exception) -> str:
    mismatch = _MISMATCH.fullmatch(str(error))
    if mismatch is None:
        return f"Not readable as JSON: {str(error).replace('`', '')}."
    expected, got, field = mismatch.groups()
    expected, got = _WORDS.get(expected, f"an {expected}"), _WORDS.get(got, f"an {got}")
    return f"{field or 'The message'} is {got}, not {expected}."
