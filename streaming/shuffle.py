"""What travels from map tasks to shards: one report per (task, shard), partials as binary columns."""

import pickle
from collections.abc import Sequence

import msgspec
import numpy as np

from streaming.accounting import Counts, DeadLetter
from streaming.aggregates.base import Part
from streaming.group_keys import GroupKeys
from streaming.lane_partials import LanePartials

Runs = tuple[bytes, bytes]  # numbers, and how often each is repeated; nothing where all are there


class PartitionReport(msgspec.Struct, array_like=True):
    """What a task read of one Kafka partition in this batch."""

    previous: int  # the partition's greatest event time before the batch, as the task knew it
    watermark: int  # the source's watermark before the batch, as the task knew it
    greatest: int  # `previous` moved on by the batch, none counted beyond its message's clock
    counts: Counts
    first: int | None = None  # the first event's time
    furthest: int | None = None  # the greatest time of an accepted event


class PackedPartials(msgspec.Struct, array_like=True):
    lane: str
    keys: bytes
    group: bytes
    start: Runs
    events: Runs
    values: Runs | None  # None: as many as events
    parts: list[bytes]  # gathered states: columns of numbers one after the other, or a pickled list


class PastReport(msgspec.Struct, array_like=True):
    """What a task read once more of what Kafka still holds, for queries of a plan that lack their past."""

    version: int  # of the plan
    partitions: dict[int, PartitionReport]
    partials: list[PackedPartials]
    bounded: list[int]  # partitions that were not read from as early on as was wanted
    read: int  # messages up to here, by all tasks
    messages: int  # that there are to read


class TaskReport(msgspec.Struct, array_like=True):
    """All that one map task has to say to one shard."""

    version: int  # of the timeline that cut the partials
    partitions: dict[int, PartitionReport]
    partials: list[PackedPartials]
    dead_letters: list[DeadLetter] = []
    clock: int | None = None  # newest heartbeat
    plan: bytes | None = None  # newest message of the plans topic
    seconds: float = 0.0
    left_out: dict[str, tuple[int, str]] = {}  # by lane: how many values, and why one of them
    group_partials: list[bytes] = []  # of count and session windows (streaming/group_partials.py)
    past: PastReport | None = None
    stopped: dict[str, str] = {}  # by expression that took too much time or memory, why it was stopped


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(TaskReport)


def encode(report: TaskReport) -> bytes:
    return _encoder.encode(report)


def decode(message: bytes) -> TaskReport:
    return _decoder.decode(message)


def pack(partials: LanePartials) -> PackedPartials:
    return PackedPartials(
        partials.lane,
        partials.keys.packed(),
        partials.group.tobytes(),
        pack_runs(partials.start),
        pack_runs(partials.events),
        None if partials.values is partials.events else pack_runs(partials.values),
        [pack_states(states) for states in partials.parts],
    )


def unpack(packed: PackedPartials, parts: Sequence[Part]) -> LanePartials:
    events = unpack_runs(packed.events, np.float64)
    return LanePartials(
        packed.lane,
        GroupKeys.unpacked(packed.keys),
        np.frombuffer(packed.group, np.int32),
        unpack_runs(packed.start, np.int64),
        events,
        events if packed.values is None else unpack_runs(packed.values, np.float64),
        tuple(unpack_states(states, part) for states, part in zip(packed.parts, parts, strict=True)),
    )


def pack_runs(numbers: np.ndarray) -> Runs:
    """Starts come slice by slice, and where groups are many most have one event: equal ones in long runs."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    if 2 * len(changes) >= len(numbers):
        return numbers.tobytes(), b""
    heads = np.concatenate([[0], changes])
    return numbers[heads].tobytes(), np.diff(heads, append=len(numbers)).astype(np.int32).tobytes()


def unpack_runs(packed: Runs, dtype: type) -> np.ndarray:
    numbers: np.ndarray = np.frombuffer(packed[0], dtype)
    return np.repeat(numbers, np.frombuffer(packed[1], np.int32)) if packed[1] else numbers


def pack_states(states: np.ndarray) -> bytes:
    """Gathered states (columns, …). Python's own values travel as Python's own bytes: both ends are ours."""
    if states.dtype == object:
        return pickle.dumps(states[0].tolist(), pickle.HIGHEST_PROTOCOL)
    return states.tobytes()


def unpack_states(data: bytes, part: Part) -> np.ndarray:
    algebra = part.gathering.algebra
    if algebra.dtype is object:
        items = pickle.loads(data)  # noqa: S301 (written by a map task or a shard of this job)
        states = np.empty((1, len(items)), object)
        for at, item in enumerate(items):
            states[0, at] = item
        return states
    return np.frombuffer(data, algebra.dtype).reshape(len(algebra.identity), -1)


def split(partials: LanePartials, shards: int, within: range) -> list[LanePartials | None]:
    """The partials of each shard, `within` being those that answer the lane; `None`: it gets nothing."""
    parts: list[LanePartials | None] = [None] * shards
    if len(within) == 1:
        parts[within[0]] = partials
        return parts
    owner = partials.keys.owners(within)
    present = np.zeros(len(owner), np.bool_)
    present[partials.group] = True
    for shard in within:
        chosen = present & (owner == shard)
        parts[shard] = partials.of_groups(chosen) if chosen.any() else None
    return parts
