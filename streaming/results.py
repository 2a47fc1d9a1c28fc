"""Result blocks: per (query, window end, shard), the values of all its groups.

Blocks of windows that end together mostly have the same groups: they travel in one message that names the
groups once. Of a hundred queries by device, the names would be half of all that is written to Kafka.
"""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from streaming.aggregates.base import Aggregate
from streaming.aggregates.bounded import Bounded

GroupKey = tuple[Any, ...]

MESSAGE_GOAL_BYTES = 1 << 20  # of values, where several blocks share a message
FEW_KEYS_BYTES = 64 << 10  # of groups that are worth keeping decoded: block after block has the same
_ELSEWHERE = msgspec.Raw(msgspec.msgpack.encode(None))
_MOST_INT32 = np.iinfo(np.int32).max


class ResultBlock(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A later batch replaces an earlier block of the same place."""

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
    counts: bytes  # events in the window: int32, or int64 where one is greater
    others: list[Any] | None = None  # answers that are no floats (texts, lists, exact numbers)
    revision: int = 0  # how often late events have changed it since it seemed complete
    # int64, of each group's window, where they differ: then `start` is the least, and a group may come twice.
    starts: bytes | None = None

    @property
    def place(self) -> tuple[str, int, int]:
        """What it is about: of the blocks with the same, the last counts."""
        return self.query, self.end, self.shard

    @property
    def size(self) -> int:
        """How many rows it has."""
        return len(self.values) // 8

    @property
    def groups(self) -> list[GroupKey]:
        keys = bytes(self.keys)
        return _few_groups(keys) if len(keys) <= FEW_KEYS_BYTES else _groups_decoder.decode(keys)

    def event_counts(self) -> np.ndarray:
        return np.frombuffer(self.counts, np.int64 if len(self.counts) == len(self.values) else np.int32)

    def row_starts(self) -> list[int]:
        """Where the window of each row starts."""
        if self.starts is None:
            return [self.start] * self.size
        return np.frombuffer(self.starts, np.int64).tolist()

    def rows(self) -> Iterator[tuple[GroupKey, float | None, int]]:
        """(group, value, count) of every group."""
        values = np.frombuffer(self.values).tolist() if self.others is None else self.others
        for group, value, count in zip(self.groups, values, self.event_counts().tolist(), strict=True):
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
    if isinstance(answer, Decimal):
        return plain_number(answer)
    if isinstance(answer, int) and abs(answer) >= 1 << 53:
        return str(answer)
    if isinstance(answer, float) and answer != answer:
        return None
    return answer


def plain_number(exact: Decimal) -> int | float | str:
    """An exact number as JSON has it: a text where a float would not hold it.

    >>> plain_number(Decimal("1.50")), plain_number(Decimal("12345678901234567.89"))
    (1.5, '12345678901234567.89')
    """
    if exact == exact.to_integral_value():
        return int(exact) if abs(exact) < 1 << 53 else str(int(exact))
    return float(exact) if Decimal(repr(float(exact))) == exact else f"{exact:f}".rstrip("0")


def as_counts(counts: np.ndarray) -> np.ndarray:
    """Numbers of events as blocks have them."""
    return counts.astype(np.int32 if counts.max(initial=0) <= _MOST_INT32 else np.int64)


class _Bundle(msgspec.Struct, array_like=True):
    """What one message carries: blocks that have the same groups, and these."""

    keys: msgspec.Raw
    blocks: list[ResultBlock]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Bundle)
_groups_decoder = msgspec.msgpack.Decoder(list[GroupKey])


@lru_cache(64)
def _few_groups(keys: bytes) -> list[GroupKey]:
    return _groups_decoder.decode(keys)


def messages(blocks: Iterable[ResultBlock]) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of the messages that carry a shard's blocks of one batch."""
    together: dict[tuple[int, int], list[ResultBlock]] = {}
    for block in blocks:
        together.setdefault((block.end, id(block.keys)), []).append(block)
    for alike in together.values():
        key, at_once = f"{alike[0].end}|{alike[0].shard}".encode(), _at_once(alike[0])
        for low in range(0, len(alike), at_once):
            yield key, encode(alike[low : low + at_once])


def _at_once(block: ResultBlock) -> int:
    return max(1, MESSAGE_GOAL_BYTES // max(1, len(block.values)))


def encode(blocks: Sequence[ResultBlock]) -> bytes:
    """Of blocks with the same groups."""
    slim = [msgspec.structs.replace(block, keys=_ELSEWHERE) for block in blocks]
    return _encoder.encode(_Bundle(blocks[0].keys, slim))


def decode(message: bytes) -> list[ResultBlock]:
    bundle = _decoder.decode(message)
    keys = bundle.keys.copy()  # so that a block does not keep the whole message
    return [msgspec.structs.replace(block, keys=keys) for block in bundle.blocks]
