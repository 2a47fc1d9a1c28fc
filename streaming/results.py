"""Result blocks: one message per (query, window end, shard) with the values of all its groups."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

GroupKey = tuple[Any, ...]


class ResultBlock(msgspec.Struct, frozen=True, array_like=True):
    """What the results topic carries. A later batch replaces an earlier block of the same key."""

    source: str
    query: str
    plan: int
    start: int  # ms since the epoch, inclusive
    end: int  # exclusive
    shard: int
    batch: int
    final: bool  # False: provisional, the watermark has not passed `end`
    groups: list[GroupKey]
    values: bytes  # float64; NaN where the window holds no value of the field
    counts: bytes  # int64, events in the window

    @property
    def key(self) -> bytes:
        return f"{self.query}|{self.end}|{self.shard}".encode()

    def rows(self) -> Iterator[tuple[GroupKey, float | None, int]]:
        """(group, value, count) of every group."""
        values = np.frombuffer(self.values).tolist()
        counts = np.frombuffer(self.counts, np.int64).tolist()
        for group, value, count in zip(self.groups, values, counts, strict=True):
            yield tuple(group), None if value != value else value, count


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ResultBlock)


def encode(block: ResultBlock) -> bytes:
    return _encoder.encode(block)


def decode(message: bytes) -> ResultBlock:
    return _decoder.decode(message)
