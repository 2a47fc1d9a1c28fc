"""A batch decoded at column speed beside the same batch read message by message."""

from collections.abc import Sequence

import pyarrow as pa

from streaming.formats import NO_OPTIONS, Decoded, FormatOptions
from streaming.formats.columns import Columns, Reader


def one_by_one(
    messages: Sequence[bytes | None], types: dict, read: Reader, options: FormatOptions = NO_OPTIONS
) -> Decoded:
    """What comes out if nothing is left to the scan."""
    columns = Columns(pa.array(messages, pa.binary()), types)
    columns.doubtful[:] = True
    return columns.finish(read, options)


def contents(decoded: Decoded) -> tuple:
    """All that a decoder has said; as text, because 0.0 and -0.0 are equal."""
    return decoded.rows.tolist(), decoded.table.schema, repr(decoded.table.to_pydict()), decoded.refused
