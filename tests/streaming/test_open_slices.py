"""Open slices against a dictionary: whatever comes, closes, widens, leaves or is stored and read back."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.aggregates.states import PARTS
from streaming.group_index import GroupIndex
from streaming.group_keys import GroupKeys
from streaming.lane_partials import LanePartials
from streaming.open_slices import FEW_ROWS, OpenSlices

NAMES = ("sum", "max")
SLICE = 10

Row = tuple[int, int, int, int, float]  # slice, group, events, values, value


class Model:
    """What open slices are to hold: events, values, their sum and greatest by slice and group."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], list[float]] = {}

    def merge(self, rows: list[Row]) -> None:
        for number, group, events, values, value in rows:
            held = self.held.setdefault((number * SLICE, group), [0, 0, 0.0, -np.inf])
            held[0] += events
            held[1] += values
            held[2] += value
            held[3] = max(held[3], value)

    def of(self, start: int) -> dict[int, tuple[float, ...]]:
        return {group: tuple(held) for (at, group), held in self.held.items() if at == start}

    @property
    def starts(self) -> list[int]:
        return sorted({start for start, _ in self.held})


def partials(rows: list[Row], groups: int) -> LanePartials:
    number, group, events, values, value = (np.array(column) for column in zip(*rows, strict=True))
    exact = np.stack([value.astype(float), np.zeros(len(rows))])  # a sum, and what rounding lost of it
    counted = events.astype(float)
    return LanePartials(
        "lane",
        GroupKeys.of_tuples([(at,) for at in range(groups)]),
        group.astype(np.int32),
        number.astype(np.int64) * SLICE,
        counted,
        counted if (events == values).all() else values.astype(float),
        (exact, value.astype(float)[None]),
    )


def new_slices() -> OpenSlices:
    return OpenSlices([PARTS[name] for name in NAMES])


def merged(slices: OpenSlices, rows: list[Row], groups: int) -> list[int]:
    return slices.merge(partials(rows, groups), np.arange(groups), groups, lambda start: start + SLICE)


def held_by(slices: OpenSlices, start: int, width: int) -> dict[int, tuple[float, ...]]:
    columns = slices.columns([start], width).one(0)
    (sums,), (greatest,) = columns.parts
    found = zip(columns.events, columns.values, sums, greatest, strict=True)
    return {group: tuple(map(float, each)) for group, each in enumerate(found) if each[0]}


events = st.integers(1, 3)
row = st.tuples(st.integers(0, 80), st.integers(0, 6), events, events, st.integers(-9, 9).map(float))
even = row.map(lambda each: (*each[:3], each[2], each[4]))  # every event has a value
batch = st.tuples(
    st.integers(7, 40), st.lists(row, min_size=1) | st.lists(even, min_size=1), st.integers(0, 900)
)


@settings(deadline=None)
@given(st.lists(batch, min_size=1, max_size=6))
def test_slices_hold_what_was_gathered_until_they_close(batches: list[tuple[int, list[Row], int]]) -> None:
    slices, model, width, closed = new_slices(), Model(), 0, -SLICE
    for groups, some, instant in batches:
        width = max(width, groups)
        rows = [each for each in some if each[0] * SLICE > closed]  # nothing comes for slices that are closed
        if rows:
            touched = merged(slices, rows, width)
            assert touched == sorted({each[0] * SLICE for each in rows})
        model.merge(rows)
        assert slices.starts == model.starts
        assert {start: held_by(slices, start, width) for start in slices.starts} == {
            start: model.of(start) for start in model.starts
        }
        ended = slices.ended(instant)
        assert ended == [start for start in model.starts if start + SLICE <= instant]
        before = {start: model.of(start) for start in ended}
        slices.close(ended)
        model.held = {place: held for place, held in model.held.items() if place[0] not in before}
        closed = max([closed, *ended])
        assert read_back(slices, [*ended, *slices.starts], width) == before | {
            start: model.of(start) for start in model.starts
        }


def read_back(slices: OpenSlices, starts: list[int], width: int) -> dict[int, dict[int, tuple[float, ...]]]:
    """What slices hold, by way of the state log."""
    index, other = GroupIndex(1_000), new_slices()
    index.numbers(GroupKeys.of_tuples([(at,) for at in range(width)]))
    for start, data in zip(starts, slices.stored(starts, index.ids), strict=True):
        other.merge_bytes(start, data, index, lambda start: start + SLICE)
    return {start: held_by(other, start, width) for start in starts}


def test_groups_that_leave_take_nothing_of_the_others_with_them() -> None:
    slices, rows = new_slices(), [(0, group, 1, 1, float(group)) for group in range(6)]
    merged(slices, rows, 6)
    slices.keep(np.array([1, 4]))
    merged(slices, [(0, 1, 1, 1, 10.0), (0, 2, 1, 1, 5.0)], 3)
    assert held_by(slices, 0, 3) == {0: (1, 1, 1.0, 1.0), 1: (2, 2, 14.0, 10.0), 2: (1, 1, 5.0, 5.0)}
    assert slices.holds(4).tolist() == [True, True, True, False]


def test_rows_are_let_go_after_a_batch_of_many_slices() -> None:
    slices = new_slices()
    merged(slices, [(number, 0, 1, 1, 1.0) for number in range(500)], 1)
    slices.close(slices.ended(499 * SLICE))
    merged(slices, [(500, 0, 1, 1, 1.0)], 1)
    assert slices.depth >= 499  # those that closed may still be stored
    slices.close(slices.ended(500 * SLICE))
    assert slices.depth <= 2 * FEW_ROWS
    assert held_by(slices, 500 * SLICE, 1) == {0: (1, 1, 1.0, 1.0)}
    assert read_back(slices, [499 * SLICE], 1) == {499 * SLICE: {0: (1, 1, 1.0, 1.0)}}
