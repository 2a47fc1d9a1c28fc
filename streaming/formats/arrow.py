"""Rows that a library has read already, as structs: those of files that are made of columns.

Not a format of messages: no topic has it, and people cannot choose it.
"""

import numpy as np
import pyarrow as pa

from streaming.expressions import ARROW_TYPES
from streaming.formats.base import NO_OPTIONS, Decoded, FormatOptions
from streaming.sources import FieldType


def take_arrow(
    values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
) -> Decoded:
    """The needed columns, in the types that map tasks work with."""
    rows = pa.RecordBatch.from_struct_array(values)
    columns = {name: _column(rows.column(name), kind, options) for name, kind in types.items()}
    if not columns:  # a table without columns has no length
        columns[""] = pa.nulls(len(values))
    return Decoded(np.arange(len(values)), pa.table(columns), [])


def _column(column: pa.Array, kind: FieldType, options: FormatOptions) -> pa.Array:
    taken = column.cast(ARROW_TYPES[kind], safe=False)
    return taken.dictionary_encode() if kind == "text" and options.dictionaries else taken
