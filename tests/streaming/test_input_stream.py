"""How far a batch reads, and who reads what of it."""

import pickle
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable

from streaming import input_stream
from streaming.input_stream import (
    FEW,
    LONG_TICK_MS,
    NOTHING_BACK,
    PAST_PER_BATCH,
    TICK_MS,
    InputReader,
    InputSetup,
    PastInput,
    Range,
    TaskInput,
    limited,
    shared_out,
)
from streaming.progress import Progress

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

    plans = 3

    def _events(self):
        return self

    def ends(self):
        return {0: 7}

    def _plans_end(self):
        return self.plans

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


class Told(StandingStill):
    """Plans batches by what shards tell, of topics of which these are the offsets."""

    def __init__(self, ends: dict[int, int], past_messages: int = 10**9) -> None:
        setup = InputSetup(
            "a:1", "t", "b:2", "plans", "s", {"0": 0}, 3, "", past_messages, 10**9, 2, b"", [0]
        )
        super().__init__(setup)
        self.told: Progress | None = None
        self.held = ends
        self.first_wanted = dict.fromkeys(ends, 0)

    def tell(self, wanted: tuple[int, int] | None, *, is_still: bool = False) -> None:
        self.told = Progress(0, msgspec.Raw(), {}, 0, wanted=wanted, is_still=is_still)

    def next_batch(self, start: dict[str, Any]) -> tuple[dict[str, Any], list[TaskInput]]:
        end = self.latestOffset(start, ReadAllAvailable())
        return end, self.partitions(start, end)

    def ends(self):
        return self.held

    def beginnings(self):
        return dict.fromkeys(self.held, 0)

    def offsets_at(self, instant):
        return self.first_wanted

    def _newest_progress(self):
        return self.told


LONG = 2 * PAST_PER_BATCH + 500


@pytest.fixture
def reader(clocks: Clocks) -> Told:
    """It has read 500 messages of one partition, and a lot of the other."""
    return Told({0: 500, 1: LONG})


@pytest.fixture
def place(reader: Told) -> dict[str, Any]:
    place, _ = reader.next_batch(reader.initialOffset())
    return place


def test_plans_that_are_there_before_the_first_events_are_adopted_before_these(clocks: Clocks):
    reader = Told({0: 500, 1: 20})
    reader.plans = 5  # of which the stream's first plan was the third
    first = reader.initialOffset()
    place = reader.latestOffset(first, ReadAllAvailable())
    assert (place["events"], place["plans"]) == (first["events"], 5)
    place = reader.latestOffset(place, ReadAllAvailable())
    assert (place["events"], place["plans"]) == ({"0": 500, "1": 20}, 5)
    reader.plans, reader.held = 6, {0: 501, 1: 20}
    clocks.sleep(1)
    place = reader.latestOffset(place, ReadAllAvailable())  # later ones come with events
    assert (place["events"], place["plans"]) == ({"0": 501, "1": 20}, 6)


def test_a_past_is_read_once_from_where_it_is_wanted_to_where_batches_were(reader: Told, place):
    reader.first_wanted = {0: 200, 1: -1}  # in the other partition nothing is as new
    reader.held = {0: LONG, 1: LONG}
    place, _ = reader.next_batch(place)
    reader.tell((4, 10**12))
    place, told = reader.next_batch(place)
    assert [given.past for given in told] == [PastInput(4, [], [], 0, LONG - 200)]
    reader.held = {0: LONG + 70, 1: LONG}  # what comes meanwhile is none of it
    past: list[Range] = []
    read: list[int] = []
    while place["past"]["at"] != place["past"]["end"]:
        place, told = reader.next_batch(place)
        past += [each for given in told if given.past for each in given.past.ranges]
        read += [given.past.read for given in told if given.past]
    assert past == [
        Range(0, 200, 200 + PAST_PER_BATCH),
        Range(0, 200 + PAST_PER_BATCH, 200 + 2 * PAST_PER_BATCH),
        Range(0, 200 + 2 * PAST_PER_BATCH, LONG),
    ]
    assert read == [PAST_PER_BATCH, 2 * PAST_PER_BATCH, LONG - 200]
    after, told = reader.next_batch(place)  # the shards may not have said yet that they have it
    assert after["past"] == place["past"] and [given.past for given in told] == [None]


def test_nothing_is_read_back_while_shards_say_nothing_or_want_nothing(reader: Told, place):
    for say in (lambda: None, lambda: reader.tell(None)):
        say()
        place, told = reader.next_batch(place)
        assert place["past"] == NOTHING_BACK and told[0].past is None


def test_reading_back_stands_still_while_nobody_says_whether_it_is_wanted(reader: Told, place):
    """As after a start of the job, until its newest progress has come."""
    reader.tell((4, 10**12))
    place, _ = reader.next_batch(place)
    reader.told = None
    after, _ = reader.next_batch(place)
    assert after["past"] == place["past"]
    reader.tell((4, 10**12))
    after, _ = reader.next_batch(after)
    assert after["past"]["at"] != place["past"]["at"]


@pytest.mark.parametrize("wanted", [None, (6, 10**12)], ids=["none", "that of a newer plan"])
def test_a_past_that_is_wanted_no_more_is_given_up_before_another_is_begun(reader: Told, place, wanted):
    reader.tell((4, 10**12))
    place, _ = reader.next_batch(place)
    place, _ = reader.next_batch(place)
    reader.tell(wanted)
    place, told = reader.next_batch(place)
    assert place["past"] == NOTHING_BACK | {"version": 4}
    assert [given.past for given in told if given.past] == [PastInput(4, [], [], 0, 0)]
    reader.tell((4, 10**12))  # of a batch before: it is not begun again
    place, told = reader.next_batch(place)
    assert place["past"] == NOTHING_BACK | {"version": 4} and told[0].past is None
    reader.tell((6, 10**12))
    place, told = reader.next_batch(place)
    assert told[0].past == PastInput(6, [], [], 0, 500 + LONG)
    assert place["past"]["at"] == {"0": 0, "1": 0} and place["past"]["end"] == place["events"]


def test_a_past_that_holds_no_message_is_told_once(reader: Told, place):
    reader.first_wanted = {0: -1, 1: -1}
    reader.tell((4, 10**12))
    place, told = reader.next_batch(place)
    assert [given.past for given in told] == [PastInput(4, [], [], 0, 0)]
    after, told = reader.next_batch(place)
    assert after["past"] == place["past"] and told[0].past is None


def test_no_more_is_read_back_than_may_be_and_partitions_that_had_more_are_told(clocks: Clocks):
    reader = Told({0: 500, 1: LONG}, past_messages=2_000)
    place, _ = reader.next_batch(reader.initialOffset())
    reader.tell((4, 10**12))
    place, told = reader.next_batch(place)
    assert place["past"]["at"] == {"0": 0, "1": LONG - 1_000}
    assert told[0].past == PastInput(4, [], [1], 0, 1_500)


def test_batches_come_seldom_while_shards_have_nothing_due(reader: Told, place, clocks: Clocks):
    reader.tell(None, is_still=True)
    seldom = times_of(5, reader, place)
    assert all(LONG_TICK_MS <= after - before < 1.2 * LONG_TICK_MS for before, after in pairwise(seldom))
    reader.tell(None)
    often = times_of(5, reader, place | {"clock": seldom[-1]})
    assert all(TICK_MS <= after - before < 1.2 * TICK_MS for before, after in pairwise(often))
