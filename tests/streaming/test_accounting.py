"""Nothing disappears: every message that is read is in its windows or, once, among the dead letters."""

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.queries import Query
from optimizer.windows import Window
from streaming import shuffle, task
from streaming.accounting import VALUE_LIMIT, Counts, DeadLetter, dead_letter
from streaming.lanes import EARLIEST, Timeline
from streaming.record_batches import Messages
from streaming.shard import StaleTask
from streaming.watermark import IDLE_AFTER_MS
from tests.streaming.engine import (
    SOURCE,
    Engine,
    Event,
    Message,
    Stamped,
    accepted,
    brute_force,
    plan_of,
    value_of,
)
from tests.streaming.rules import Judge

LATENESS, FUTURE, PAST = 1_000, 5_000, 50_000
NOW = 1_767_225_600_000
BOUNDED = replace(SOURCE, allowed_lateness=LATENESS, future_bound=FUTURE, past_bound=PAST)
QUERIES = [
    Query("sums", "q", "sum", "temp", Window(3_000, 1_000), ("device",)),
    Query("counts", "q", "count", None, Window(2_000, 2_000)),
]
BROKEN: tuple[Message, ...] = (
    None,
    b"",
    b"{",
    b"\xff\xfe\x00",
    b"[1]",
    {"ts": "x"},
    {"temp": 1.0},
    {"ts": 1e300},
)


def as_read(event: Event) -> Event:
    """Without values of a wrong type: no reason to refuse the event."""
    types = {"temp": float, "device": str}
    return {
        name: value if isinstance(value, types.get(name, object)) else None for name, value in event.items()
    }


def counted(engine: Engine) -> list[Event]:
    """What was accepted, as it counts."""
    return [as_read(event) for event in accepted(engine)]


def check_accounts(engine: Engine) -> None:
    """Counts add up to what was read, and answers are those of what was accepted."""
    places = Counter((letter.partition, letter.offset) for letter in engine.dead_letters)
    assert set(places.values()) <= {1}
    totals = msgspec.structs.asdict(engine.totals)
    assert totals.pop("read") == sum(map(len, engine.read.values())) == sum(totals.values())
    kinds = Counter(letter.kind for letter in engine.dead_letters)
    assert totals == {
        "accepted": len(counted(engine)),
        **dict.fromkeys(totals.keys() - {"accepted"}, 0),
        **kinds,
    }
    told = Counter()
    for meter in engine.meters:
        if meter["shard"] == 0:
            told.update({kind: meter[kind] for kind in totals})
    assert told == totals
    assert engine.meters[-1]["totals"] == {"read": sum(totals.values()), **totals}
    assert engine.finals() == brute_force(QUERIES, counted(engine))


@st.composite
def logs(draw: st.DrawFn) -> dict[int, list[Event]]:
    """Three partitions whose clocks may be hours apart; one in five events is out of order."""
    found = {}
    for partition in range(3):
        clock, log = draw(st.sampled_from([0, 30_000, 7_200_000])), []
        for step in draw(st.lists(st.integers(0, 2_000), max_size=12)):
            clock += step
            behind = draw(st.sampled_from([0, 0, 0, 0, 900, 1_001, 5_000]))
            log.append({"ts": clock - behind, "temp": step / 4, "device": "ab"[step % 2]})
        found[partition] = log
    return found


def cut(draw: st.DrawFn, log: dict[int, list[Any]]) -> Iterator[dict[int, list[Any]]]:
    """All of a log in batches that take any number of messages of every partition."""
    rest = {partition: list(messages) for partition, messages in log.items()}
    while any(rest.values()):
        batch = {}
        for partition, messages in rest.items():
            size = draw(st.integers(0, len(messages)))
            batch[partition], rest[partition] = messages[:size], messages[size:]
        yield batch


@settings(max_examples=25, deadline=None)
@given(log=logs(), data=st.data())
def test_a_backlog_loses_nothing_and_what_is_late_does_not_depend_on_batches(log, data):
    unbounded = replace(BOUNDED, future_bound=None, past_bound=None)
    awaited = tuple(partition for partition, messages in log.items() if messages)
    engine = Engine(plan_of([[query] for query in QUERIES]), source=unbounded, awaited=awaited)
    for batch in cut(data.draw, log):
        engine.batch(batch)
    engine.batch(end=True)
    late = [
        (partition, offset)
        for partition, messages in log.items()
        for offset, event in enumerate(messages)
        if event["ts"] < max((e["ts"] for e in messages[:offset]), default=EARLIEST) - LATENESS
    ]
    assert sorted((letter.partition, letter.offset) for letter in engine.dead_letters) == late
    check_accounts(engine)


@st.composite
def messages(draw: st.DrawFn, clock: int) -> Message:
    """Anything that a topic may hold around the time `clock`."""
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(BROKEN))
    edges = [-PAST, -PAST - 1, FUTURE, FUTURE + 1]
    shift = draw(st.sampled_from([0, 0, 0, 0, -900, -1_500, -9_000, 3_000, 10**12, *edges]))
    event = {
        "ts": clock + shift,
        "temp": draw(st.integers(-8, 8).map(float) | st.sampled_from(["n/a", [], True])),
        "device": draw(st.sampled_from([*"abc", 7, {}])),
    }
    return Stamped(event, draw(st.sampled_from([0, clock, clock, clock, clock - 2_000, clock + 10**9])))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_comes_is_counted_once_and_judged_by_the_rules(data):
    """Clocks that jump, partitions that fall silent and come back, restarts, and messages of every kind."""
    engine = Engine(plan_of([QUERIES[:1], QUERIES[1:]]), source=BOUNDED, awaited=(0, 1))
    judges: dict[int, Judge] = {}
    now, expected = 1_800_000_000_000, []
    for _ in range(data.draw(st.integers(1, 7))):
        steps = [500, 1_000, 3_000, IDLE_AFTER_MS, IDLE_AFTER_MS + 5_000, 3_600_000]
        now += data.draw(st.sampled_from(steps))
        batch = {
            partition: data.draw(st.lists(messages(now - 500 * partition), max_size=6))
            for partition in data.draw(st.sets(st.integers(0, 2)))
        }
        for partition, items in batch.items():
            judge = judges.setdefault(partition, Judge(BOUNDED))
            first = len(engine.read[partition])
            for offset, message in enumerate(items, first):
                timestamp = message.timestamp if isinstance(message, Stamped) else 0
                kind = judge.kind(value_of(message), timestamp, now, engine.watermark)
                expected += [(partition, offset, kind)] if kind else []
        clock = now if data.draw(st.booleans()) else None
        engine.batch(batch, now=now, clock=clock)
        if data.draw(st.integers(0, 3)) == 0:
            engine.restart()
    engine.batch(end=True)
    told = [(letter.partition, letter.offset, letter.kind) for letter in engine.dead_letters]
    assert sorted(told) == sorted(expected)
    check_accounts(engine)


def test_one_event_of_the_year_2099_makes_nothing_late():
    now = 1_800_000_000_000
    engine = Engine(plan_of([QUERIES[1:]]), source=replace(SOURCE, future_bound=300_000))
    live = [Stamped({"ts": now + step}, now + step) for step in range(0, 3_000, 100)]
    stray = Stamped({"ts": 4_070_908_800_000}, now + 1_000)
    engine.batch({0: [*live[:10], stray, *live[10:20]]}, now=now + 10_000)
    engine.batch({0: live[20:]}, now=now + 20_000)
    assert engine.watermark == now + 2_900 - LATENESS
    engine.batch(end=True)
    (letter,) = engine.dead_letters
    assert (letter.kind, letter.offset, letter.reason) == (
        "future",
        10,
        "From the future: event time 2099-01-01T00:00:00.000Z is more than 5m ahead of the clock,"
        " which said 2027-01-15T08:00:01.000Z.",
    )
    assert sum(count for _, count in engine.finals().values()) == 30


def test_a_producer_whose_clock_jumped_is_held_against_the_batch_s_time():
    """With CreateTime its messages' timestamps jump with it."""
    now, day = 1_800_000_000_000, 86_400_000
    engine = Engine(plan_of([QUERIES[1:]]), source=replace(SOURCE, event_time=None, schema=()))
    engine.batch({0: [Stamped({}, now - 10), Stamped({}, now + day), Stamped({}, now - 5)]}, now=now)
    assert [(letter.offset, letter.kind) for letter in engine.dead_letters] == [(1, "future")]
    assert engine.watermark == now - 5 - LATENESS


def test_a_clock_that_is_a_little_ahead_makes_nothing_late():
    now = 1_800_000_000_000
    engine = Engine(plan_of([QUERIES[1:]]))
    engine.batch({0: [Stamped({"ts": now + 60_000}, now), Stamped({"ts": now + 10}, now + 10)]}, now=now + 50)
    engine.batch(end=True)
    assert engine.dead_letters == []
    assert sum(count for _, count in engine.finals().values()) == 2


def test_a_plan_that_comes_while_an_event_is_ahead_of_the_clock_cuts_every_event_once():
    """It takes effect after all that was accepted, however far ahead."""
    now = 1_800_000_000_000
    kept = Query("kept", "q", "sum", "temp", Window(10_000, 10_000))
    added = Query("added", "q", "sum", "temp", Window(7_000, 7_000))
    engine = Engine(plan_of([[kept]]))
    engine.batch({0: [Stamped({"ts": now + 65_500, "temp": 1.0}, now)]}, now=now)
    engine.batch(plan=plan_of([[kept, added]], version=2))
    later = [Stamped({"ts": now + at, "temp": at / 8}, now + at) for at in range(0, 90_000, 500)]
    engine.batch({0: later}, now=now + 90_000)
    engine.batch(end=True)
    expected = brute_force([kept, added], counted(engine))
    answers = engine.finals()
    assert engine.dead_letters == []
    assert {key for key in answers if key[0] == "kept"} == {key for key in expected if key[0] == "kept"}
    assert answers.items() <= expected.items()


def test_history_loaded_today_is_accepted_whatever_its_messages_timestamps():
    """Event times decades before the messages: the bound ahead does no harm, and there is none behind."""
    engine = Engine(plan_of([QUERIES[1:]]))
    events = [{"ts": 100_000_000 + step * 1_000} for step in range(20)]
    engine.batch({0: [Stamped(event, 1_800_000_000_000) for event in events]}, now=1_800_000_000_500)
    engine.batch(end=True)
    assert engine.dead_letters == []
    assert engine.finals() == brute_force(QUERIES[1:], events)


def test_a_partition_that_was_idle_and_brings_older_events_loses_none_without_a_word():
    engine = Engine(plan_of([QUERIES[1:]]), awaited=(0, 1))
    engine.batch({0: [{"ts": 10_000}], 1: [{"ts": 10_000}]}, clock=1_000_000)
    engine.batch({0: [{"ts": 40_000}]}, clock=1_000_000 + IDLE_AFTER_MS)
    assert engine.watermark == 39_000
    engine.batch({1: [{"ts": 38_999}, {"ts": 39_000}]}, clock=1_001_000 + IDLE_AFTER_MS)
    engine.batch(end=True)
    assert [
        (letter.partition, letter.offset, letter.kind, letter.reason) for letter in engine.dead_letters
    ] == [
        (
            1,
            1,
            "late",
            "Late: event time 1970-01-01T00:00:38.999Z came when results were final up to"
            " 1970-01-01T00:00:39.000Z.",
        )
    ]
    assert engine.finals() == brute_force(QUERIES[1:], counted(engine))


@pytest.mark.parametrize("heard_at_once", [{}, {0: [0]}])
def test_what_producers_send_after_an_outage_is_not_late(heard_at_once: dict[int, list[int]]):
    """The broker was away for an hour, and not everybody who writes to it is back in the same second."""
    now, hour = 1_800_000_000_000, 3_600_000
    engine = Engine(plan_of([QUERIES[1:]]))
    engine.batch({0: [{"ts": now}], 1: [{"ts": now}]}, now=now, clock=now)
    engine.restart()
    back = now + hour
    first = {partition: [{"ts": back + at} for at in times] for partition, times in heard_at_once.items()}
    engine.batch(first, now=back, clock=back)
    waited = [{"ts": now + 5_000}, {"ts": back}]
    engine.batch({0: waited[-1:], 1: waited}, now=back + 2_000, clock=back + 2_000)
    engine.batch({0: [{"ts": back + 5_000}]}, now=back + 5_000, clock=back + 5_000)
    for seconds in range(6, 19):
        engine.batch(now=back + 1_000 * seconds, clock=back + 1_000 * seconds)
    assert engine.dead_letters == []
    assert engine.watermark >= back + 5_000 - LATENESS  # and silence is silence again
    engine.batch(end=True)
    assert engine.finals() == brute_force(QUERIES[1:], counted(engine))


def test_a_task_that_knew_another_watermark_is_refused():
    engine = Engine(plan_of([QUERIES[1:]]))
    engine.batch({0: [{"ts": 10_000}]})
    engine.watermark -= 1
    with pytest.raises(
        StaleTask, match="judged lateness of partition 0 by 10000 and 8999, not by 10000 and 9000"
    ):
        engine.batch({0: [{"ts": 10_000}]})


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.integers(-5_000, 5_000), st.sets(st.integers(0, 2)), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_with_processing_time_nothing_is_late_though_the_clock_be_set_back(steps):
    source = replace(BOUNDED, processing_time=True, allowed_lateness=0)
    engine = Engine(plan_of([QUERIES[1:]]), source=source)
    now, read = 1_800_000_000_000, 0
    for step, partitions, beat in steps:
        now += step
        items = [{"ts": 5, "temp": 1.0}, {}]
        engine.batch(dict.fromkeys(partitions, items), now=now, clock=now if beat else None)
        read += len(partitions) * len(items)
    engine.batch(end=True)
    assert engine.dead_letters == []
    assert engine.totals.accepted == read
    assert sum(count for _, count in engine.finals().values()) == read


@settings(deadline=None)
@given(value=st.binary(max_size=200).map(lambda part: part * 100))
def test_every_byte_that_a_dead_letter_keeps_can_be_had_back(value: bytes):
    letter = dead_letter("s", 0, 7, 1, "malformed", "Bad.", value)
    letter = msgspec.json.decode(msgspec.json.encode(letter), type=DeadLetter)
    kept = value[:VALUE_LIMIT]
    if letter.encoding == "base64":
        assert b64decode(letter.data or "") == kept
    else:
        text = value.decode()
        assert text.startswith(letter.value or "")
        assert len(kept) - len((letter.value or "").encode()) < 4  # a character may be cut in two
    assert (letter.note is None) == (len(value) <= VALUE_LIMIT)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (None, "utf-8", None, None)),
        (b"", ("", "utf-8", None, None)),
        ("né".encode(), ("né", "utf-8", None, None)),
        (b"\xff\x00a", ("\ufffd\x00a", "base64", "/wBh", None)),
        (
            "é".encode() * 6_000,
            ("é" * 5_000, "utf-8", None, "Only the first 10,000 of 12,000 bytes are kept."),
        ),
        (
            b"a" * 9_999 + "é".encode(),
            ("a" * 9_999, "utf-8", None, "Only the first 10,000 of 10,001 bytes are kept."),
        ),
    ],
)
def test_a_dead_letter_is_readable_and_says_what_is_missing(value, expected):
    letter = dead_letter("s", 0, 7, 1, "malformed", "Bad.", value)
    assert (letter.value, letter.encoding, letter.data, letter.note) == expected


def test_garbage_of_any_size_makes_letters_of_a_bounded_one():
    """All letters of a task are one row of Spark's, which a topic of binary messages must not burst."""
    engine = Engine(plan_of([QUERIES[1:]]))
    count, size = 2_000, 9_000
    engine.batch({0: [b"\xff" * size] * count + [{"ts": 1}]})
    letters = engine.dead_letters
    assert len(letters) == count
    assert sum(len(letter.value or "") for letter in letters) <= task.LETTERS_BYTES
    assert letters[0].note is None
    assert letters[-1].note == "Only the first 0 of 9,000 bytes are kept."
    assert letters[-1].reason.startswith("Not readable as JSON")


def test_messages_that_cannot_be_read_are_dead_letters_and_aborted_ones_are_counted():
    def event(offset: int) -> Messages:
        value = json.dumps({"ts": NOW + offset, "device": "d1", "temp": 1.0}).encode()
        return Messages(np.array([offset]), np.array([NOW]), pa.array([value], pa.binary()))

    unread = Messages(
        np.arange(1, 4), np.full(3, NOW), pa.nulls(3, pa.binary()), problem="It takes too much."
    )
    aborted = replace(event(4), are_aborted=True)
    parts = [task.message_rows(found, 7, NOW) for found in (event(0), unread, aborted, event(5))]
    setup = task.TaskSetup(SOURCE, Timeline(), "", "", shards=1)
    (encoded,) = task.work(setup, Timeline(), {}, parts)
    report = shuffle.decode(encoded)
    assert report.partitions[7].counts == Counts(read=5, accepted=2, malformed=3, aborted=1)
    assert [(letter.partition, letter.offset, letter.reason) for letter in report.dead_letters] == [
        (7, offset, "It takes too much.") for offset in (1, 2, 3)
    ]
    assert {(letter.kind, letter.value) for letter in report.dead_letters} == {("malformed", None)}
