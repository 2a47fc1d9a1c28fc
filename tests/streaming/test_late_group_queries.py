"""Count and session windows of a query that comes while the stream runs: what they tell is true."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.group_windows import CountWindow, GroupQuery, SessionWindow
from optimizer.queries import AnyQuery, Query
from optimizer.windows import Window
from streaming import group_state
from tests.streaming.engine import Engine, Event

TIMED = Query("timed", "timed", "sum", "temp", Window(2_000, 1_000), ("device",))
VISITS = GroupQuery("visit", "visit", "sum", "temp", SessionWindow(5_000), ("device",))
LAST = CountWindow(3, 2)
LAST_3 = GroupQuery("last", "last", "sum", "temp", LAST, ("device",))
LATENESS = 1_000  # of the source

Told = Counter[tuple[str, int, int, float | None, int]]  # device, start, end, sum, events


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several buckets for a few groups."""
    monkeypatch.setattr(group_state, "BUCKET", 2)


def planned(*queries: AnyQuery, after: Engine | None = None) -> Any:
    previous = after.plan if after else None
    version = after.timeline.version + 1 if after else 1
    plan = optimize(list(queries), Statistics(rate=5.0), source="s", version=version, previous=previous)
    if after:
        after.plan = plan
    return plan


def at(*times: int, device: str = "a") -> list[Event]:
    return [{"ts": ts, "device": device, "temp": 1.0} for ts in times]


def told(engine: Engine, query: str) -> Told:
    """Final or not: neither may be cut."""
    return Counter(
        (device, start, block.end, value, count)
        for block in engine.blocks
        if block.query == query
        for start, ((device,), value, count) in zip(block.row_starts(), block.rows(), strict=True)
    )


def waiting(engine: Engine) -> dict[str, int]:
    """What all shards say."""
    one, *others = [meter["waiting"] for meter in engine.meters[-engine.shards :]]
    assert all(other == one for other in others)
    return {query: instant for query, instant in one.items() if query != "timed"}


def test_a_session_that_may_have_begun_before_the_query_is_not_told() -> None:
    engine = Engine(planned(TIMED))
    engine.batch({0: at(*range(0, 20_000, 1_000))})
    engine.batch(plan=planned(TIMED, VISITS, after=engine))
    engine.batch({0: at(*range(20_000, 30_000, 1_000))})
    engine.batch({0: at(60_000, 61_000)})
    engine.batch(end=True)
    assert told(engine, "visit") == Counter([("a", 60_000, 66_000, 2.0, 2)])


@pytest.mark.parametrize(("first", "is_told"), [(24_000, False), (24_001, True)])
def test_a_session_is_whole_if_no_event_from_before_the_query_can_be_in_it(first: int, is_told: bool) -> None:
    """The newest before it is of 19,000, its own are from 19,001 on: exactly one gap joins events."""
    engine = Engine(planned(TIMED))
    engine.batch({0: at(19_000, device="b")})
    engine.batch(plan=planned(TIMED, VISITS, after=engine))
    engine.batch({0: [*at(18_500, first)]})
    engine.batch(end=True)
    assert told(engine, "visit") == Counter([("a", first, first + 5_000, 1.0, 1)] if is_told else [])


def test_meters_name_a_query_of_sessions_until_the_first_may_have_begun() -> None:
    engine = Engine(planned(TIMED, replace(VISITS, id="old")))
    engine.batch({0: at(*range(0, 20_000, 1_000))})
    assert waiting(engine) == {}  # it has been there from the start
    slow = replace(VISITS, id="slow", window=SessionWindow(60_000))
    engine.batch(plan=planned(TIMED, replace(VISITS, id="old"), slow, LAST_3, after=engine))
    assert waiting(engine) == {"slow": 79_001}
    twin = replace(VISITS, id="twin", aggregate="mean")
    engine.restart()
    engine.batch({0: at(80_000)}, plan=planned(TIMED, slow, twin, replace(VISITS, id="old"), after=engine))
    assert waiting(engine) == {"slow": 79_001}  # the twin has what the old one has counted
    engine.batch({0: at(80_001)})
    assert waiting(engine) == {}


def test_a_stream_that_is_whole_from_later_on_counts() -> None:
    engine = Engine(planned(TIMED))
    engine.batch({0: at(1_000)})
    for shard in engine.workers:
        shard.meta.whole_from = 30_000
    engine.batch(plan=planned(TIMED, VISITS, after=engine))
    assert waiting(engine) == {"visit": 35_000}
    engine.batch({0: at(34_999, device="a") + at(35_000, device="b")})
    engine.batch(end=True)
    assert told(engine, "visit") == Counter([("b", 35_000, 40_000, 1.0, 1)])


# --- whatever comes, by another way to the same answer ------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A batch: each event's partition, how far it brings that, how late it is, and its device."""

    events: list[tuple[int, int, int, str]]
    restarts: bool


STEPS = st.builds(
    Step,
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from([0, 1, 200, 499, 500, 501, 1_500]),
            st.sampled_from([0, 0, 1, 300, LATENESS]),
            st.sampled_from("aab"),
        ),
        max_size=8,
    ),
    st.booleans(),
)


class Stream:
    """An engine whose partitions go on by steps, with the log of all that it has read."""

    def __init__(self) -> None:
        self.engine = Engine(planned(TIMED), awaited=(0, 1))
        self.reached = {0: 10_000, 1: 10_000}
        self.log: list[tuple[int, int, int, Event]] = []  # time, partition, place, event

    def take(self, step: Step, plan: Any = None) -> None:
        batch: dict[int, list[Event]] = defaultdict(list)
        for partition, further, late, device in step.events:
            self.reached[partition] += further
            number = len(self.log)
            event: Event = {"ts": self.reached[partition] - late, "device": device, "temp": 1.0 + number % 7}
            batch[partition].append(event)
            self.log.append((event["ts"], partition, number, event))
        self.engine.batch(batch, plan=plan)
        if step.restarts:
            self.engine.restart()

    @property
    def instant(self) -> int:
        """When a plan takes effect that comes now."""
        return max(ts for ts, *_ in self.log) + 1

    def groups(self) -> Iterator[tuple[str, list[Event]]]:
        for device in "ab":
            yield device, [event for *_, event in sorted(self.log) if event["device"] == device]


def as_told(device: str, events: Sequence[Event], lasting: int) -> tuple[str, int, int, float | None, int]:
    total = sum(event["temp"] for event in events)
    return device, events[0]["ts"], events[-1]["ts"] + lasting, total, len(events)


def sessions(stream: Stream, gap: int) -> Told:
    """Of the whole log, whatever plan was in force."""
    found: Told = Counter()
    for device, events in stream.groups():
        breaks = [at for at, (one, next_) in enumerate(pairwise(events), 1) if next_["ts"] - one["ts"] > gap]
        for low, high in pairwise([0, *breaks, len(events)]):
            if low < high:
                found[as_told(device, events[low:high], gap)] += 1
    return found


def counted(stream: Stream, window: CountWindow, since: int) -> Told:
    """Of the events from an instant on."""
    found: Told = Counter()
    for device, events in stream.groups():
        events = [event for event in events if event["ts"] >= since]
        for end in range(window.every, len(events) + 1, window.every):
            if end >= window.count:
                found[as_told(device, events[end - window.count : end], 1)] += 1
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.lists(STEPS, min_size=1, max_size=4).filter(lambda steps: any(step.events for step in steps)),
    between=st.lists(STEPS, max_size=4),
    after=st.lists(STEPS, max_size=4),
    gap=st.sampled_from([1, 500, 1_200, 4_000]),
)
def test_what_is_told_is_true_of_the_whole_log(
    before: list[Step], between: list[Step], after: list[Step], gap: int
) -> None:
    stream = Stream()
    visits = replace(VISITS, window=SessionWindow(gap))
    for step in before:
        stream.take(step)
    instant = stream.instant
    stream.take(Step([], restarts=False), planned(TIMED, visits, LAST_3, after=stream.engine))
    for step in between:
        stream.take(step)
    beside = replace(TIMED, id="beside", window=Window(3_000, 3_000))
    stream.take(Step([], restarts=True), planned(visits, LAST_3, beside, after=stream.engine))
    for step in after:
        stream.take(step)
    stream.engine.batch(end=True)
    assert not stream.engine.dead_letters
    happened = sessions(stream, gap)
    found = told(stream.engine, "visit")
    assert found <= happened
    certain = Counter(session for session in happened if session[1] - gap >= instant)
    assert certain <= found
    assert told(stream.engine, "last") == counted(stream, LAST, instant)
