"""Map side of count and session windows: events one by one, or as the sessions that a task sees of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import msgspec
import numpy as np
import pyarrow as pa

from optimizer.group_windows import SessionWindow
from streaming import expressions, group_rows
from streaming.aggregates.gathering import Order
from streaming.aggregates.states import PARTS
from streaming.expressions import Computed
from streaming.group_keys import GroupKeys
from streaming.group_lanes import GroupLane
from streaming.group_rows import PackedRows, Rows
from streaming.group_state import GroupLaneState
from streaming.left_out import LeftOut
from streaming.partials import Grouping, Lifting, Slots, Values, group
from streaming.sessions import session_numbers
from streaming.sources import FieldType


@dataclass(frozen=True)
class GroupPartials:
    """The rows of one lane; their groups index `keys`."""

    lane: str
    keys: GroupKeys
    rows: Rows


class _Packed(msgspec.Struct, array_like=True):
    lane: str
    keys: bytes
    rows: PackedRows


def fold(
    table: pa.Table,
    order: Order,
    lanes: Sequence[GroupLane],
    types: dict[str, FieldType],
    left_out: LeftOut,
) -> list[GroupPartials]:
    """What each lane needs of a table of events; what several need is worked out once."""

    @cache
    def grouping(group_by: tuple[str, ...]) -> Grouping:
        return group(table, group_by, types)

    @cache
    def decided(where: str) -> Computed:
        return expressions.decided(where, table)

    @cache
    def values(field: str) -> Values:
        return Values.of(field, table)

    found = []
    for lane in lanes:
        kept = order.times >= lane.since
        if lane.where:
            left_out.note(lane.id, *decided(lane.where).failures(kept))
            kept &= decided(lane.where).holds
        if kept.any():
            held = values(lane.field) if lane.field else None
            found.append(
                _partials(lane, np.flatnonzero(kept), grouping(lane.group_by), held, order, left_out)
            )
    return found


def _partials(
    lane: GroupLane,
    rows: np.ndarray,
    grouping: Grouping,
    values: Values | None,
    order: Order,
    left_out: LeftOut,
) -> GroupPartials:
    slots = _slots(lane, rows, grouping, order)
    newest = slots.rows[np.searchsorted(slots.slots, slots.used, side="right") - 1]  # of each slot
    counted = slots.events
    states: tuple[np.ndarray, ...] = ()
    if values is not None:
        lifting = Lifting(values, slots, order)
        states = tuple(lifting.gathered(PARTS[name]) for name in lane.parts)
        counted = lifting.counted
        left_out.note(lane.id, *lifting.failures)
    made = Rows(
        slots.group,
        slots.start,
        order.times[newest],
        order.places[newest].astype(np.int64),
        slots.events,
        counted,
        states,
    )
    return GroupPartials(lane.id, grouping.keys, made)


def _slots(lane: GroupLane, rows: np.ndarray, grouping: Grouping, order: Order) -> Slots:
    """Where events go: each to itself, or with those of its group that are in one session with it."""
    times, codes = order.times[rows], grouping.codes[rows].astype(np.int64)
    if isinstance(lane.window, SessionWindow):
        by_group = np.lexsort((times, codes))
        rows, times, codes = rows[by_group], times[by_group], codes[by_group]
        slots = session_numbers(codes, times, times, lane.window.gap)
    else:
        slots = np.arange(len(rows))
    size = int(slots[-1]) + 1
    heads = np.searchsorted(slots, np.arange(size))
    events = np.bincount(slots).astype(np.float64)
    return Slots(rows, slots, size, times[heads], codes[heads], np.arange(size), events)


def packed_by_shard(partials: GroupPartials, shards: int, within: range) -> list[bytes | None]:
    """What each shard gets to hear, `within` being those that answer the lane; `None`: it gets nothing."""
    rows = partials.rows
    owner = partials.keys.owners(within)[rows.group]
    return [_packed(partials, rows.only(owner == shard)) for shard in range(shards)]


def _packed(partials: GroupPartials, rows: Rows) -> bytes | None:
    if not len(rows):
        return None
    present, group = np.unique(rows.group, return_inverse=True)
    packed = group_rows.pack(replace(rows, group=group))
    keys = partials.keys.take(present).packed()
    return msgspec.msgpack.encode(_Packed(partials.lane, keys, packed))


_decoder = msgspec.msgpack.Decoder(_Packed)


def unpacked(message: bytes, lanes: dict[str, GroupLaneState]) -> GroupPartials:
    packed = _decoder.decode(message)
    algebras = [part.gathering.algebra for part in lanes[packed.lane].parts]
    keys = GroupKeys.unpacked(packed.keys)
    return GroupPartials(packed.lane, keys, group_rows.unpack(packed.rows, algebras))
