"""Values as people read them: Avro records as JSON, anything else as it lies in the topic."""

import math
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import msgspec

from dashboard.sources.kafka import KafkaProblem, Message
from dashboard.sources.models import Source
from streaming.formats.avro import records
from streaming.formats.base import FormatOptions
from streaming.reach import SourceProblem
from streaming.registry import format_options

WRITTEN_BYTES = 256 << 10  # of a record that is written as JSON
_JSON = msgspec.json.Encoder(decimal_format="number")


def legible(source: Source, messages: Sequence[Message]) -> list[bytes | None]:
    """The values of a source's messages, each as JSON where it is Avro and can be decoded."""
    return legible_values(source, [message.value for message in messages])


def legible_values(source: Source, values: list[bytes | None]) -> list[bytes | None]:
    return as_json(values, format_options(source.spec())) if source.format == "avro" else values


def as_json(values: Sequence[bytes | None], options: FormatOptions) -> list[bytes | None]:
    """Avro records as JSON; what is none, or a large one, stays as it is."""
    small = [value if value and len(value) <= WRITTEN_BYTES else None for value in values]
    return [
        value if record is None else _JSON.encode(_as_json_has_it(record))
        for value, record in zip(values, avro_records(small, options), strict=True)
    ]


def avro_records(values: Sequence[bytes | None], options: FormatOptions) -> list[dict[str, Any] | None]:
    """Messages decoded, None for those that cannot be; a registry that does not answer is a KafkaProblem."""
    try:
        return records(values, options)
    except SourceProblem as problem:
        raise KafkaProblem("registry", str(problem)) from problem


def _as_json_has_it(value: Any) -> Any:
    """Bytes and numbers that are none have no place in JSON: they are spelled out."""
    match value:
        case dict():
            return {name: _as_json_has_it(item) for name, item in value.items()}
        case list():
            return [_as_json_has_it(item) for item in value]
        case bytes():
            return {"base64": b64encode(value).decode()}
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
