"""Compile every format's scan before it is needed."""

import numpy as np
import pyarrow as pa

from streaming.formats import FORMATS, Decoded, FormatOptions
from streaming.formats.scan.records import record_ends
from streaming.sources import FieldType

_TYPES: dict[str, FieldType] = {"text": "text", "number": "number"}
_SCHEMA = """{"type": "record", "name": "Event", "fields": [
    {"name": "text", "type": "string"}, {"name": "number", "type": "double"}]}"""
_AVRO = b"\x02a" + bytes(8)
_EXAMPLES: list[tuple[str, bytes, FormatOptions]] = [
    ("json", b'{"text": "a", "number": 0}', FormatOptions()),
    ("csv", b"a,0", FormatOptions()),
    ("tsv", b"a\t0", FormatOptions()),
    ("avro", _AVRO, FormatOptions(avro_schema=_SCHEMA)),
    ("avro", bytes(5) + _AVRO, FormatOptions(schema_by_id=lambda number: _SCHEMA)),
]


def warm_up() -> dict[str, Decoded]:
    """Decode one message of each format, and cut a file's records."""
    record_ends(np.frombuffer(b"a,0\n", np.uint8), np.uint8(ord(",")), np.empty(1, np.int64))
    return {
        name: FORMATS[name](pa.array([message], pa.binary()), _TYPES, options)
        for name, message, options in _EXAMPLES
    }
