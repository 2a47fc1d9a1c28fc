"""What every format takes and returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from streaming.sources import FieldType


@dataclass(frozen=True)
class FormatOptions:
    """What a format has to know beyond the fields that are needed."""

    columns: tuple[str, ...] = ()  # csv, tsv: all fields of a record, in order
    avro_schema: str = ""  # avro: the writer's schema, JSON
    schema_by_id: Callable[[int], str] | None = (
        None  # avro: schemas of a registry, for messages that name one
    )
    dictionaries: bool = False  # texts as Arrow dictionaries, which are cheaper to group by


NO_OPTIONS = FormatOptions()


@dataclass(frozen=True)
class Refused:
    """A message that could not be read: its row in the batch and the reason, for the dead letters."""

    row: int
    reason: str


@dataclass(frozen=True)
class Wrong:
    """Where a field holds what its type cannot take, and has no value therefore."""

    rows: np.ndarray  # of the table, ascending
    reasons: np.ndarray  # a sentence for each of them

    @classmethod
    def of(cls, found: Sequence[tuple[int, str]]) -> "Wrong":
        """Of rows with their reasons."""
        rows, reasons = zip(*found, strict=True) if found else ((), ())
        return cls(np.array(rows, np.int64), np.array(reasons, object))

    def among(self, kept: np.ndarray) -> "Wrong":
        """In a table of the rows that are kept."""
        there = kept[self.rows]
        return Wrong(np.cumsum(kept)[self.rows[there]] - 1, self.reasons[there])

    def followed_by(self, other: "Wrong", rows_before: int) -> "Wrong":
        """In a table that goes on with another one after so many rows."""
        rows = np.concatenate([self.rows, other.rows + rows_before])
        return Wrong(rows, np.concatenate([self.reasons, other.reasons]))

    def at(self, row: int) -> str:
        """Why a row is one of them; empty if it is not."""
        place = int(np.searchsorted(self.rows, row))
        return self.reasons[place] if place < len(self.rows) and self.rows[place] == row else ""


NOTHING_WRONG = Wrong.of([])


@dataclass(frozen=True)
class Decoded:
    """Columns of the messages that could be read, and which rows of the batch these are."""

    rows: np.ndarray  # int64
    table: pa.Table
    refused: list[Refused]
    wrong: dict[str, Wrong] = field(default_factory=dict)  # by field; mostly none


class Decoder(Protocol):
    """Decodes a column of messages into one Arrow column per field of `types`."""

    def __call__(
        self, values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
    ) -> Decoded: ...
