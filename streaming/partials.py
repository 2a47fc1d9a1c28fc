"""Map side: decoded events to partials per (lane, slice, group), before anything is shuffled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streaming import expressions, feeds
from streaming.aggregates.base import Part
from streaming.aggregates.gathering import Objects, Order
from streaming.aggregates.states import PARTS
from streaming.common_slices import common_lanes
from streaming.group_keys import Encodings, GroupKeys, Numbering, array_head
from streaming.kernels.run.gathered import gather_into
from streaming.lane_partials import LanePartials, nothing_gathered, numbered
from streaming.lanes import EARLIEST, LATEST, Cut, Lane, slice_starts
from streaming.sources import FieldType


@dataclass(frozen=True)
class Grouping:
    """The group of every event: `codes[i]` indexes `keys`."""

    codes: np.ndarray
    keys: GroupKeys

    def told_apart(self, held: Sequence[np.ndarray]) -> "Grouping":
        """With whether each of some filters holds as further fields of the group."""
        codes, keys = self.codes, self.keys.tuples()
        for kept in held:
            codes = 2 * codes + kept
            keys = [(*key, holds) for key in keys for holds in (False, True)]
        present, codes = np.unique(codes, return_inverse=True)
        return Grouping(codes, GroupKeys.of_tuples([keys[code] for code in present.tolist()]))


@dataclass(frozen=True)
class CutEvents:
    """The events that a filter keeps, by slice."""

    rows: np.ndarray  # of the events
    slices: np.ndarray  # their starts
    position: np.ndarray  # which of them each event is in


@dataclass(frozen=True)
class Slots:
    """Where events go: a slot is a slice and a group."""

    rows: np.ndarray  # of the events that are kept
    slots: np.ndarray  # of each of them
    size: int
    start: np.ndarray  # of every slot that has events
    group: np.ndarray  # likewise
    used: np.ndarray  # which slots have events
    events: np.ndarray  # of those


def fold(
    table: pa.Table, order: Order, lanes: Sequence[Lane], types: dict[str, FieldType]
) -> list[LanePartials]:
    """Partials of all lanes that shards keep, from one table of events."""
    events = Events(table, order, lanes, types)
    made = (events.partials(lane.id) for lane in lanes if lane.kept)
    return [partials.told_together() for partials in made if partials is not None]


class Events:
    """A table of events; what several lanes need of it (filters, groups, slots) is worked out once."""

    def __init__(
        self, table: pa.Table, order: Order, lanes: Sequence[Lane], types: dict[str, FieldType]
    ) -> None:
        self._table = table
        self._order = order
        self._types = types
        self._own = {lane.id: lane for lane in lanes}
        fed, self._common = self._with_common(lanes)
        self._lanes = {lane.id: lane for lane in fed} | self._common
        self._made: dict[str, LanePartials | None] = {}
        self._groupings: dict[tuple[str | None, ...], Grouping] = {}
        self._kept: dict[str, np.ndarray] = {}
        self._cut: dict[tuple[str | None, tuple[Cut, ...], int], CutEvents] = {}
        self._slots: dict[tuple[Any, ...], Slots | None] = {}
        self._values: dict[str, Values] = {}

    def _with_common(self, lanes: Sequence[Lane]) -> tuple[Sequence[Lane], dict[str, Lane]]:
        earliest = int(self._order.times.min(initial=LATEST))
        fed, common = common_lanes(lanes, earliest)
        return fed, {lane.id: lane for lane in common}

    def partials(self, lane_id: str) -> LanePartials | None:
        """Of the events, or of the partials of the lane that feeds it."""
        if lane_id not in self._made:
            self._made[lane_id] = self._make(self._lanes[lane_id])
        return self._made[lane_id]

    def _make(self, lane: Lane) -> LanePartials | None:
        if lane.feed is None or lane.feed.lane not in self._lanes:
            return self._folded(lane, LATEST)
        feeding = self._lanes[lane.feed.lane]
        if feeding.id in self._common and not self._is_worth(feeding):
            return self._folded(self._own[lane.id], LATEST)
        made = self.partials(feeding.id)
        if feeding.id in self._common and made is not None and made.failures[0]:
            return self._folded(self._own[lane.id], LATEST)  # which of the lanes could not take a value?
        return _together(feeds.fed(lane, feeding, made), self._folded(lane, lane.feed.since))

    def _is_worth(self, common: Lane) -> bool:
        """Whether common partials are so few that making others of them is the lesser work."""
        events = len(self._order.times)
        slices = 1 + self._span * sum(1 / period for period, _ in common.cuts[0].classes)
        groups = len(self._grouping(common.signature.group_by, ()).keys)
        return slices * groups < events / 2

    @cached_property
    def _span(self) -> int:
        """From the earliest event to the latest."""
        times = self._order.times
        return int(times.max() - times.min()) if len(times) else 0

    def _folded(self, lane: Lane, before: int) -> LanePartials | None:
        """Of the events whose time is less than `before`."""
        signature = lane.signature
        if before < LATEST and (before == EARLIEST or (self._order.times >= before).all()):
            return None
        grouping = self._grouping(signature.group_by, lane.fragments)
        slots = self._slots_of(lane, before, grouping)
        if slots is None:
            return None
        values = self._values_of(signature.field) if signature.field else None
        if values is None:
            counted = slots.events
            parts: list[np.ndarray] = []
            failures = (0, "")
        else:
            lifting = Lifting(values, slots, self._order)
            parts = [lifting.gathered(PARTS[name]) for name in signature.parts]
            counted, failures = lifting.counted, lifting.failures
        return LanePartials(
            lane.id,
            grouping.keys,
            slots.group,
            slots.start,
            slots.events,
            counted,
            tuple(parts),
            failures,
            len(lane.fragments),
        )

    def _grouping(self, group_by: tuple[str, ...], fragments: tuple[str, ...]) -> Grouping:
        key = (*group_by, None, *fragments)
        if key not in self._groupings:
            plain = group(self._table, group_by, self._types)
            held = [self._keeps(where) for where in fragments]
            self._groupings[key] = plain.told_apart(held) if held else plain
        return self._groupings[key]

    def _keeps(self, where: str) -> np.ndarray:
        if where not in self._kept:
            self._kept[where] = expressions.keeps(where, self._table)
        return self._kept[where]

    def _slots_of(self, lane: Lane, before: int, grouping: Grouping) -> Slots | None:
        signature = lane.signature
        key = (signature.where, signature.group_by, lane.fragments, lane.cuts, before)
        if key not in self._slots:
            cut = self._cut_events(signature.where, lane.cuts, before)
            self._slots[key] = _slots(cut, grouping) if len(cut.rows) else None
        return self._slots[key]

    def _cut_events(self, where: str | None, cuts: tuple[Cut, ...], before: int) -> "CutEvents":
        """The same for every group-by."""
        key = (where, cuts, before)
        if key not in self._cut:
            kept = self._keeps(where) if where else None
            if before < LATEST:
                early = self._order.times < before
                kept = early if kept is None else kept & early
            self._cut[key] = _cut_events(self._order.times, cuts, kept)
        return self._cut[key]

    def _values_of(self, field: str) -> "Values":
        if field not in self._values:
            known = field in self._table.column_names
            column = self._table.column(field) if known else expressions.values(field, self._table)
            self._values[field] = Values(column)
        return self._values[field]


def _together(one: LanePartials | None, other: LanePartials | None) -> LanePartials | None:
    """Partials of one lane that were made in two ways."""
    if one is None or other is None:
        return one or other
    return replace(
        one,
        keys=GroupKeys.together([one.keys, other.keys]),
        group=np.concatenate([one.group, other.group + np.int32(len(one.keys))]),
        start=np.concatenate([one.start, other.start]),
        events=np.concatenate([one.events, other.events]),
        values=np.concatenate([one.values, other.values]),
        parts=tuple(np.concatenate(both, axis=1) for both in zip(one.parts, other.parts, strict=True)),
        failures=(one.failures[0] + other.failures[0], one.failures[1] or other.failures[1]),
    )


class Values:
    """A field of all events, as numbers and as whatever it is."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column
        self.known: np.ndarray | None = (
            None if column.null_count == 0 else pc.is_valid(column).to_numpy(zero_copy_only=False)
        )

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """None: the field holds texts."""
        kind = self._column.type
        if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return None
        if pa.types.is_boolean(kind):
            return self._column.fill_null(False).to_numpy().astype(np.float64)
        return self._column.cast(pa.float64()).fill_null(0.0).to_numpy()

    @cached_property
    def items(self) -> np.ndarray:
        found = np.empty(len(self._column), object)
        found[:] = self._column.to_pylist()
        return found


class Lifting:
    """The values of the events in some slots on their way to gathered states."""

    def __init__(self, values: Values, slots: Slots, order: Order) -> None:
        known = None if values.known is None else values.known[slots.rows]
        self._values = values
        self._where = slots
        self._rows = slots.rows if known is None else slots.rows[known]
        self._slots = slots.slots if known is None else slots.slots[known]
        self._order = order
        self.failures = (0, "")

    @cached_property
    def counted(self) -> np.ndarray:
        """How many values each used slot has."""
        if self._slots is self._where.slots:  # every event has one
            return self._where.events
        return np.bincount(self._slots, minlength=self._where.size)[self._where.used].astype(np.float64)

    @cached_property
    def _numbers(self) -> np.ndarray | None:
        numbers = self._values.numbers
        return None if numbers is None else numbers[self._rows]

    @cached_property
    def _times(self) -> np.ndarray:
        return self._order.times[self._rows]

    def gathered(self, part: Part) -> np.ndarray:
        """The gathered states of the used slots: (columns, slots)."""
        if isinstance(part.gathering, Objects):
            return self._gathered_objects(part.gathering)
        columns, rows, slots = self._lifted(part)
        store = nothing_gathered(part.gathering, self._where.size)
        lifted = part.gathering.lifted(columns, self._order, rows)
        gather_into(part.gathering.algebra, slots, lifted, store)
        return store[:, self._where.used]

    def _lifted(self, part: Part) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        """Columns of states, and the rows and slots of the events that they are of."""
        numbers, lift = self._numbers, part.aggregate.lift_column
        if numbers is None or lift is None:
            return self._lifted_one_by_one(part)
        try:
            return lift(numbers, self._times)[part.at], self._rows, self._slots
        except (ValueError, OverflowError, ArithmeticError):
            return self._lifted_one_by_one(part)

    def _lifted_one_by_one(self, part: Part) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        """What cannot be lifted is left out and counted: one bad value stops nobody."""
        states, kept = [], []
        for at, row in enumerate(self._rows.tolist()):
            value = self._values.items[row]
            if part.takes == "pairs":
                value = (value, float(self._order.times[row]))
            try:
                states.append(part.aggregate.lift(value)[part.at])
                kept.append(at)
            except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
                self.failures = (self.failures[0] + 1, self.failures[1] or str(error))
        dtype = part.algebra.dtype
        columns: np.ndarray = np.array(states, dtype).reshape(len(states), len(part.algebra.identity)).T
        return tuple(columns), self._rows[kept], self._slots[kept]

    def _gathered_objects(self, gathering: Objects) -> np.ndarray:
        store = nothing_gathered(gathering, len(self._where.used))
        if not len(self._slots):
            return store
        by_slot = np.argsort(self._slots, kind="stable")
        slots, first = np.unique(self._slots[by_slot], return_index=True)
        place = np.searchsorted(self._where.used, slots)
        for at, members in zip(place.tolist(), np.split(by_slot, first[1:]), strict=True):
            store[0, at] = self._lifted_object(gathering, self._rows[members])
        return store

    def _lifted_object(self, gathering: Objects, rows: np.ndarray) -> Any:
        try:
            return gathering.lifted(self._values.items[rows].tolist(), self._order.of(rows))
        except (ValueError, TypeError, ArithmeticError) as error:
            self.failures = (self.failures[0] + len(rows), self.failures[1] or str(error))
            return gathering.nothing


def group(table: pa.Table, group_by: tuple[str, ...], types: dict[str, FieldType]) -> Grouping:
    """Number the groups of a table; null is a group of its own."""
    codes = np.zeros(len(table), np.int64)
    keys = GroupKeys.of_bytes([array_head(len(group_by))])
    for name in group_by:
        values, own = _encoded(table.column(name), types[name])
        count = max(1, len(values))
        codes = codes * count + own
        if len(keys) == 1:
            present = np.arange(len(values))
        else:
            present, codes = np.unique(codes, return_inverse=True)
        keys = keys.followed_by(present // count, values, present % count)
    return Grouping(codes, keys)


def _encoded(column: pa.ChunkedArray, kind: FieldType) -> tuple[Encodings, np.ndarray]:
    """The different values of a column, null as one of them, and which of them each row has."""
    chunks = column.chunks if pa.types.is_dictionary(column.type) else []
    if len(chunks) < 2:
        return _encoded_chunk(column.combine_chunks().dictionary_encode(), kind)
    parts = [_encoded_chunk(chunk, kind) for chunk in chunks]
    numbering = Numbering()
    numbers = numbering.numbers(Encodings.together([values for values, _ in parts]))
    bounds = np.cumsum([len(values) for values, _ in parts])[:-1]
    codes = [numbered[own] for numbered, (_, own) in zip(np.split(numbers, bounds), parts, strict=True)]
    return numbering.values, np.concatenate(codes)


def _encoded_chunk(encoded: pa.DictionaryArray, kind: FieldType) -> tuple[Encodings, np.ndarray]:
    distinct, indices = encoded.dictionary, encoded.indices
    if pa.types.is_string(distinct.type) or pa.types.is_large_string(distinct.type):
        values = Encodings.of_texts(distinct)
    else:
        numbering = Numbering()  # values that differ may have the same encoding: 0.0 and -0.0
        own = numbering.numbers(
            Encodings.of_values(_group_value(value, kind) for value in distinct.to_pylist())
        )
        values, indices = (
            numbering.values,
            pa.DictionaryArray.from_arrays(indices, pa.array(own)).cast(pa.int64()),
        )
    if encoded.null_count:
        indices = indices.fill_null(len(values))
        values = Encodings.together([values, Encodings.of_values([None])])
    return values, indices.to_numpy(zero_copy_only=False)


def _group_value(value: object, kind: FieldType) -> object:
    if not isinstance(value, float):
        return value
    if kind == "integer" and value.is_integer() and abs(value) < 1 << 63:
        return int(value)
    return value + 0.0  # -0.0 is 0.0


def _cut_events(times: np.ndarray, cuts: tuple[Cut, ...], kept: np.ndarray | None) -> CutEvents:
    starts = slice_starts(times, cuts)
    inside = starts < LATEST
    if kept is not None:
        inside &= kept
    rows = np.flatnonzero(inside)
    return CutEvents(rows, *numbered(starts[rows]))


def _slots(cut: CutEvents, grouping: Grouping) -> Slots:
    rows, slices = cut.rows, cut.slices
    groups = len(grouping.keys)
    slots = cut.position * groups + grouping.codes[rows]
    size = len(slices) * groups
    if size > 8 * len(rows) + 65_536:  # few events over many slices and groups: number the used slots
        where, slots = np.unique(slots, return_inverse=True)
        used = np.arange(len(where))
        size = len(where)
        events = np.bincount(slots, minlength=size)
    else:
        events = np.bincount(slots, minlength=size)
        used = where = np.flatnonzero(events)
        events = events[used]
    return Slots(
        rows,
        slots,
        size,
        slices[where // groups],
        (where % groups).astype(np.int32),
        used,
        events.astype(np.float64),
    )
