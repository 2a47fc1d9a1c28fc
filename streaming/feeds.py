"""Map side: partials of a lane made of the partials of another one, instead of the events once more.

The other lane's slices end wherever this one's do, its groups are as fine or finer, and it keeps the same
states; where it serves several filters its partials say which of them hold.
"""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from streaming import expressions
from streaming.aggregates.count import COUNT
from streaming.aggregates.gathering import Objects
from streaming.aggregates.states import PARTS
from streaming.decimals import DECIMALS
from streaming.expressions import Computed
from streaming.group_keys import GroupKeys
from streaming.kernels.run.gathered import gather_into
from streaming.lane_partials import LanePartials, nothing_gathered
from streaming.lanes import LATEST, Lane
from streaming.left_out import LeftOut
from streaming.results import GroupKey
from streaming.sources import FieldType


def fed(
    lane: Lane,
    feeding: Lane,
    partials: LanePartials | None,
    types: dict[str, FieldType],
    undecided: LeftOut,
) -> LanePartials | None:
    """The lane's partials, as far as it is fed; `undecided` is told on how many events its filter fails."""
    if partials is None or lane.feed is None:
        return None
    keys, number = _projected(lane, feeding, partials, types, undecided)
    starts = lane.slice_starts(partials.start)  # it may have ended before the other one
    is_fed = (partials.start >= lane.feed.since) & (starts < LATEST)
    rows = np.flatnonzero(is_fed & (number[partials.group] >= 0))
    if not len(rows):
        return None
    if keys is partials.keys and len(rows) == len(starts) and np.array_equal(starts, partials.start):
        return _as_they_are(lane, feeding, partials)
    starts, group = starts[rows], number[partials.group[rows]]
    slices, position = np.unique(starts, return_inverse=True)
    used, slots = _numbered(position * len(keys) + group, len(slices) * len(keys))
    states = (
        _gathered(name, slots, states[:, rows], len(used))
        for name, states in zip(lane.signature.parts, _states_for(lane, feeding, partials), strict=True)
    )
    events = _counted(slots, partials.events[rows], len(used))
    is_same = partials.values is partials.events
    return LanePartials(
        lane.id,
        keys,
        (used % len(keys)).astype(np.int32),
        slices[used // len(keys)],
        events,
        events if is_same else _counted(slots, partials.values[rows], len(used)),
        tuple(states),
        len(lane.fragments),
    )


def _as_they_are(lane: Lane, feeding: Lane, partials: LanePartials) -> LanePartials:
    """Where the other lane has the same groups and, in these events, the same slices."""
    states = tuple(_states_for(lane, feeding, partials))
    return replace(partials, lane=lane.id, parts=states, fragments=len(lane.fragments))


def _states_for(lane: Lane, feeding: Lane, partials: LanePartials) -> list[np.ndarray]:
    """The states of the lane's parts, among those of the other lane."""
    at = {name: place for place, name in enumerate(feeding.signature.parts)}
    return [partials.parts[at[name]] for name in lane.signature.parts]


def _projected(
    lane: Lane, feeding: Lane, partials: LanePartials, types: dict[str, FieldType], undecided: LeftOut
) -> tuple[GroupKeys, np.ndarray]:
    """The lane's groups, and for each group of the other lane which of them it goes to; −1: none."""
    own, other = lane.signature, feeding.signature
    if (own.where, own.group_by, lane.fragments) == (other.where, other.group_by, feeding.fragments):
        return partials.keys, np.arange(len(partials.keys))
    names = (*feeding.signature.group_by, *feeding.fragments)
    wanted = [names.index(name) for name in (*lane.signature.group_by, *lane.fragments)]
    keys = partials.keys.tuples()
    decided = _decided(lane, feeding, names, keys, types)
    if own.where and own.where not in undecided and decided.failed is not None:
        count = int(partials.events[decided.failed[partials.group]].sum())
        undecided.note(own.where, count, decided.why)
    number: dict[GroupKey, int] = {}
    place = [
        number.setdefault(tuple(key[at] for at in wanted), len(number)) if keep else -1
        for key, keep in zip(keys, decided.holds.tolist(), strict=True)
    ]
    return GroupKeys.of_tuples(list(number)), np.array(place, np.int64)


def _decided(
    lane: Lane, feeding: Lane, names: tuple[str, ...], keys: list[GroupKey], types: dict[str, FieldType]
) -> Computed:
    """Which groups of the other lane pass this one's filter: a fragment, or one on fields grouped by."""
    where = lane.signature.where
    if where is None or where == feeding.signature.where:
        return Computed.known([True] * len(keys))
    if where in feeding.fragments:
        at = names.index(where)
        return Computed.known([bool(key[at]) for key in keys])
    own = expressions.fields(where)  # of the types that they have in events, or the answers would differ
    columns = {
        name: _column([key[at] for key in keys], types[name]) for at, name in enumerate(names) if name in own
    }
    return expressions.decided(where, pa.table(columns))


def _column(values: list[Any], kind: FieldType) -> pa.Array:
    if kind in DECIMALS:
        values = [None if value is None else Decimal(str(value)) for value in values]
    return pa.array(values, expressions.ARROW_TYPES[kind])


def _numbered(slots: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The slots that are used, and which of them each is: np.unique without sorting where they are dense."""
    if size > 8 * len(slots) + 65_536:
        used, numbers = np.unique(slots, return_inverse=True)
        return used, numbers
    present = np.zeros(size, np.bool_)
    present[slots] = True
    used = np.flatnonzero(present)
    place = np.empty(size, np.int64)
    place[used] = np.arange(len(used))
    return used, place[slots]


def _counted(slots: np.ndarray, numbers: np.ndarray, size: int) -> np.ndarray:
    store = np.zeros((1, size))
    gather_into(COUNT, slots, np.ascontiguousarray(numbers)[None], store)
    return store[0]


def _gathered(name: str, slots: np.ndarray, states: np.ndarray, size: int) -> np.ndarray:
    gathering = PARTS[name].gathering
    store = nothing_gathered(gathering, size)
    if isinstance(gathering, Objects):
        for at, state in zip(slots.tolist(), states[0], strict=True):
            store[0, at] = gathering.combine(store[0, at], state)
    else:
        gather_into(gathering.algebra, slots, np.ascontiguousarray(states), store)
    return store
