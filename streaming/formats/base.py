"""What every format takes and returns."""

from collections.abc import Callable
from dataclasses import dataclass
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
class Decoded:
    """Columns of the messages that could be read, and which rows of the batch these are."""

    rows: np.ndarray  # int64
    table: pa.Table
    refused: list[Refused]


class Decoder(Protocol):
    """Decodes a column of messages into one Arrow column per field of `types`."""

    def __call__(
        self, values: pa.Array, types: dict[str, FieldType], options: FormatOptions = NO_OPTIONS, /
    ) -> Decoded: ...
