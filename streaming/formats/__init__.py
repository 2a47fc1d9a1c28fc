"""Message formats. A format is one file with one function; the table below is all there are."""

from collections.abc import Callable

import pyarrow as pa

from streaming.formats.base import Decoded
from streaming.formats.json import decode_json
from streaming.sources import FieldType

Decoder = Callable[[pa.Array, dict[str, FieldType]], Decoded]

FORMATS: dict[str, Decoder] = {
    "json": decode_json,
}
