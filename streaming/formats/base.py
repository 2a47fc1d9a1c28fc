"""What every format returns."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


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
