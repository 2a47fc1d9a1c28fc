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
    return (*verdicts(decoded), decoded.table.schema, repr(decoded.table.to_pydict()), wrong_of(decoded))


def verdicts(decoded: Decoded) -> tuple:
    """Which messages are read and why others are not: the same whatever is needed of them."""
    return decoded.rows.tolist(), decoded.refused


def wrong_of(decoded: Decoded) -> dict[str, list[tuple[int, str]]]:
    """By field, the messages in which it has the wrong type, which is no value, with the reasons."""
    for name, wrong in decoded.wrong.items():
        assert not decoded.table[name].take(wrong.rows).is_valid().to_pylist().count(True)
    return {
        name: list(zip(decoded.rows[wrong.rows].tolist(), wrong.reasons.tolist(), strict=True))
        for name, wrong in decoded.wrong.items()
    }
