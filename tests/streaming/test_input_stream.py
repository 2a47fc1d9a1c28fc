"""How far a batch reads, and who reads what of it."""

import pickle
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable

from streaming import input_stream
from streaming.input_stream import (
    FEW,
    NOTHING_BACK,
    TICK_MS,
    InputReader,
    InputSetup,
    PastInput,
    Range,
    limited,
    shared_out,
)

OFFSETS = st.dictionaries(st.integers(0, 9), st.integers(0, 10_000), min_size=1)


@given(known=OFFSETS, ends=OFFSETS, most=st.integers(1, 20_000))
def test_a_batch_reads_forward_and_not_much_more_than_it_may(known, ends, most):
    start = {str(number): offset for number, offset in known.items()}
    end = limited(start, ends, most)
    assert end.keys() == {str(number) for number in ends}
    read = {number: end[number] - start.get(number, 0) for number in end}
    assert all(
        0 <= count <= max(0, ends[int(number)] - start.get(number, 0)) for number, count in read.items()
    )
    assert sum(read.values()) <= most + len(ends)
    left = sum(max(0, ends[int(number)] - start.get(number, 0)) for number in end)
    assert sum(read.values()) >= min(left, most)


@given(known=OFFSETS, ends=OFFSETS, most=st.integers(1, 500))
def test_batch_after_batch_comes_to_the_end(known, ends, most):
    place = {str(number): offset for number, offset in known.items()}
    left = sum(max(0, end - known.get(number, 0)) for number, end in ends.items())
    for _ in range(left // most + 1):
        place = limited(place, ends, most)
    assert all(place[str(number)] == max(end, known.get(number, 0)) for number, end in ends.items())


@given(
    sizes=st.lists(st.integers(1, 50_000), max_size=12),
    tasks=st.integers(1, 8),
)
def test_every_partition_is_read_whole_by_one_task(sizes, tasks):
    ranges = [Range(number, 5, 5 + size) for number, size in enumerate(sizes)]
    shares = shared_out(ranges, tasks)
    assert sorted((each for share in shares for each in share), key=lambda each: each.partition) == ranges
    assert len(shares) <= tasks and all(shares)
    if 0 < sum(sizes) <= FEW:
        assert len(shares) == 1
    elif sizes:
        # Nobody has more than a fair share and one partition.
        assert max(sum(map(len, share)) for share in shares) <= sum(sizes) / len(shares) + max(sizes)


def test_what_plans_batches_travels_to_workers_as_a_text():
    setup = InputSetup(
        "a:1", "t", "b:2", "plans", "s", {"0": 7}, 3, "progress", 50, 100, 2, b"\x00task", [0, 5]
    )
    assert InputSetup.from_option(setup.option()) == setup
    reader = pickle.loads(pickle.dumps(InputReader(setup)))  # noqa: S301 (as Spark does)
    assert reader.initialOffset() == {"events": {"0": 7}, "plans": 3, "clock": 0, "past": NOTHING_BACK}


def test_what_is_read_back_is_shared_out_beside_what_is_new():
    setup = InputSetup("a:1", "t", "b:2", "plans", "s", {"0": 7}, 3, "progress", 50, 100, 2, b"", [0, 5])
    reading = {"version": 4, "at": {"0": 0, "1": 0}, "end": {"0": 30_000, "1": 9_000}, "bounded": [1]}
    start = {
        "events": {"0": 40_000, "1": 9_000},
        "plans": 3,
        "clock": 10,
        "past": reading | {"messages": 39_000},
    }
    past = start["past"] | {"at": {"0": 20_000, "1": 9_000}}
    end = start | {"events": {"0": 40_010, "1": 9_000}, "clock": 12, "past": past}
    inputs = InputReader(setup).partitions(start, end)
    assert [(given.now, given.clock, given.ranges) for given in inputs] == [
        (12, 12, [Range(0, 40_000, 40_010)]),
        (12, None, []),
    ]
    assert [given.past.ranges for given in inputs] == [[Range(0, 0, 20_000)], [Range(1, 0, 9_000)]]
    assert {(each.past.version, each.past.read, each.past.messages) for each in inputs} == {
        (4, 29_000, 39_000)
    }


def test_a_past_that_nobody_waits_for_any_more_is_given_up_without_reading_it():
    setup = InputSetup("a:1", "t", "b:2", "plans", "s", {"0": 7}, 3, "progress", 50, 100, 2, b"", [0, 5])
    past = {"version": 4, "at": {"0": 5}, "end": {"0": 9}, "bounded": [], "messages": 9}
    start = {"events": {"0": 9}, "plans": 3, "clock": 10, "past": past}
    (given,) = InputReader(setup).partitions(
        start, start | {"clock": 11, "past": NOTHING_BACK | {"version": 4}}
    )
    assert given.past == PastInput(4, [], [], 0, 0)


class Clocks:
    """In place of `time`: that of the wall can be set, and sleeping takes no time."""

    def __init__(self) -> None:
        self.wall, self.passed = 1_800_000_000.0, 0.0

    def time(self) -> float:
        return self.wall + self.passed

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds


class StandingStill(InputReader):
    """Plans batches of topics to which nothing comes."""

    def _events(self):
        return self

    def ends(self):
        return {0: 7}

    def _plans_end(self):
        return 3

    def _newest_progress(self):
        return None


@pytest.fixture
def clocks(monkeypatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(input_stream, "time", clocks)
    return clocks


def times_of(count: int, reader: InputReader, start: dict[str, Any]) -> list[int]:
    """The clocks of the next batches."""
    times = []
    for _ in range(count):
        start = reader.latestOffset(start, ReadAllAvailable())
        times.append(start["clock"])
    return times


def test_batches_without_events_have_the_time_of_the_wall_once_a_second(clocks: Clocks):
    reader = StandingStill(InputSetup("a:1", "t", "b:2", "plans", "s", {"0": 7}, 3, "", 50, 100, 2, b"", [0]))
    first, *others = times_of(60, reader, reader.initialOffset())
    assert first == clocks.wall * 1000
    assert all(TICK_MS <= after - before < 1.2 * TICK_MS for before, after in pairwise([first, *others]))
    assert others[-1] == int(clocks.time() * 1000)


def test_a_clock_that_is_set_back_neither_hurries_nor_stops_the_batches(clocks: Clocks):
    reader = StandingStill(InputSetup("a:1", "t", "b:2", "plans", "s", {"0": 7}, 3, "", 50, 100, 2, b"", [0]))
    (last,) = times_of(1, reader, reader.initialOffset())
    clocks.wall -= 60
    start = reader.initialOffset() | {"clock": last}
    times = times_of(30, reader, start)
    assert 30 <= clocks.passed < 36
    assert all(TICK_MS <= after - before < 1.2 * TICK_MS for before, after in pairwise([last, *times]))
    assert times[-1] > clocks.time() * 1000  # it goes on from where it was
    *_, caught_up = times_of(700, reader, start | {"clock": times[-1]})
    assert caught_up == int(clocks.time() * 1000)


def test_a_job_that_starts_with_a_clock_before_its_last_batch_waits_for_its_ticks(clocks: Clocks):
    reader = StandingStill(InputSetup("a:1", "t", "b:2", "plans", "s", {"0": 7}, 3, "", 50, 100, 2, b"", [0]))
    last = int(clocks.time() * 1000) + 3_600_000
    times = times_of(10, reader, reader.initialOffset() | {"clock": last})
    assert 10 <= clocks.passed < 12
    assert times == sorted({*times}) and times[-1] - last >= 10 * TICK_MS
