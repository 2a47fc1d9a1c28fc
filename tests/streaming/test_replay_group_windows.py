"""Count and session windows of a file: as DuckDB."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb

from streaming.spec import Spec
from tests.streaming import oracle
from tests.streaming.oracle import Found
from tests.streaming.test_group_windows import assert_alike, expected
from tests.streaming.test_replay import milliseconds, replay, spec_of, write_events

QUERIES: list[dict[str, Any]] = [
    {"name": "last", "aggregate": "mean", "field": "temp", "windows": [{"count": 30, "every": 20}],
     "group_by": ["device"], "where": "status = 'ok'"},
    {"name": "visit", "aggregate": "stddev", "field": "temp", "windows": [{"gap": "2s"}, {"gap": "500ms"}],
     "group_by": ["device", "status"]},
    {"name": "timed", "aggregate": "max", "field": "temp", "windows": [{"range": "1m", "slide": "1m"}]},
]  # fmt: skip


def rows_of(path: Path, name: str, **window: Any) -> Found:
    found: Found = defaultdict(list)
    for row in map(json.loads, path.read_text().splitlines()):
        if row["query"] == name and window.items() <= row.items():
            key = (milliseconds(row["end"]), tuple(row["group"].values()))
            found[key].append((milliseconds(row["start"]), row["value"], row["count"]))
    return found


def test_a_replay_with_one_of_each_kind_equals_duckdb(tmp_path: Path) -> None:
    events, out = tmp_path / "events.jsonl", tmp_path / "results.jsonl"
    write_events(events, 30_000)
    spec = Spec.read(json.dumps(spec_of(QUERIES)).encode())
    replay(events, spec_of(QUERIES), out)
    happened = duckdb.sql(
        f"SELECT *, row_number() OVER () AS place FROM read_json('{events}', format='newline_delimited')"
    ).to_arrow_table()
    last, visit, _ = (item.queries() for item in spec.queries)
    ours = rows_of(out, "last", last=30, every=20)
    assert sum(map(len, ours.values())) > 1_000
    assert_alike(last[0], ours, expected(last[0], happened))
    for query, gap in zip(visit, ("2s", "500ms"), strict=True):
        assert_alike(query, rows_of(out, "visit", gap=gap), expected(query, happened))
    timed = oracle.answers(events, spec_of(QUERIES[2:]))
    assert rows_of(out, "timed", range="1m", slide="1m") == {
        (end, group): [(start, *answer)] for (*_, group, start, end), answer in timed.items()
    }
