"""Every aggregate over every kind of window, grouped, filtered and late, with every strategy: as DuckDB."""

from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from streaming import verify
from streaming.aggregates import AGGREGATES
from streaming.aggregates.gathering import PARTITION
from streaming.likeness import alike
from streaming.sources import SourceSpec
from tests.streaming.engine import FAR_AHEAD, Engine
from tests.streaming.rules import Judge

SOURCE = SourceSpec(
    id="s",
    bootstrap_servers="",
    topic="t",
    schema=(
        ("ts", "integer"),
        ("device", "text"),
        ("site", "integer"),
        ("v", "number"),
        ("i", "integer"),
        ("t", "text"),
        ("b", "boolean"),
    ),
    event_time="ts",
)
LATENESS = (0, 1_000, 5_000)  # ms
FIELD = {"numbers": "v", "pairs": "v", "texts": "t", "truths": "b", "anything": "t"}
WINDOWS = (
    Window(4_000, 4_000),
    Window(5_000, 1_000),
    Window(7_000, 3_000),  # not a multiple
    Window(3_000, 2_000, 500),  # an offset
    Window(12_000, 1_500, 700),
    Window(1_500, 4_000, 250),  # sampled
)
COLUMNS = {
    "ts": pa.int64(),
    "device": pa.string(),
    "site": pa.int64(),
    "v": pa.float64(),
    "i": pa.int64(),
    "t": pa.string(),
    "b": pa.bool_(),
    "place": pa.float64(),
}
GROUPINGS: tuple[tuple[str, ...], ...] = ((), ("device",), ("device", "site"))
FILTERS = (None, "v > 0 OR v IS NULL", "site = 1 AND b")


def field_of(aggregate: str) -> str:
    return "i" if aggregate == "exact_sum" else FIELD[AGGREGATES[aggregate].takes]


@dataclass(frozen=True)
class Log:
    """Events in the order of two partitions by turns, with a source that allows them some lateness."""

    source: SourceSpec
    made: list[dict[str, Any]]

    def accepted(self) -> pa.Table:
        """What is not late by the rules, with its place."""
        judges = Judge(self.source), Judge(self.source)
        rows = [
            event | {"place": (at % 2) * PARTITION + at // 2}
            for at, event in enumerate(self.made)
            if judges[at % 2].kind(event, timestamp=0, now=FAR_AHEAD) is None
        ]
        return pa.Table.from_pylist(rows, pa.schema(list(COLUMNS.items())))


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Out of order by more than twice of what is allowed, so that some events are late; with nulls."""
    lateness = draw(st.sampled_from(LATENESS))
    made, clock = [], draw(st.integers(-3_000, 40_000))
    for _ in range(draw(st.integers(5, 60))):
        clock += draw(st.integers(0, 900))
        made.append(
            {
                "ts": clock - draw(st.integers(0, 2 * lateness + 1_500)),
                "device": draw(st.sampled_from(["a", "b", None])),
                "site": draw(st.integers(1, 2)),
                "v": draw(st.none() | st.integers(-40, 400).map(lambda v: v / 8)),
                "i": draw(st.none() | st.integers(-(2**50), 2**50)),
                "t": draw(st.none() | st.sampled_from(["ä", "b", "", "cc", "x,y"])),
                "b": draw(st.none() | st.booleans()),
            }
        )
    return Log(replace(SOURCE, allowed_lateness=lateness), made)


def expected(queries: list[Query], log: Log) -> dict[str, verify.Answers]:
    """Of each query, (window end, group) → (answer, events), by DuckDB."""
    with duckdb.connect() as connection:
        connection.register("accepted", log.accepted())
        connection.execute(
            f"CREATE TABLE events AS SELECT *, ts AS {verify.TIME}, place AS {verify.PLACE} FROM accepted"
        )
        columns = {name: name for name in COLUMNS}
        return {query.id: verify.answers(connection, query, columns) for query in queries}


def run(queries: list[Query], strategy: str, log: Log, sizes: list[int]) -> Engine:
    plan = optimize(queries, Statistics(rate=5.0), source="s", strategy=strategy, nodes=2)
    engine = Engine(plan, source=log.source)
    at = 0
    for number, size in enumerate([*sizes, len(log.made)]):
        batch = log.made[at : at + 2 * size]
        at += 2 * size
        engine.batch({0: batch[::2], 1: batch[1::2]})
        if number == 1:
            engine.restart()
    engine.batch(end=True)
    return engine


@pytest.mark.parametrize("aggregate", AGGREGATES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    log=logs(),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    group_by=st.sampled_from(GROUPINGS),
    where=st.sampled_from(FILTERS),
    chosen=st.sets(st.sampled_from(WINDOWS), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 12), max_size=3),
)
def test_answers_are_those_of_duckdb(aggregate, log, strategy, group_by, where, chosen, sizes):
    queries = [
        Query(f"q{at}", "q", aggregate, field_of(aggregate), window, group_by, where)
        for at, window in enumerate(sorted(chosen))
    ]
    # Company that may share the partials or must not, whatever the strategy makes of it.
    queries.append(replace(queries[0], id="mean", aggregate="mean", field="v"))
    answers = run(queries, strategy, log, sizes).finals()
    by_duckdb = expected(queries, log)
    for query in queries:
        wanted = by_duckdb[query.id]
        found = {(end, group): answer for (name, end, group), answer in answers.items() if name == query.id}
        assert found.keys() == wanted.keys()
        for key, (value, count) in wanted.items():
            assert found[key][1] == count
            assert alike(query.aggregate, found[key][0], value), (query, key, found[key], value)
            if isinstance(value, float):  # nearer than a verification asks of variances over any numbers
                assert found[key][0] == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_some_logs_have_late_events():
    some = settings(phases=[Phase.generate], deadline=None)
    find(logs(), lambda log: log.accepted().num_rows < len(log.made), settings=some)
