"""Compile every format's scan before it is needed."""

import pyarrow as pa

from streaming.formats import FORMATS, FormatOptions
from streaming.sources import FieldType

_TYPES: dict[str, FieldType] = {"text": "text", "number": "number"}
_SCHEMA = """{"type": "record", "name": "Event", "fields": [
    {"name": "text", "type": "string"}, {"name": "number", "type": "double"}]}"""
_EXAMPLES: dict[str, tuple[bytes, FormatOptions]] = {
    "json": (b'{"text": "a", "number": 1}', FormatOptions()),
    "csv": (b"a,1", FormatOptions()),
    "tsv": (b"a\t1", FormatOptions()),
    "avro": (b"\x02a" + bytes(8), FormatOptions(avro_schema=_SCHEMA)),
}


def warm_up() -> None:
    """Decode one message of each format."""
    for name, (message, options) in _EXAMPLES.items():
        FORMATS[name](pa.array([message], pa.binary()), _TYPES, options)
    registry = FormatOptions(schema_by_id=lambda number: _SCHEMA)
    FORMATS["avro"](pa.array([bytes(5) + b"\x02a" + bytes(8)], pa.binary()), _TYPES, registry)
