"""Window answers by DuckDB: an engine that we did not write, by the definition of a window."""

from pathlib import Path
from typing import Any

import duckdb

from optimizer.durations import parse_duration

Row = tuple[str, str, str, tuple[Any, ...], int, int]  # query, range, slide, group, start and end in ms


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
