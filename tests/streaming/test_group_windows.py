"""Count and session windows per group: as DuckDB and Spark have them, whatever happens on the way."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from optimizer import Statistics, optimize
from optimizer.group_windows import CountWindow, GroupQuery, SessionWindow
from optimizer.queries import AnyQuery, Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from streaming import group_state
from streaming.aggregates import AGGREGATES
from streaming.group_index import OTHER
from streaming.likeness import alike
from streaming.verify import PLACE, SQL, TIME
from tests.streaming import oracle
from tests.streaming.engine import SOURCE as SENSORS
from tests.streaming.engine import Engine
from tests.streaming.oracle import Found
from tests.streaming.test_every_aggregate import (
    FILTERS,
    GROUPINGS,
    Log,
    field_of,
    logs,
)

COUNT_WINDOWS = (
    CountWindow(1, 1),
    CountWindow(4, 4),
    CountWindow(5, 1),
    CountWindow(6, 4),  # not a multiple
    CountWindow(7, 2),
    CountWindow(2, 5),  # sampled
)
SESSION_WINDOWS = (SessionWindow(1), SessionWindow(250), SessionWindow(900), SessionWindow(3_000))


def expected(query: GroupQuery, happened: pa.Table) -> Found:
    for name, column in ((TIME, "ts"), (PLACE, "place")):
        happened = happened.append_column(name.strip('"'), happened.column(column))
    return oracle.group_windows(query, SQL[query.aggregate].format(v=query.field), happened)


def told(engine: Engine, query_id: str) -> Found:
    """Each block once: of a key there is one."""
    blocks = [block for block in engine.blocks if block.query == query_id]
    assert len({block.place for block in blocks}) == len(blocks)
    windows: Found = defaultdict(list)
    for block in blocks:
        assert block.final
        assert block.start == min(block.row_starts())
        for start, (group, value, count) in zip(block.row_starts(), block.rows(), strict=True):
            windows[block.end, group].append((start, value, count))
    return windows


def assert_alike(query: GroupQuery, ours: Found, theirs: Found) -> None:
    assert ours.keys() == theirs.keys()
    for key, windows in theirs.items():
        assert [(start, count) for start, _, count in ours[key]] == [
            (start, count) for start, _, count in windows
        ], (query, key)
        for (_, one, _), (_, other, _) in zip(ours[key], windows, strict=True):
            assert alike(query.aggregate, one, other), (query, key, one, other)


def planned(queries: list[AnyQuery], version: int = 1, **options: Any) -> Any:
    return optimize(queries, Statistics(rate=5.0), source="s", version=version, **options)


def run(queries: list[AnyQuery], log: Log, sizes: list[int], restarts: bool, **options: Any) -> Engine:
    engine = Engine(planned(queries, **options), source=log.source)
    at = 0
    for size in [*sizes, len(log.made)]:
        batch = log.made[at : at + 2 * size]
        at += 2 * size
        engine.batch({0: batch[::2], 1: batch[1::2]})
        if restarts:
            engine.restart()
    engine.batch(end=True)
    return engine


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch):
    """Several buckets for a few groups."""
    monkeypatch.setattr(group_state, "BUCKET", 2)


CASES = given(
    log=logs(),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    group_by=st.sampled_from(GROUPINGS),
    where=st.sampled_from(FILTERS),
    window=st.one_of(st.sampled_from(COUNT_WINDOWS), st.sampled_from(SESSION_WINDOWS)),
    sizes=st.lists(st.integers(1, 12), max_size=5),
    restarts=st.booleans(),
)


def company(asked: GroupQuery) -> list[AnyQuery]:
    """Queries that share the lane, or the shard, of the one that is looked at."""
    return [
        replace(asked, id="mean", aggregate="mean", field="v"),
        replace(asked, id="events", aggregate="count", field=None),
        replace(asked, id="doubled", aggregate="sum", field="v * 2"),
        Query("timed", "timed", "sum", "v", Window(4_000, 1_000), asked.group_by, asked.where),
    ]


@pytest.mark.parametrize("aggregate", AGGREGATES)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@CASES
def test_answers_are_those_of_duckdb(aggregate, log, strategy, group_by, where, window, sizes, restarts):
    asked = GroupQuery("q", "q", aggregate, field_of(aggregate), window, group_by, where)
    engine = run([asked, *company(asked)], log, sizes, restarts, strategy=strategy)
    assert_alike(asked, told(engine, "q"), expected(asked, log.accepted()))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@CASES
def test_queries_that_share_a_lane_all_have_the_answers_of_duckdb(
    log, strategy, group_by, where, window, sizes, restarts
):
    asked = GroupQuery("q", "q", "max", "v", window, group_by, where)
    mean, events, doubled, _ = company(asked)
    engine = run([asked, *company(asked)], log, sizes, restarts, strategy=strategy)
    happened = log.accepted()
    assert_alike(mean, told(engine, "mean"), expected(mean, happened))
    counted = replace(events, field="ts")
    assert_alike(counted, told(engine, "events"), expected(counted, happened))
    sums = {key: [(s, w and w / 2, n) for s, w, n in found] for key, found in told(engine, "doubled").items()}
    halved = replace(doubled, field="v")
    assert_alike(halved, sums, expected(halved, happened))


@pytest.mark.spark
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(log=logs(), gap=st.sampled_from([1, 250, 900]))
def test_sessions_are_those_of_spark(spark, log, gap):
    query = GroupQuery("q", "q", "sum", "v", SessionWindow(gap), ("device", "site"))
    session = F.session_window("at", f"{gap} milliseconds").alias("w")
    found = (
        spark.createDataFrame(log.accepted().to_pandas())
        .withColumn("at", F.timestamp_millis("ts"))
        .withColumn("v", F.nanvl("v", F.lit(None).cast("double")))  # pandas knows no null
        .groupBy(session, "device", "site")
        .agg(F.sum("v"), F.count("*"))
        .select(F.unix_millis("w.end"), F.unix_millis("w.start"), "sum(v)", "count(1)", "device", "site")
    )
    theirs: Found = defaultdict(list)
    for end, start, value, count, *group in found.collect():
        theirs[end, tuple(group)].append((start, value, count))
    assert_alike(query, told(run([query], log, [3, 5], restarts=False), "q"), theirs)


def at(*times: int, device: str = "a", temp: float = 1.0) -> list[dict[str, Any]]:
    return [{"ts": ts, "device": device, "temp": temp} for ts in times]


def sensors(*queries: AnyQuery, **options: Any) -> Engine:
    """Lateness is one second."""
    return Engine(planned(list(queries)), source=SENSORS, **options)


LAST_2 = GroupQuery("last", "q", "sum", "temp", CountWindow(2, 1), ("device",))
VISITS = GroupQuery("visit", "q", "sum", "temp", SessionWindow(100), ("device",))


def test_a_count_window_is_told_when_the_watermark_has_passed_its_last_event():
    engine = sensors(LAST_2)
    engine.batch({0: at(1_000, 1_010, 2_010)})
    assert told(engine, "last") == {}  # the watermark is 1,010: another event of that time may come
    engine.batch({0: at(2_011)})
    assert told(engine, "last") == {(1_011, ("a",)): [(1_000, 2.0, 2)]}


def test_a_session_is_told_when_no_event_can_join_it_any_more():
    engine = sensors(VISITS)
    engine.batch({0: at(1_000, 2_100)})
    assert told(engine, "visit") == {}  # the watermark is 1,100, when an event would still join it
    engine.batch({0: at(1_100, 2_101)})
    assert told(engine, "visit") == {}
    engine.batch({0: at(2_201)})
    assert told(engine, "visit") == {(1_200, ("a",)): [(1_000, 2.0, 2)]}


def test_a_late_event_joins_two_sessions():
    engine = sensors(VISITS)
    engine.batch({0: at(1_000, 1_150)})
    engine.batch({1: at(1_075, temp=10.0)})
    engine.restart()
    engine.batch(end=True)
    assert told(engine, "visit") == {(1_250, ("a",)): [(1_000, 12.0, 3)]}


def test_windows_of_a_group_that_end_in_the_same_millisecond_are_rows_of_one_block():
    engine = sensors(LAST_2, shards=1)
    events = [{"ts": 1_000, "device": "a", "temp": 2.0**at} for at in range(4)]
    engine.batch({1: events[2:], 0: [*events[:2], *at(1_000, 1_000, device="b")]})
    engine.batch(end=True)
    [block] = engine.blocks
    assert block.groups == [("a",), ("a",), ("a",), ("b",)]
    assert [value for _, value, _ in block.rows()] == [3.0, 6.0, 12.0, 2.0]


def test_windows_wait_for_a_whole_number_of_events_over_many_batches():
    query = GroupQuery("q", "q", "collect", "device", CountWindow(3, 2))
    engine = sensors(query)
    for number in range(9):
        engine.batch({0: at(5_000 * number, device=str(number))})
        engine.restart()
    engine.batch(end=True)
    answers = [value["items"] for windows in told(engine, "q").values() for _, value, _ in windows]
    assert answers == [["1", "2", "3"], ["3", "4", "5"], ["5", "6", "7"]]


def test_a_query_that_stays_goes_on_and_a_new_one_begins_when_its_plan_is_adopted():
    engine = sensors(LAST_2, VISITS)
    engine.batch({0: at(1_000)})
    newcomer = replace(LAST_2, id="new", window=CountWindow(2, 2))
    twin = replace(LAST_2, id="twin", aggregate="mean")
    timed = Query("timed", "q", "sum", "temp", Window(1_000, 1_000))
    later = optimize(
        [LAST_2, newcomer, twin, timed], Statistics(), source="s", version=2, previous=engine.plan
    )
    engine.batch({0: at(1_010)}, plan=later)
    engine.restart()
    engine.batch({0: at(1_005, 1_020)})  # the first of them is from before the change
    engine.batch({0: at(1_030, 1_040)})
    engine.batch(end=True)
    assert [windows[0][0] for windows in told(engine, "last").values()] == [1_000, 1_005, 1_010, 1_020, 1_030]
    assert told(engine, "twin").keys() == told(engine, "last").keys()
    assert told(engine, "new") == {(1_031, ("a",)): [(1_020, 2.0, 2)]}
    assert told(engine, "visit") == {}


def test_windows_go_on_where_the_number_of_nodes_changes():
    engine = sensors(LAST_2, VISITS)
    plan = engine.plan
    for version, nodes in ((2, 2), (3, 1), (4, 3)):
        plan = planned([LAST_2, VISITS], version, nodes=nodes, previous=plan)
        happened = 1_000 + 10 * version
        engine.batch({0: [*at(happened), *at(happened, device="b")]}, plan=plan)
        engine.restart()
    engine.batch(end=True)
    assert {end for end, _ in told(engine, "last")} == {1_031, 1_041}
    assert told(engine, "visit") == {(1_140, (device,)): [(1_020, 3.0, 3)] for device in "ab"}


def test_a_tree_that_has_lost_its_last_query_leaves_no_state():
    engine = sensors(LAST_2, VISITS)
    engine.batch({0: at(1_000, 1_010, device="a") + at(1_000, device="b") + at(1_000, device="c")})
    assert sum(map(len, engine.stored)) > 0
    empty = optimize([VISITS], Statistics(), source="s", version=2, previous=engine.plan)
    engine.batch({0: at(1_020, device="d")}, plan=empty)
    lanes = {lane for stored in engine.stored for lane, _ in stored}
    assert lanes == {f"{empty.group_trees[0].id}.1"}
    engine.batch(plan=optimize([], Statistics(), source="s", version=3, previous=empty))
    assert engine.stored == [{}, {}]
    engine.restart()
    engine.batch({0: at(9_000)})
    assert engine.blocks == []


def test_sessions_that_are_over_leave_no_state():
    engine = sensors(VISITS)
    engine.batch({0: at(1_000, device="a") + at(1_000, device="b") + at(1_000, device="c")})
    engine.batch({0: at(9_000, device="d")})
    assert len(told(engine, "visit")) == 3
    kept = sum(len(stored) for stored in engine.stored)
    assert kept == 1
    assert sum(meter["trees"]["1"]["slices"] for meter in engine.meters[-2:]) == 1


def test_only_buckets_with_something_to_do_are_stored_anew():
    engine = sensors(LAST_2, shards=1)
    engine.batch({0: [event for number in range(6) for event in at(1_000, device=str(number))]})
    lane = engine.timeline.group_lanes[0].id
    assert engine.stored[0].keys() == {(lane, 0), (lane, 1), (lane, 2)}
    before = dict(engine.stored[0])
    engine.batch({0: at(1_001, device="2")})  # in the second bucket of two; the watermark passes nothing
    changed = {key for key, data in engine.stored[0].items() if data != before[key]}
    assert changed == {(lane, 1)}


def test_groups_beyond_the_limit_are_one_group_that_misses_no_event():
    engine = sensors(LAST_2, replace(VISITS, window=SessionWindow(10)), shards=1)
    engine.workers[0].group_limit = 2
    engine.batch({0: [event for number in range(5) for event in at(1_000 + number, device=f"d{number}")]})
    engine.restart()
    engine.batch({0: at(1_005, device="d0") + at(1_006, device="d4")})
    engine.batch(end=True)
    assert told(engine, "visit") == {
        (1_015, ("d0",)): [(1_000, 2.0, 2)],
        (1_011, ("d1",)): [(1_001, 1.0, 1)],
        (1_016, (OTHER,)): [(1_002, 4.0, 4)],
    }
    assert told(engine, "last")[1_007, (OTHER,)] == [(1_004, 2.0, 2)]
    assert engine.meters[0]["trees"]["1"]["groups_limited"]


def test_a_value_that_an_aggregate_cannot_take_is_counted_and_stops_nobody():
    exact = replace(LAST_2, id="exact", aggregate="exact_sum", window=CountWindow(3, 3))
    session = replace(exact, id="session", window=SessionWindow(100))
    engine = sensors(exact, session)
    engine.batch({0: at(1_000) + at(1_001, temp=1 / 3) + at(1_002, temp=4.0)})
    engine.batch(end=True)
    assert told(engine, "exact") == {(1_003, ("a",)): [(1_000, 5, 3)]}
    assert told(engine, "session") == {(1_102, ("a",)): [(1_000, 5, 3)]}
    for tree in ("1", "2"):
        failed = [meter["trees"][tree]["failed_values"] for meter in engine.meters]
        assert sum(failed) == 1


def test_meters_tell_of_every_tree():
    engine = sensors(LAST_2, VISITS, shards=1)
    engine.batch({0: at(1_000, 1_001, 1_002) + at(1_000, device="b")})
    engine.batch(end=True)
    first, last = engine.meters
    assert {tree: meter["partials"] for tree, meter in first["trees"].items()} == {"1": 4, "2": 2}
    assert first["partials"] == 6
    assert {tree: meter["results"] for tree, meter in last["trees"].items()} == {"1": 2, "2": 2}
    assert last["results"] == 4
    for meter in last["trees"].values():
        assert meter["groups"] == 2
        assert meter["kernel_steps"] > 0
        assert meter["failed_values"] == 0


def test_windows_that_may_miss_events_from_before_the_start_are_not_told():
    engine = sensors(replace(LAST_2, window=CountWindow(1, 1)), VISITS)
    for shard in engine.workers:
        shard.meta.whole_from = 5_000
    engine.batch({0: at(4_999, 5_099, device="a") + at(5_099, device="b") + at(5_100, device="c")})
    engine.batch(end=True)
    assert {group for _, (group,) in told(engine, "last")} == {"a", "b", "c"}
    assert sorted(windows[0][0] for windows in told(engine, "last").values()) == [5_099, 5_099, 5_100]
    assert [group for _, group in told(engine, "visit")] == [("c",)]
