"""Fields that hold something else than their type: no value there, and whoever reads them is told.

What is told of a lane follows from the events alone, whichever way its partials were made of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa

from streaming import expressions
from streaming.expressions import Computed
from streaming.formats.base import NOTHING_WRONG, Wrong
from streaming.group_lanes import GroupLane
from streaming.lanes import LATEST, Lane
from streaming.left_out import LeftOut
from streaming.sources import FieldType


@dataclass(frozen=True)
class LaneReader:
    """What a lane reads, and of which events by their times."""

    lane: str
    where: str | None
    asked: frozenset[str]  # fields of its filter
    taken: frozenset[str]  # of its value and its groups, which only events have that pass the filter
    computed: str | None  # its value, if that is an expression
    is_open: Callable[[np.ndarray], np.ndarray]


def readers(
    lanes: Iterable[Lane], group_lanes: Iterable[GroupLane], types: Mapping[str, FieldType]
) -> Iterator[LaneReader]:
    for lane in lanes:
        if lane.kept:
            own = lane.signature
            yield _reader(lane.id, own.where, own.field, own.group_by, types, _in_slices(lane))
    for each in group_lanes:
        yield _reader(each.id, each.where, each.field, each.group_by, types, _since(each.since))


def _reader(
    lane: str,
    where: str | None,
    value: str | None,
    group_by: tuple[str, ...],
    types: Mapping[str, FieldType],
    is_open: Callable[[np.ndarray], np.ndarray],
) -> LaneReader:
    asked = frozenset(expressions.fields(where))
    taken = frozenset(group_by) | expressions.fields_of_value(value, types)
    return LaneReader(lane, where, asked, taken, None if value in types else value, is_open)


def _in_slices(lane: Lane) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: lane.slice_starts(times) < LATEST


def _since(instant: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: times >= instant


def note(
    wrong: Mapping[str, Wrong],
    table: pa.Table,
    times: np.ndarray,
    lanes: Iterable[LaneReader],
    left_out: LeftOut,
) -> None:
    """Tell each lane once of every event with a wrong value that it reads."""
    rows = np.unique(np.concatenate([NOTHING_WRONG.rows, *(each.rows for each in wrong.values())]))
    if not len(rows):
        return
    events = _Events(wrong, rows, table.take(rows), times[rows])
    for lane in lanes:
        if not wrong.keys().isdisjoint(lane.asked | lane.taken):
            left_out.note(lane.lane, *events.concerning(lane))


class _Events:
    """Those with a wrong value in some field; what several lanes ask of them is worked out once."""

    def __init__(
        self, wrong: Mapping[str, Wrong], rows: np.ndarray, table: pa.Table, times: np.ndarray
    ) -> None:
        self._wrong = wrong
        self._rows = rows  # of the table that they are of
        self._times = times
        self._are_wrong = {name: np.isin(rows, each.rows) for name, each in wrong.items()}
        self._decided = cache(lambda where: expressions.decided(where, table))
        self._computed = cache(lambda value: expressions.values(value, table))

    def concerning(self, lane: LaneReader) -> tuple[int, str]:
        """How many of them, and what is wrong with the first."""
        passing, failed = np.ones(len(self._rows), np.bool_), np.zeros(len(self._rows), np.bool_)
        if lane.where:
            passing, failed = self._decided(lane.where).holds, _failed(self._decided(lane.where))
        if lane.computed:
            failed = failed | (passing & _failed(self._computed(lane.computed)))
        concerned = self._any_wrong(lane.asked) | (passing & self._any_wrong(lane.taken))
        concerned &= lane.is_open(self._times) & ~failed  # what an expression fails on is told by itself
        found = np.flatnonzero(concerned).tolist()
        return len(found), self._reason(lane, found[0]) if found else ""

    def _any_wrong(self, names: frozenset[str]) -> np.ndarray:
        masks = [mask for name, mask in self._are_wrong.items() if name in names]
        return np.any(masks, axis=0) if masks else np.zeros(len(self._rows), np.bool_)

    def _reason(self, lane: LaneReader, event: int) -> str:
        row = int(self._rows[event])
        names = [name for name in self._wrong if name in lane.asked | lane.taken]
        return next(reason for name in names if (reason := self._wrong[name].at(row)))


def _failed(computed: Computed) -> np.ndarray:
    """Where an expression fails."""
    known = len(computed.column)
    return np.zeros(known, np.bool_) if computed.failed is None else computed.failed
