"""Result blocks: one message per (query, window end, shard) with the values of all its groups."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from streaming.aggregates.base import Aggregate
from streaming.aggregates.bounded import Bounded

GroupKey = tuple[Any, ...]


class ResultBlock(msgspec.Struct, frozen=True, array_like=True, dict=True):
    """What the results topic carries. A later batch replaces an earlier block of the same key."""

    source: str
    query: str
    plan: int
    start: int  # ms since the epoch, inclusive
    end: int  # exclusive
    shard: int
    batch: int
    final: bool  # False: provisional, the watermark has not passed `end`
    keys: msgspec.Raw  # of the groups, a list: there may be many, and not everybody needs them
    values: bytes  # float64; NaN where the window holds no value of the field
    counts: bytes  # int64, events in the window
    others: list[Any] | None = None  # answers that are no floats (texts, lists, exact numbers)
    revision: int = 0  # how often late events have changed it since it seemed complete
    # int64, of each group's window, where they differ: then `start` is the least, and a group may come twice.
    starts: bytes | None = None

    @property
    def key(self) -> bytes:
        return f"{self.query}|{self.end}|{self.shard}".encode()

    @property
    def size(self) -> int:
        """How many rows it has."""
        return len(self.counts) // 8

    @cached_property
    def groups(self) -> list[GroupKey]:
        return _groups_decoder.decode(self.keys)

    def row_starts(self) -> list[int]:
        """Where the window of each row starts."""
        if self.starts is None:
            return [self.start] * self.size
        return np.frombuffer(self.starts, np.int64).tolist()

    def rows(self) -> Iterator[tuple[GroupKey, float | None, int]]:
        """(group, value, count) of every group."""
        values = np.frombuffer(self.values).tolist() if self.others is None else self.others
        counts = np.frombuffer(self.counts, np.int64).tolist()
        for group, value, count in zip(self.groups, values, counts, strict=True):
            yield group, None if value != value else value, count


def answers(
    aggregate: Aggregate, values: np.ndarray, states: Sequence[np.ndarray]
) -> tuple[np.ndarray, list[Any] | None]:
    """Of groups with so many values and these states (columns, groups): as floats, and as they are."""
    if any(part.dtype is object for part in aggregate.parts):
        columns = (state[0] if state.dtype == object else zip(*state, strict=True) for state in states)
        found = [aggregate.lower(*each) for each in zip(values, *columns, strict=True)]
    else:
        lowered = np.asarray(aggregate.lower(values, *map(tuple, states)))
        if lowered.dtype != object:
            return lowered.astype(np.float64), None
        found = lowered.tolist()
    return np.array([_as_float(answer) for answer in found], np.float64), [_as_json(one) for one in found]


def _as_float(answer: Any) -> float:
    """For charts: NaN for what is no number."""
    return float(answer) if isinstance(answer, int | float | Decimal) else np.nan


def _as_json(answer: Any) -> Any:
    """Exact numbers as texts where a float would not hold them; a list that was cut says so."""
    if isinstance(answer, Bounded):
        items = answer.items if isinstance(answer.items, str) else [_as_json(item) for item in answer.items]
        return {"items": items, "cut": answer.cut}
    if isinstance(answer, tuple | list):
        return [_as_json(item) for item in answer]
    if isinstance(answer, Decimal) or (isinstance(answer, int) and abs(answer) >= 1 << 53):
        return str(answer)
    if isinstance(answer, float) and answer != answer:
        return None
    return answer


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ResultBlock)
_groups_decoder = msgspec.msgpack.Decoder(list[GroupKey])


def encode(block: ResultBlock) -> bytes:
    return _encoder.encode(block)


def decode(message: bytes) -> ResultBlock:
    return _decoder.decode(message)
