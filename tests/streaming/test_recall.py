"""Queries that come later: what they lack of the past is read back from the log."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from streaming.input_stream import PastInput, Range
from streaming.lanes import LATEST
from streaming.recall import next_wanted
from tests.streaming.engine import SOURCE, Engine, Event, Stamped, accepted, brute_force, plan_of

BASE = 1_700_000_000_000


def query(name: str, range_: int, slide: int, aggregate: str = "max", **rest: Any) -> Query:
    window = Window(range_, slide, rest.pop("offset", 0))
    return Query(name, "s", aggregate, rest.pop("field", "temp"), window, **rest)


def event(at: int, device: str = "a", temp: float = 1.0) -> Event:
    return {"ts": BASE + at, "device": device, "temp": temp}


@dataclass
class ReadingBack:
    """Does what the planning of batches does, `most` messages of every partition at a time."""

    engine: Engine
    most: int
    bounded: list[int] = field(default_factory=list)
    skip: int = 0  # messages at the beginning of every partition that are not there any more
    at: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    version: int = 0

    def next(self) -> PastInput | None:
        wanted = next_wanted(self.engine.timeline, self.engine.watermark)
        if self.at == self.end:
            if wanted is None or wanted[0] <= self.version:
                return None
            self.version = wanted[0]
            self.end = {number: len(log) for number, log in self.engine.read.items()}
            self.at = {number: min(self.skip, end) for number, end in self.end.items()}
            return self._input([])
        ranges = [
            Range(number, at, min(at + self.most, self.end[number]))
            for number, at in self.at.items()
            if at < self.end[number]
        ]
        self.at |= {each.partition: each.until for each in ranges}
        return self._input(ranges)

    def _input(self, ranges: list[Range]) -> PastInput:
        messages = sum(self.end.values()) - min(self.skip * len(self.end), sum(self.end.values()))
        left = sum(self.end[number] - at for number, at in self.at.items())
        return PastInput(self.version, ranges, self.bounded, messages - left, messages)


OLD = [query("old", 4_000, 2_000), query("counted", 6_000, 3_000, "count", field=None)]
NEW = {
    "longer": query("new", 20_000, 2_000),
    "other edges": query("new", 9_000, 1_500),
    "another group-by": query("new", 15_000, 1_000, group_by=("device",)),
    "another aggregate": query("new", 12_000, 4_000, "mean"),
    "a filter": query("new", 12_000, 4_000, where="temp > 3"),
    "an offset": query("new", 10_000, 5_000, offset=1_300),
    "sampled": query("new", 3_000, 7_000),
    "range not a multiple of the slide": query("new", 11_000, 4_000),
}


@pytest.mark.parametrize("new", NEW.values(), ids=NEW)
def test_a_new_query_answers_for_the_past_that_is_in_the_log(new: Query) -> None:
    engine = Engine(plan_of([[each] for each in OLD]))
    reading = ReadingBack(engine, most=7)
    events = [event(at * 370, "ab"[at % 2], temp=at * 7 % 11) for at in range(160)]
    for batch in range(16):
        part = events[batch * 10 : batch * 10 + 10]
        plan = plan_of([[each] for each in (*OLD, new)], version=2) if batch == 7 else None
        if batch == 7:
            final_until = engine.watermark
        engine.batch({0: part[:6], 1: part[6:]}, plan=plan, past=reading.next())
    for _ in range(20):
        engine.batch(past=reading.next())
    engine.batch(end=True)
    assert engine.workers[0].meta.timeline.pasts == ()
    kept = [each for each in events if new.where is None or each["temp"] > 3]
    expected = brute_force([new], kept)
    found = {key: answer for key, answer in engine.finals().items() if key[0] == "new"}
    assert found == {key: answer for key, answer in expected.items() if key[1] > final_until}
    old = {key: answer for key, answer in engine.finals().items() if key[0] != "new"}
    assert old == brute_force(OLD, events)


HOUR = 3_600_000
LATE_FOR_AN_HOUR = replace(SOURCE, allowed_lateness=HOUR)
THREE = [query("first", 4_000, 2_000), query("second", 6_000, 3_000), query("third", 20_000, 10_000, "mean")]


def test_queries_that_come_before_the_first_events_have_all_of_them() -> None:
    engine = Engine(plan_of([THREE[:1]]), source=LATE_FOR_AN_HOUR)
    engine.batch(plan=plan_of([[each] for each in THREE], version=3))  # the newest of two that came
    events = [event(at * 370, "ab"[at % 2], temp=at * 7 % 11) for at in range(160)]
    engine.batch({0: events[:60], 1: events[60:]})
    assert {block.query for block in engine.blocks if not block.final} == {each.id for each in THREE}
    assert engine.timeline.pasts == ()
    engine.batch(end=True)
    assert engine.finals() == brute_force(THREE, events)


def test_a_query_that_comes_with_the_first_events_says_from_when_it_is_whole() -> None:
    engine = Engine(plan_of([THREE[:1]]), source=LATE_FOR_AN_HOUR)
    events = [event(at * 370, "ab"[at % 2], temp=at * 7 % 11) for at in range(160)]
    engine.batch({0: events}, plan=plan_of([[each] for each in THREE], version=2))
    first_instant = BASE + 159 * 370 + 1
    expected = {
        each.id: each.window.first_end_after(first_instant + each.window.range - 1) for each in THREE[1:]
    }
    assert engine.meters[0]["waiting"] == expected
    reading = ReadingBack(engine, most=1_000)
    for at in (HOUR, 2 * HOUR, 2 * HOUR + 1_000, 2 * HOUR + 2_000):
        events.append(event(at))
        engine.batch({0: events[-1:]}, past=reading.next())
    engine.batch(end=True)
    assert engine.finals() == brute_force(THREE, events)


def test_wrong_values_of_the_past_are_none() -> None:
    """Also those that nobody read before: whether an event counts has never depended on it."""
    new = query("new", 20_000, 2_000, group_by=("device",))
    events = [event(at * 370, "ab"[at % 2], temp=at * 7 % 11) for at in range(160)]
    sent = [each | {"temp": [] if at % 3 else each["temp"]} for at, each in enumerate(events)]
    sent = [each | {"device": 7 if at % 5 else each["device"]} for at, each in enumerate(sent)]
    read = [each | {"temp": None if at % 3 else each["temp"]} for at, each in enumerate(events)]
    read = [each | {"device": None if at % 5 else each["device"]} for at, each in enumerate(read)]
    counted = query("counted", 6_000, 3_000, "count", field=None)
    engine = Engine(plan_of([[counted]]))
    reading = ReadingBack(engine, most=7)
    for batch in range(16):
        part = sent[batch * 10 : batch * 10 + 10]
        plan = plan_of([[counted], [new]], version=2) if batch == 7 else None
        if batch == 7:
            final_until = engine.watermark
        engine.batch({0: part[:6], 1: part[6:]}, plan=plan, past=reading.next())
    for _ in range(20):
        engine.batch(past=reading.next())
    engine.batch(end=True)
    assert engine.totals.accepted == len(events)
    found = {key: answer for key, answer in engine.finals().items() if key[0] == "new"}
    assert found == {key: answer for key, answer in brute_force([new], read).items() if key[1] > final_until}
    assert any(key[1] - 20_000 < events[60]["ts"] for key in found)  # it reaches back to before the query


def test_a_query_may_be_removed_in_the_batch_that_reads_the_last_of_its_past() -> None:
    new = query("new", 20_000, 2_000)
    engine = Engine(plan_of([[each] for each in OLD]))
    reading = ReadingBack(engine, most=1_000)
    events = [event(at * 370, temp=at * 7 % 11) for at in range(160)]
    engine.batch({0: events[:80]})
    engine.batch(plan=plan_of([[each] for each in (*OLD, new)], version=2))
    engine.batch({0: events[80:110]})
    first, last = reading.next(), reading.next()
    engine.batch(past=first)
    assert last is not None and last.read == last.messages
    engine.batch({0: events[110:]}, plan=plan_of([[each] for each in OLD], version=3), past=last)
    engine.batch(end=True)
    finals = engine.finals()
    assert {key: answer for key, answer in finals.items() if key[0] != "new"} == brute_force(OLD, events)
    assert all(brute_force([new], events)[key] == finals[key] for key in finals if key[0] == "new")


def test_no_more_is_told_than_there_is() -> None:
    """The log no longer goes back as far as the query does: its windows are whole from the first event on."""
    engine = Engine(plan_of([[each] for each in OLD]))
    reading = ReadingBack(engine, most=100, bounded=[0], skip=20)
    new = query("new", 30_000, 1_000, "sum")
    events = [event(at * 500, temp=at) for at in range(200)]
    engine.batch({0: events[:100]})
    engine.batch(plan=plan_of([[each] for each in (*OLD, new)], version=2))
    waiting = engine.meters[-1]["waiting"]["new"]
    assert waiting == BASE + 80_000  # the plan came after 50 s of event time, and the window is of 30 s
    engine.batch({0: events[100:104]}, past=reading.next())
    told = []
    while (past := reading.next()) is not None or engine.timeline.pasts:
        engine.batch(past=past)
        told.append(engine.meters[-1]["recall"])
    assert engine.meters[-1]["waiting"] == {}
    engine.batch({0: events[104:]})
    engine.batch(end=True)
    whole_from = events[20]["ts"] + 1_001
    expected = brute_force([new], events)
    final_until = events[99]["ts"] - 1_000
    wanted = {key: a for key, a in expected.items() if key[1] > final_until and key[1] - 30_000 >= whole_from}
    assert {key: answer for key, answer in engine.finals().items() if key[0] == "new"} == wanted


def test_where_nothing_is_left_of_a_partition_windows_are_whole_from_the_plan_on() -> None:
    """What it had may belong to any window of before."""
    engine = Engine(plan_of([[each] for each in OLD]))
    reading = ReadingBack(engine, most=100, bounded=[0, 1], skip=4)
    new = query("new", 20_000, 1_000, "sum")
    events = [event(at * 500, temp=at) for at in range(200)]
    engine.batch({1: events[:4]}, clock=1_000)
    engine.batch({0: events[4:100]}, clock=2_000)
    engine.batch(plan=plan_of([[each] for each in (*OLD, new)], version=2))
    for at in range(100, 112):  # so long that the partition is not waited for
        engine.batch({0: events[at : at + 1]}, clock=2_000 + (at - 99) * 1_000)
    while (past := reading.next()) is not None:
        engine.batch(past=past)
    engine.batch({0: events[112:]})
    engine.batch(end=True)
    assert engine.timeline.pasts == ()
    instant = events[99]["ts"] + 1
    expected = brute_force([new], events)
    wanted = {key: answer for key, answer in expected.items() if key[1] - 20_000 >= instant}
    assert {key: answer for key, answer in engine.finals().items() if key[0] == "new"} == wanted


def test_a_partition_that_begins_with_garbage_is_missed_up_to_its_first_event() -> None:
    engine = Engine(plan_of([[each] for each in OLD]))
    reading = ReadingBack(engine, most=10, bounded=[0], skip=20)
    new = query("new", 30_000, 1_000, "sum")
    events = [event(at * 500, temp=at) for at in range(200)]
    engine.batch({0: [*events[:20], *[b"{"] * 15, *events[20:100]]})
    engine.batch(plan=plan_of([[each] for each in (*OLD, new)], version=2))
    engine.batch({0: events[100:104]}, past=reading.next())
    while (past := reading.next()) is not None:
        engine.batch(past=past)
    engine.batch({0: events[104:]})
    engine.batch(end=True)
    whole_from, final_until = events[20]["ts"] + 1_001, events[99]["ts"] - 1_000
    expected = brute_force([new], events)
    wanted = {key: a for key, a in expected.items() if key[1] > final_until and key[1] - 30_000 >= whole_from}
    assert {key: answer for key, answer in engine.finals().items() if key[0] == "new"} == wanted


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_is_read_when_the_answers_are_those_of_the_definition(data: st.DataObject) -> None:
    windows = st.tuples(st.integers(1, 30), st.integers(1, 10), st.integers(0, 3))
    queries = [
        query(
            f"q{number}",
            range_ * 500,
            slide * 500,
            data.draw(st.sampled_from(["max", "min", "sum", "count", "mean"])),
            offset=offset * 100,
            group_by=("device",) if data.draw(st.booleans()) else (),
        )
        for number, (range_, slide, offset) in enumerate(data.draw(st.lists(windows, min_size=2, max_size=5)))
    ]
    joined = sorted(data.draw(st.integers(0, 12)) for _ in queries)  # the batch with whose plan each comes
    joined[0] = 0
    engine = Engine(plan_of([[queries[0]]]))
    reading = ReadingBack(engine, most=data.draw(st.integers(1, 40)))
    clock, events, since, version = 0, [], {queries[0].id: -1}, 1
    for batch in range(16):
        part = []
        for _ in range(data.draw(st.integers(0, 12))):
            clock += data.draw(st.integers(0, 900))
            late = data.draw(st.integers(0, 999))
            part.append(event(max(0, clock - late), data.draw(st.sampled_from("abc")), float(clock % 17)))
        events += part
        present = [each for each, at in zip(queries, joined, strict=True) if at <= batch]
        plan = None
        if batch in joined and batch:
            version += 1
            plan = plan_of([[each] for each in present], version=version)
        engine.batch({0: part} if part else None, plan=plan, past=reading.next())
        if plan is not None:
            instant = max((each["ts"] for each in events), default=None)
            since |= {
                each.id: -1 if instant is None else instant + 1 for each in present if each.id not in since
            }
        if data.draw(st.booleans()):
            engine.restart()
    while (past := reading.next()) is not None:
        engine.batch(past=past)
    engine.batch(end=True)
    told = engine.finals()
    greatest = max((each["ts"] for each in events), default=0)
    for each in queries:
        if each.id not in since:
            continue
        expected = brute_force([each], events)
        own = {key: answer for key, answer in told.items() if key[0] == each.id}
        assert own == {key: expected[key] for key in own}
        if since[each.id] <= greatest - engine.source.allowed_lateness:  # else it could not be read back yet
            assert own.keys() >= {key for key in expected if key[1] > since[each.id]}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_was_refused_for_when_it_came_is_refused_when_it_is_read_back(data: st.DataObject) -> None:
    """Late, or by a clock far ahead that the machine's has reached since: that was judged once for all."""
    source = replace(SOURCE, future_bound=3_000)
    engine = Engine(plan_of([[OLD[0]]]), source=source)
    reading = ReadingBack(engine, most=data.draw(st.integers(1, 30)))
    new = query("new", data.draw(st.sampled_from([5_000, 20_000])), 1_000, "sum")
    late_plan = data.draw(st.integers(4, 10))
    oddities = st.sampled_from([0, 0, 0, -300, -4_000, -9_000, 6_000, 14_000])
    for batch in range(16):
        now = BASE + (batch + 1) * 2_000
        part = {
            partition: [
                Stamped({"ts": now + odd, "temp": 1.0}, max(now, now + odd))
                for odd in data.draw(st.lists(oddities, max_size=5))
            ]
            for partition in (0, 1)
        }
        plan = plan_of([[OLD[0]], [new]], version=2) if batch == late_plan else None
        engine.batch(part, now=now, clock=now, plan=plan, past=reading.next())
        if data.draw(st.booleans()):
            engine.restart()
    while (past := reading.next()) is not None:
        now += 1_000
        engine.batch(past=past, now=now, clock=now)
    engine.batch(end=True, now=now)
    expected = brute_force([OLD[0], new], accepted(engine))
    told = engine.finals()
    assert told == {key: expected[key] for key in told}
    assert {key for key in expected if key[0] == "old"} <= told.keys()


def test_a_past_that_is_given_up_is_not_taken_for_a_whole_one() -> None:
    engine = Engine(plan_of([[each] for each in OLD]))
    reading = ReadingBack(engine, most=20)
    new = query("new", 60_000, 10_000, "count", field=None)
    events = [event(at * 500) for at in range(300)]
    engine.batch({0: events[:160]})
    engine.batch(plan=plan_of([[each] for each in (*OLD, new)], version=2))
    engine.batch({0: events[160:170]})
    for _ in range(2):
        engine.batch(past=reading.next())
    engine.batch(past=PastInput(2, [], [], 0, 0))
    assert engine.timeline.pasts == ()
    engine.batch({0: events[170:]})
    engine.batch(end=True)
    told = {key: answer for key, answer in engine.finals().items() if key[0] == "new"}
    instant = events[159]["ts"] + 1
    assert told == {
        key: answer for key, answer in brute_force([new], events).items() if key[1] - 60_000 >= instant
    }


MOVED = [
    query("a", 20_000, 2_000, "mean", group_by=("device",)),
    query("b", 6_000, 3_000, "sum", group_by=("device",)),
]


def placed(version: int, *nodes: int) -> Plan:
    """With a tree for each of the queries that move, on these of two nodes."""
    plan = plan_of([[each] for each in MOVED], version=version)
    trees = tuple(replace(tree, node=node) for tree, node in zip(plan.trees, nodes, strict=True))
    return replace(plan, trees=trees, nodes=(1.0, 1.0))


def test_trees_run_in_the_shards_of_their_nodes_and_take_their_past_along_when_they_move() -> None:
    events = [event(at * 370, f"d{at % 7}", temp=float(at * 7 % 11)) for at in range(160)]

    def shards_of(name: str) -> set[int]:
        lanes = [m.segments[-1].lane for m in engine.timeline.members if m.query == name]
        return {shard.number for shard in engine.workers if shard.lanes[lanes[0]].starts()}

    engine = Engine(placed(1, 0, 1), shards=4)
    reading = ReadingBack(engine, most=25)
    for batch in range(16):
        part = events[batch * 10 : batch * 10 + 10]
        engine.batch({0: part}, plan=placed(2, 1, 1) if batch == 8 else None, past=reading.next())
        if batch == 6:
            assert shards_of("a") == {0, 1} and shards_of("b") == {2, 3}
        if batch == 15:
            assert shards_of("a") == shards_of("b") == {2, 3}
    engine.batch(end=True)
    assert engine.finals() == brute_force(MOVED, events)


@st.composite
def drawn_plan(draw: st.DrawFn, queries: list[Query], version: int) -> Plan:
    """Some that share trees and some that do not, on one node or on either of two."""
    together: dict[tuple[int, str], list[Query]] = {}
    for each in draw(st.permutations(queries)):
        kind = "sum" if each.aggregate == "mean" else each.aggregate  # made of the same partials
        together.setdefault((draw(st.integers(0, 1)), kind), []).append(each)
    plan = plan_of(list(together.values()), version=version)
    if draw(st.booleans()):
        return plan
    trees = tuple(replace(tree, node=draw(st.integers(0, 1))) for tree in plan.trees)
    return replace(plan, trees=trees, nodes=(1.0, 1.0))


PlanFor = Callable[[list[Query], Plan | None], Plan]


def goes_through(data: st.DataObject, queries: list[Query], plan_for: PlanFor) -> Engine:
    """Plans that follow each other faster, or slower, than what they lack is read back; all answers hold."""
    # The batches with whose plans each comes and goes, early enough to read back; one is always there.
    comings, goings = st.integers(0, 11), st.integers(6, 11) | st.just(16)
    spans = [(0, 16), *(data.draw(st.tuples(comings, goings)) for _ in queries[1:])]

    def present(batch: int) -> list[Query]:
        return [each for each, (low, high) in zip(queries, spans, strict=True) if low <= batch < high]

    engine = Engine(plan_for(present(0), None))
    reading = ReadingBack(engine, most=data.draw(st.integers(1, 40)))
    again = data.draw(st.sets(st.integers(1, 11)))
    plan, events, final_until = engine.plan, [], {}
    for batch in range(16):
        happens = batch > 11 or data.draw(st.booleans())  # plans also come while no event does
        numbers = range(batch * 10, batch * 10 + 10 * happens)
        part = [event(at * 370 - at * 7 % 13 * 70, "abc"[at % 3], float(at % 17)) for at in numbers]
        events += part
        if batch and (batch in again or present(batch) != present(batch - 1)):
            plan = plan_for(present(batch), plan)
        final_until = {each.id: engine.watermark for each in present(batch)} | final_until
        engine.batch({0: part} if part else None, plan=plan, past=reading.next())
        if data.draw(st.booleans()):
            engine.restart()
    while (past := reading.next()) is not None:
        engine.batch(past=past)
    engine.batch(end=True)
    told, stay = engine.finals(), present(15)
    for each in queries:
        kept = [one for one in events if each.where is None or one["temp"] > 3]
        expected = brute_force([each], kept)
        own = {key: answer for key, answer in told.items() if key[0] == each.id}
        assert own == {key: expected[key] for key in own}
        assert each not in stay or own.keys() == {key for key in expected if key[1] > final_until[each.id]}
    return engine


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_however_fast_plans_follow_each_other_no_window_is_missed_or_wrong(data: st.DataObject) -> None:
    windows = st.tuples(st.integers(1, 30), st.integers(1, 10), st.sampled_from(["sum", "mean", "max"]))
    queries = [
        query(f"q{number}", range_ * 500, slide * 500, aggregate, group_by=("device",))
        for number, (range_, slide, aggregate) in enumerate(
            data.draw(st.lists(windows, min_size=2, max_size=4))
        )
    ]
    plans = []

    def plan_for(present: list[Query], previous: Plan | None) -> Plan:
        plans.append(data.draw(drawn_plan(present, previous.version + 1 if previous else 1)))
        return plans[-1]

    engine = goes_through(data, queries, plan_for)
    in_use = [lane for lane in engine.timeline.lanes if lane.until == LATEST]
    assert len(in_use) == len(plans[-1].trees)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_strategies_follow_each_other_no_window_is_missed_or_wrong(data: st.DataObject) -> None:
    windows = st.tuples(st.integers(1, 12), st.integers(1, 6), st.sampled_from(["sum", "mean", "max", "min"]))
    queries = [
        query(
            f"q{number}",
            range_ * 1_000,
            slide * 1_000,
            aggregate,
            group_by=data.draw(st.sampled_from([(), ("device",), ("device", "temp")])),
            where=data.draw(st.sampled_from([None, None, "temp > 3"])),
        )
        for number, (range_, slide, aggregate) in enumerate(
            data.draw(st.lists(windows, min_size=2, max_size=6))
        )
    ]

    def plan_for(present: list[Query], previous: Plan | None) -> Plan:
        return optimize(
            present,
            Statistics(rate=data.draw(st.sampled_from([0.1, 10.0, 1e6]))),
            source="s",
            version=previous.version + 1 if previous else 1,
            strategy=data.draw(st.sampled_from(sorted(STRATEGIES))),
            nodes=data.draw(st.integers(1, 3)),
            previous=previous,
        )

    goes_through(data, queries, plan_for)
