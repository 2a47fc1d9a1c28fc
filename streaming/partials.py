"""Map side: decoded events to partials per (lane, slice, group), before anything is shuffled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streaming import expressions, feeds
from streaming.aggregates.base import Part
from streaming.aggregates.gathering import Columns, Objects, Order
from streaming.aggregates.states import PARTS
from streaming.common_slices import common_lanes
from streaming.expressions import Computed
from streaming.group_keys import Encodings, GroupKeys, Numbering, array_head
from streaming.kernels.run.gathered import gather_into
from streaming.lane_partials import LanePartials, nothing_gathered, numbered
from streaming.lanes import EARLIEST, LATEST, Cut, Lane, slice_starts
from streaming.left_out import LeftOut
from streaming.results import plain_number
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
    table: pa.Table,
    order: Order,
    lanes: Sequence[Lane],
    types: dict[str, FieldType],
    left_out: LeftOut,
) -> list[LanePartials]:
    """Partials of all lanes that shards keep, from one table of events; `left_out` is told what they lack."""
    events = Events(table, order, lanes, types)
    kept = [lane for lane in lanes if lane.kept]
    made = [events.partials(lane.id) for lane in kept]
    for lane in kept:
        left_out.note(lane.id, *events.undecided(lane.signature.where))
        left_out.note(lane.id, *events.left_out.get(lane.id, (0, "")))
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
        self._decided: dict[str, Computed] = {}
        self._cut: dict[tuple[str | None, tuple[Cut, ...], int], CutEvents] = {}
        self._slots: dict[tuple[Any, ...], Slots | None] = {}
        self._values: dict[str, Values] = {}
        self._refusing: set[str] = set()  # lanes of which an aggregate could not take some values
        self.left_out = LeftOut()  # of the values that the lanes' filters let pass
        self._undecided_groups = LeftOut()  # by filter that was asked about groups

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
        if self._is_stopped(feeding.signature.where):  # by the filter of which of the lanes that it feeds?
            return self._folded(self._own[lane.id], LATEST)
        if feeding.id in self._common and not self._is_worth(feeding):
            return self._folded(self._own[lane.id], LATEST)
        made = self.partials(feeding.id)
        if feeding.id in self._common and feeding.id in self._refusing:
            return self._folded(self._own[lane.id], LATEST)  # which of the lanes could not take a value?
        self.left_out.note(lane.id, *self.left_out.get(feeding.id, (0, "")))
        fed = feeds.fed(lane, feeding, made, self._types, self._undecided_groups)
        return _together(fed, self._folded(lane, lane.feed.since))

    def _is_stopped(self, where: str | None) -> bool:
        return where is not None and self._decide(where).stopped

    def undecided(self, where: str | None) -> tuple[int, str]:
        """On how many events a filter fails, and why: it was asked about them or about their groups."""
        if where in self._decided:
            return self._decided[where].failures()
        return self._undecided_groups.get(where or "", (0, ""))

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
        else:
            lifting = Lifting(values, slots, self._order)
            parts = [lifting.gathered(PARTS[name]) for name in signature.parts]
            counted = lifting.counted
            self.left_out.note(lane.id, *lifting.failures)
            if lifting.refused:
                self._refusing.add(lane.id)
        return LanePartials(
            lane.id,
            grouping.keys,
            slots.group,
            slots.start,
            slots.events,
            counted,
            tuple(parts),
            len(lane.fragments),
        )

    def _grouping(self, group_by: tuple[str, ...], fragments: tuple[str, ...]) -> Grouping:
        key = (*group_by, None, *fragments)
        if key not in self._groupings:
            plain = group(self._table, group_by, self._types)
            held = [self._decide(where).holds for where in fragments]
            self._groupings[key] = plain.told_apart(held) if held else plain
        return self._groupings[key]

    def _decide(self, where: str) -> Computed:
        if where not in self._decided:
            self._decided[where] = expressions.decided(where, self._table)
        return self._decided[where]

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
            kept = self._decide(where).holds if where else None
            if before < LATEST:
                early = self._order.times < before
                kept = early if kept is None else kept & early
            self._cut[key] = _cut_events(self._order.times, cuts, kept)
        return self._cut[key]

    def _values_of(self, field: str) -> "Values":
        if field not in self._values:
            self._values[field] = Values.of(field, self._table)
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
    )


class Values:
    """A field of all events, as numbers and as whatever it is."""

    @classmethod
    def of(cls, field: str, table: pa.Table) -> "Values":
        """A field by its name, or what an expression makes of some."""
        known = field in table.column_names
        return cls(Computed(table.column(field)) if known else expressions.values(field, table))

    def __init__(self, computed: Computed) -> None:
        self._column = column = computed.column
        self.failures = computed.failures
        self.known: np.ndarray | None = (
            None if column.null_count == 0 else pc.is_valid(column).to_numpy(zero_copy_only=False)
        )

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """None: the field holds something else."""
        kind = self._column.type
        if pa.types.is_boolean(kind):
            return self._column.fill_null(False).to_numpy().astype(np.float64)
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return None
        if self.units is not None:
            return self._floats(*self.units)
        # Unsafe: an integer that a float cannot hold is the nearest one, not the end of the batch.
        return self._column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy()

    def _floats(self, units: np.ndarray, places: int) -> np.ndarray:
        """The floats nearest to decimals; Arrow's own are not always."""
        high, low = units
        found = low / 10.0**places  # one rounding of two numbers that are exact, which most are
        others = (high != low >> 63) | (np.abs(low) >= 1 << 53)
        if self.known is not None:
            others &= self.known
        for row in np.flatnonzero(others).tolist():
            found[row] = float(self._column[row].as_py())
        return found

    @cached_property
    def units(self) -> tuple[np.ndarray, int] | None:
        """Of decimals, the upper and lower 64 bits of their units, and how many places they have."""
        if not pa.types.is_decimal128(self._column.type):
            return None
        column = self._column.combine_chunks() if isinstance(self._column, pa.ChunkedArray) else self._column
        bits = np.frombuffer(column.buffers()[1], np.int64)
        pairs = bits[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
        return np.ascontiguousarray(pairs.T[::-1]), column.type.scale

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
        self.failures = values.failures(slots.rows)  # what could not be computed, then what cannot be lifted
        self.refused = 0

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
        try:
            found = self._lifted_at_once(part)
            if found is None:
                return self._lifted_one_by_one(part)
            return found[part.at], self._rows, self._slots
        except (ValueError, OverflowError, ArithmeticError):
            return self._lifted_one_by_one(part)

    def _lifted_at_once(self, part: Part) -> tuple[Columns, ...] | None:
        aggregate = part.aggregate
        if aggregate.lift_units is not None and self._values.units is not None:
            units, places = self._values.units
            return aggregate.lift_units(units[:, self._rows], places)
        if aggregate.lift_column is None or self._numbers is None:
            return None
        return aggregate.lift_column(self._numbers, self._times)

    def _lifted_one_by_one(self, part: Part) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
        """What cannot be lifted is left out and counted: one bad value stops nobody."""
        states: list[np.ndarray] = []
        kept: list[int] = []
        dtype = part.algebra.dtype
        for at, row in enumerate(self._rows.tolist()):
            value = self._values.items[row]
            if part.takes == "pairs":
                value = (value, float(self._order.times[row]))
            try:
                states.append(np.array(part.aggregate.lift(value)[part.at], dtype))
                kept.append(at)
            except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
                self._refuse(1, error)
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
            self._refuse(len(rows), error)
            return gathering.nothing

    def _refuse(self, count: int, error: Exception) -> None:
        self.refused += count
        self.failures = (self.failures[0] + count, self.failures[1] or str(error))


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
    if isinstance(value, Decimal):
        return plain_number(value)
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
