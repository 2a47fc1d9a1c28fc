"""Map side: decoded events to partials per (lane, slice, group), before anything is shuffled."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from streaming import expressions
from streaming.aggregates import IDENTITY, Family
from streaming.lanes import LATEST, Lane
from streaming.results import GroupKey
from streaming.sources import FieldType


@dataclass(frozen=True)
class Grouping:
    """The group of every event: `codes[i]` indexes `keys`."""

    codes: np.ndarray
    keys: list[GroupKey]


@dataclass(frozen=True)
class LanePartials:
    """One partial per (slice, group) of a lane, as parallel arrays."""

    lane: str
    keys: list[GroupKey]
    group: np.ndarray  # int32, into keys
    start: np.ndarray  # int64, of the slice
    events: np.ndarray  # float64
    values: np.ndarray  # float64
    x: np.ndarray  # float64, the family's own column
    error: np.ndarray  # float64, what the sum in x lost to rounding

    def of_rows(self, rows: np.ndarray) -> "LanePartials":
        """The partials that `rows` (a mask) keeps."""
        return replace(
            self,
            group=self.group[rows],
            start=self.start[rows],
            events=self.events[rows],
            values=self.values[rows],
            x=self.x[rows],
            error=self.error[rows],
        )

    def of_groups(self, chosen: np.ndarray) -> "LanePartials":
        """The partials of the groups that `chosen` (a mask over `keys`) keeps."""
        kept = self.of_rows(chosen[self.group])
        place = np.cumsum(chosen, dtype=np.int32) - 1
        keys = [key for key, keep in zip(self.keys, chosen.tolist(), strict=True) if keep]
        return replace(kept, keys=keys, group=place[kept.group].astype(np.int32))


def group(table: pa.Table, group_by: tuple[str, ...], types: dict[str, FieldType]) -> Grouping:
    """Number the groups of a table; null is a group of its own."""
    codes = np.zeros(len(table), np.int64)
    keys: list[GroupKey] = [()]
    for name in group_by:
        encoded = table.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        values = [_group_value(value, types[name]) for value in encoded.dictionary.to_pylist()]
        codes = codes * max(1, len(values)) + encoded.indices.to_numpy(zero_copy_only=False)
        keys = [(*key, value) for key in keys for value in values]
        if len(keys) > 1 and len(group_by) > 1:
            present, codes = np.unique(codes, return_inverse=True)
            keys = [keys[code] for code in present.tolist()]
    return Grouping(codes, keys)


def _group_value(value: object, kind: FieldType) -> object:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def fold(
    table: pa.Table,
    times: np.ndarray,
    lanes: tuple[Lane, ...],
    types: dict[str, FieldType],
) -> list[LanePartials]:
    """Partials of all lanes from one table of events; filters and groupings are worked out once each."""
    kept: dict[str | None, np.ndarray | None] = {None: None}
    groupings: dict[tuple[str, ...], Grouping] = {}
    result = []
    for lane in lanes:
        signature = lane.signature
        if signature.where not in kept:
            kept[signature.where] = expressions.keeps(str(signature.where), table)
        if signature.group_by not in groupings:
            groupings[signature.group_by] = group(table, signature.group_by, types)
        partials = _fold_lane(table, times, lane, groupings[signature.group_by], kept[signature.where])
        if partials is not None:
            result.append(partials)
    return result


def _fold_lane(
    table: pa.Table, times: np.ndarray, lane: Lane, grouping: Grouping, kept: np.ndarray | None
) -> LanePartials | None:
    starts = lane.slice_starts(times)
    inside = starts < LATEST
    if kept is not None:
        inside &= kept
    rows = np.flatnonzero(inside)
    if not len(rows):
        return None
    x = _field(table, lane.signature.field)[rows]
    slices, position = np.unique(starts[rows], return_inverse=True)
    slots = position * len(grouping.keys) + grouping.codes[rows]
    size = len(slices) * len(grouping.keys)
    used = None
    if size > 8 * len(rows) + 65_536:  # few events over many slices and groups: number the used slots
        used, slots = np.unique(slots, return_inverse=True)
        size = len(used)
    columns = np.zeros((4, size))
    columns[2] = IDENTITY[lane.signature.family]
    FOLDS[lane.signature.family](slots, x, *columns)
    some = np.flatnonzero(columns[0])
    where = some if used is None else used[some]
    return LanePartials(
        lane.id,
        grouping.keys,
        (where % len(grouping.keys)).astype(np.int32),
        slices[where // len(grouping.keys)],
        *columns[:, some],
    )


def _field(table: pa.Table, name: str | None) -> np.ndarray:
    """The field as floats, NaN for null; a field that is not numeric only says where it has a value."""
    if name is None:
        return np.zeros(len(table))
    column = table.column(name)
    if pa.types.is_floating(column.type):
        return column.to_numpy()
    return np.where(pc.is_valid(column).to_numpy(), 0.0, np.nan)


@njit(cache=True, nogil=True)
def _fold_sum(slots, x, events, values, total, error):  # type: ignore[no-untyped-def]
    for i in range(len(slots)):
        slot = slots[i]
        events[slot] += 1
        v = x[i]
        if v == v:
            values[slot] += 1
            # Two-sum: what the rounded addition lost goes into `error`, so that order does not matter.
            before = total[slot]
            after = before + v
            part = after - before
            total[slot] = after
            error[slot] += (before - (after - part)) + (v - part)


@njit(cache=True, nogil=True)
def _fold_max(slots, x, events, values, greatest, error):  # type: ignore[no-untyped-def]
    for i in range(len(slots)):
        slot = slots[i]
        events[slot] += 1
        v = x[i]
        if v == v:
            values[slot] += 1
            greatest[slot] = max(greatest[slot], v)


@njit(cache=True, nogil=True)
def _fold_min(slots, x, events, values, least, error):  # type: ignore[no-untyped-def]
    for i in range(len(slots)):
        slot = slots[i]
        events[slot] += 1
        v = x[i]
        if v == v:
            values[slot] += 1
            least[slot] = min(least[slot], v)


FOLDS: dict[Family, Callable[..., None]] = {"additive": _fold_sum, "max": _fold_max, "min": _fold_min}
