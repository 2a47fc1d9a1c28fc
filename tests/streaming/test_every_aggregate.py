"""Every aggregate over every kind of window, grouped and filtered, as every strategy plans it: as DuckDB."""

import math
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from streaming.aggregates import AGGREGATES
from streaming.aggregates.gathering import PARTITION
from streaming.sources import SourceSpec
from tests.streaming.engine import Engine

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
    allowed_lateness=3_000,
)
ORDER = "ORDER BY ts, place"
# What DuckDB calls them, over the values of a field that are not null, in the order of events.
SQL = {
    "count": "count({v})",
    "sum": "sum({v})",
    "exact_sum": "sum({v}::BIGINT)",
    "mean": "avg({v})",
    "min": "min({v})",
    "max": "max({v})",
    "range": "max({v}) - min({v})",
    "product": "product({v})",
    "geometric_mean": "CASE WHEN min({v}) < 0 THEN NULL WHEN min({v}) = 0 THEN 0 ELSE geomean({v}) END",
    "sum_of_squares": "sum({v} * {v})",
    "variance": "var_samp({v})",
    "variance_population": "var_pop({v})",
    "stddev": "stddev_samp({v})",
    "stddev_population": "stddev_pop({v})",
    "first": f"first({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "last": f"last({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "first_n": f"(list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL))[:10]",
    "last_n": f"(list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL))[-10:]",
    "argmin": "first(ts ORDER BY {v}, ts, place) FILTER ({v} IS NOT NULL)",
    "argmax": "first(ts ORDER BY {v} DESC, ts, place) FILTER ({v} IS NOT NULL)",
    "min_count": "len(list_filter(list({v}), lambda x: x = list_min(list({v}))))",
    "max_count": "len(list_filter(list({v}), lambda x: x = list_max(list({v}))))",
    "top_k": "(list({v} ORDER BY {v} DESC) FILTER ({v} IS NOT NULL))[:10]",
    "text_min": "min({v})",
    "text_max": "max({v})",
    "concat": f"string_agg({{v}}, ',' {ORDER})",
    "any": "bool_or({v})",
    "all": "bool_and({v})",
    "collect": f"list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "collect_distinct": f"list({{v}} {ORDER}) FILTER ({{v}} IS NOT NULL)",
    "distinct_count": "count(DISTINCT {v})",
    "approx_distinct_count": "count(DISTINCT {v})",
    "percentile": "quantile_disc({v}, 0.95)",
    "p50": "quantile_disc({v}, 0.5)",
    "p95": "quantile_disc({v}, 0.95)",
    "p99": "quantile_disc({v}, 0.99)",
}
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


@st.composite
def events(draw: st.DrawFn) -> list[dict[str, Any]]:
    """In log order of two partitions by turns; out of order within the lateness; with nulls."""
    made, clock = [], draw(st.integers(-3_000, 40_000))
    for _ in range(draw(st.integers(5, 60))):
        clock += draw(st.integers(0, 900))
        made.append(
            {
                "ts": clock - draw(st.integers(0, 3_000)),
                "device": draw(st.sampled_from(["a", "b", None])),
                "site": draw(st.integers(1, 2)),
                "v": draw(st.none() | st.integers(-40, 400).map(lambda v: v / 8)),
                "i": draw(st.none() | st.integers(-(2**50), 2**50)),
                "t": draw(st.none() | st.sampled_from(["ä", "b", "", "cc", "x,y"])),
                "b": draw(st.none() | st.booleans()),
            }
        )
    return made


def expected(query: Query, made: list[dict[str, Any]]) -> dict[tuple[int, tuple[Any, ...]], tuple[Any, int]]:
    """(window end, group) → (answer, events), by DuckDB."""
    rows = [event | {"place": (at % 2) * PARTITION + at // 2} for at, event in enumerate(made)]
    happened = pa.Table.from_pylist(  # noqa: F841 (DuckDB reads it by its name)
        rows,
        pa.schema(list(COLUMNS.items())),
    )
    window, names = query.window, "".join(f", {name}" for name in query.group_by)
    answer = SQL[query.aggregate].format(v=query.field)
    found = duckdb.sql(f"""
        WITH placed AS (
            SELECT *, {window.offset} + {window.slide} * unnest(generate_series(
                floor((ts - {window.offset} - {window.range}) / {window.slide} + 1)::BIGINT,
                floor((ts - {window.offset}) / {window.slide})::BIGINT)) AS start
            FROM happened WHERE {query.where or "true"}
        )
        SELECT start + {window.range}, {answer}, count(*) {names} FROM placed
        WHERE ts < start + {window.range} GROUP BY start {names}
    """).fetchall()
    return {(end, tuple(group)): (value, count) for end, value, count, *group in found}


def alike(aggregate: str, ours: Any, theirs: Any) -> bool:
    """Equal, or as near as the aggregate promises."""
    if isinstance(ours, dict):
        ours = ours["items"]
    if aggregate == "collect_distinct" and theirs is not None:
        theirs = list(dict.fromkeys(theirs))
    if aggregate in ("distinct_count", "count", "min_count", "max_count") or theirs is None:
        return ours == theirs or (not ours and not theirs)
    if aggregate == "exact_sum":
        return int(ours) == int(theirs)
    if isinstance(theirs, float) and ours is not None:
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    return bool(ours == theirs)


def run(queries: list[Query], strategy: str, made: list[dict[str, Any]], sizes: list[int]) -> Engine:
    plan = optimize(queries, Statistics(rate=5.0), source="s", strategy=strategy, nodes=2)
    engine = Engine(plan, source=SOURCE)
    at = 0
    for number, size in enumerate([*sizes, len(made)]):
        batch = made[at : at + 2 * size]
        at += 2 * size
        engine.batch({0: batch[::2], 1: batch[1::2]})
        if number == 1:
            engine.restart()
    engine.batch(end=True)
    return engine


@pytest.mark.parametrize("aggregate", AGGREGATES)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    made=events(),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    group_by=st.sampled_from(GROUPINGS),
    where=st.sampled_from(FILTERS),
    chosen=st.sets(st.sampled_from(WINDOWS), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 12), max_size=3),
)
def test_answers_are_those_of_duckdb(aggregate, made, strategy, group_by, where, chosen, sizes):
    queries = [
        Query(f"q{at}", "q", aggregate, field_of(aggregate), window, group_by, where)
        for at, window in enumerate(sorted(chosen))
    ]
    # Company that may share the partials or must not, whatever the strategy makes of it.
    queries.append(replace(queries[0], id="mean", aggregate="mean", field="v"))
    answers = run(queries, strategy, made, sizes).finals()
    for query in queries:
        wanted = expected(query, made)
        found = {(end, group): answer for (name, end, group), answer in answers.items() if name == query.id}
        assert found.keys() == wanted.keys()
        for key, (value, count) in wanted.items():
            assert found[key][1] == count
            assert alike(query.aggregate, found[key][0], value), (query, key, found[key], value)
