"""Window answers by DuckDB: an engine that we did not write, by the definition of a window."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from optimizer.durations import parse_duration
from optimizer.group_windows import CountWindow, GroupQuery

Row = tuple[str, str, str, tuple[Any, ...], int, int]  # query, range, slide, group, start and end in ms
# By end and group, the windows that end then, in order: start, answer, events.
Found = dict[tuple[int, tuple[Any, ...]], list[tuple[int, Any, int]]]


def answers(events: Path, spec: dict[str, Any]) -> dict[Row, tuple[float | None, int]]:
    """Every window of every query of a replay spec over a file of JSON lines: (value, count)."""
    connection = duckdb.connect()
    connection.execute(
        f"CREATE TABLE events AS SELECT * FROM read_json('{events}', format='newline_delimited')"
    )
    time_field = spec["source"]["event_time"]
    found: dict[Row, tuple[float | None, int]] = {}
    for query in spec["queries"]:
        for window in query["windows"]:
            size, slide = parse_duration(window["range"]), parse_duration(window["slide"])
            for row in connection.execute(_sql(query, time_field, size, slide)).fetchall():
                start, value, count, *group = row
                key = (query["name"], window["range"], window["slide"], tuple(group), start, start + size)
                found[key] = (value, count)
    return found


def _sql(query: dict[str, Any], time_field: str, size: int, slide: int) -> str:
    group_by = query.get("group_by", [])
    field = query.get("field") or "*"
    value = f"{ {'mean': 'avg'}.get(query['aggregate'], query['aggregate']) }({field})"
    names = "".join(f", {name}" for name in group_by)
    return f"""
        WITH placed AS (
            SELECT *, unnest(generate_series(
                (({time_field} - {size})::BIGINT // {slide} + 1) * {slide},
                ({time_field} // {slide}) * {slide},
                {slide}::BIGINT)) AS start
            FROM events WHERE {query.get("where") or "true"}
        )
        SELECT start, {value}, count(*) {names} FROM placed GROUP BY start {names}
    """


def group_windows(query: GroupQuery, answer: str, happened: pa.Table) -> Found:
    """Count windows as windows of numbered rows, sessions as gaps and islands; `answer` is SQL.

    Of `happened`, column `ts` has the times and `place` the order of events where times are equal.
    """
    connection = duckdb.connect()
    connection.register("happened", happened)
    found: Found = defaultdict(list)
    sql = _count_sql if isinstance(query.window, CountWindow) else _session_sql
    for end, start, value, count, *group in connection.execute(sql(query, answer)).fetchall():
        found[end, tuple(group)].append((start, value, count))
    return found


def _count_sql(query: GroupQuery, answer: str) -> str:
    names, over = _names_and_order(query)
    same = "".join(f" AND p.{name} IS NOT DISTINCT FROM e.{name}" for name in query.group_by)
    count, every = query.window.count, query.window.every
    return f"""
        WITH numbered AS (SELECT *, row_number() {over} AS n FROM happened WHERE {query.where or "true"}),
        ends AS (SELECT * FROM numbered WHERE n % {every} = 0 AND n >= {count}),
        held AS (SELECT p.*, e.n AS e, e.ts + 1 AS ended FROM ends e JOIN numbered p
            ON p.n > e.n - {count} AND p.n <= e.n {same})
        SELECT ended, min(ts), {answer}, count(*) {names} FROM held GROUP BY ended, e {names} ORDER BY e
    """


def _session_sql(query: GroupQuery, answer: str) -> str:
    names, over = _names_and_order(query)
    gap = query.window.gap
    return f"""
        WITH followed AS (SELECT *, lag(ts) {over} AS before FROM happened WHERE {query.where or "true"}),
        held AS (SELECT *, sum((before IS NULL OR ts - before > {gap})::INT) {over} AS session FROM followed)
        SELECT max(ts) + {gap}, min(ts), {answer}, count(*) {names} FROM held GROUP BY session {names}
    """


def _names_and_order(query: GroupQuery) -> tuple[str, str]:
    names = "".join(f", {name}" for name in query.group_by)
    return names, f"OVER (PARTITION BY 1 {names} ORDER BY ts, place)"
