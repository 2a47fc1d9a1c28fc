"""What travels from map tasks to shards: one report per (task, shard), partials as binary columns."""

import zlib

import msgspec
import numpy as np

from streaming.accounting import Counts, DeadLetter
from streaming.partials import LanePartials
from streaming.results import GroupKey


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
    keys: list[GroupKey]
    group: bytes
    start: bytes
    columns: bytes  # events, values, x, error: float64, one after the other


class TaskReport(msgspec.Struct, array_like=True):
    """All that one map task has to say to one shard."""

    version: int  # of the timeline that cut the partials
    partitions: dict[int, PartitionReport]
    partials: list[PackedPartials]
    dead_letters: list[DeadLetter] = []
    clock: int | None = None  # newest heartbeat
    plan: bytes | None = None  # newest message of the plans topic
    seconds: float = 0.0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(TaskReport)


def encode(report: TaskReport) -> bytes:
    return _encoder.encode(report)


def decode(message: bytes) -> TaskReport:
    return _decoder.decode(message)


def pack(partials: LanePartials) -> PackedPartials:
    columns = np.stack([partials.events, partials.values, partials.x, partials.error])
    return PackedPartials(
        partials.lane, partials.keys, partials.group.tobytes(), partials.start.tobytes(), columns.tobytes()
    )


def unpack(packed: PackedPartials) -> LanePartials:
    columns = np.frombuffer(packed.columns).reshape(4, -1)
    return LanePartials(
        packed.lane,
        [tuple(key) for key in packed.keys],
        np.frombuffer(packed.group, np.int32),
        np.frombuffer(packed.start, np.int64),
        *columns,
    )


def split(partials: LanePartials, shards: int) -> list[LanePartials | None]:
    """The partials of each shard; `None` where a shard gets nothing."""
    if shards == 1:
        return [partials]
    owner = np.array([shard_of(key, shards) for key in partials.keys], np.int32)
    present = np.zeros(len(owner), np.bool_)
    present[partials.group] = True
    parts = []
    for shard in range(shards):
        chosen = present & (owner == shard)
        parts.append(partials.of_groups(chosen) if chosen.any() else None)
    return parts


def shard_of(key: GroupKey, shards: int) -> int:
    """The shard that owns a group: stable over processes and restarts."""
    return zlib.crc32(msgspec.json.encode(key)) % shards
