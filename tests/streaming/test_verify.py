"""Verification finds what is wrong, allows for an aggregate's own error, and says what it leaves out."""

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer.queries import Query
from optimizer.windows import Window
from streaming import verify
from streaming.aggregates import AGGREGATES
from streaming.lanes import Timeline
from streaming.replay import Replay, Summary
from streaming.replay.files import open_file
from streaming.results import ResultBlock
from streaming.sources import SourceSpec
from streaming.spec import Spec
from streaming.verify import Comparison, Difference, Verification
from tests.streaming.test_replay import START, spec_of, windows, write_events

FIELD = {"numbers": "temp", "pairs": "temp", "texts": "status", "truths": "temp > 100", "anything": "status"}


def verified(path: Path, queries: list[dict[str, Any]], **source: Any) -> Summary:
    spec = spec_of(queries)
    spec["source"] |= source
    read = Spec.read(json.dumps(spec).encode())
    return Replay.planned(open_file(path, "UTC"), read).run(
        path.with_name("out"), lambda _: None, verify=True
    )


def test_every_aggregate_is_verified_over_fields_and_expressions(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    write_events(events, 20_000)
    queries = [
        {"name": name, "aggregate": name, "field": FIELD[aggregate.takes] if name != "exact_sum" else "ts",
         "windows": windows([("7m", "2m")]), "group_by": ["status"] if at % 2 else [],
         "where": None if at % 3 else "temp % 2 < 1 OR CAST(status AS INT) IN (1, 2) -- fails"}
        for at, (name, aggregate) in enumerate(AGGREGATES.items())
    ]  # fmt: skip
    comparisons = verified(events, queries).comparisons
    assert [comparison.query.name for comparison in comparisons] == list(AGGREGATES)
    for comparison in comparisons:
        assert (comparison.left_out, comparison.different) == ("", 0), comparison
        assert comparison.rows >= 18
    assert set(verify.SQL) == set(AGGREGATES)


def test_refused_events_are_in_neither_answer(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    write_events(events, 3_000)
    lines = events.read_text().splitlines()
    lines[1_500:1_500] = [json.dumps({"ts": START, "device": "late", "temp": 1}), "{cut", "{}"]
    events.write_text("\n".join(lines))
    query = {"name": "n", "aggregate": "count", "windows": windows([("1m", "10s")]), "group_by": ["device"]}
    done = verified(events, [query])
    [comparison] = done.comparisons
    assert (done.counts.late, done.counts.malformed) == (1, 2)
    assert comparison.rows > 1_000 and comparison.different == 0


def test_wrong_values_are_none_in_both_answers(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    write_events(events, 3_000)
    made = [json.loads(line) for line in events.read_text().splitlines()]
    for at in range(0, len(made), 7):
        made[at]["temp"] = "n/a"
    for at in range(0, len(made), 11):
        made[at]["device"] = at
    events.write_text("\n".join(map(json.dumps, made)))
    minutes = {"windows": windows([("1m", "10s")])}
    queries = [
        {"name": "count", "aggregate": "count", **minutes},
        {"name": "sum", "aggregate": "sum", "field": "temp", **minutes, "group_by": ["device"]},
        {"name": "mean", "aggregate": "mean", "field": "coalesce(temp, 0) + 1", **minutes},
        {"name": "max", "aggregate": "max", "field": "temp", **minutes, "where": "temp > 1 OR device = 'd1'"},
    ]
    done = verified(events, queries)
    assert (done.counts.accepted, done.counts.malformed) == (3_000, 0)
    for comparison in done.comparisons:
        assert comparison.rows > 20 and comparison.different == 0, comparison
    assert {name: count for name, (count, _) in done.left_out.items()} == {
        "sum": len({*range(0, 3_000, 7), *range(0, 3_000, 11)}),
        "mean": len(range(0, 3_000, 7)),
        "max": len({*range(0, 3_000, 7), *range(0, 3_000, 11)}),
    }


def test_a_wrong_answer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = tmp_path / "events.jsonl"
    write_events(events, 500)
    honest = ResultBlock.rows
    monkeypatch.setattr(
        ResultBlock,
        "rows",
        lambda block: ((g, v + 1 if block.end % 7 == 0 else v, n) for g, v, n in honest(block)),
    )
    query = {"name": "s", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1m")])}
    [comparison] = verified(events, [query]).comparisons
    assert 0 < comparison.different < comparison.rows
    assert comparison.largest == pytest.approx(1)
    assert len(comparison.examples) == min(comparison.different, verify.EXAMPLES)
    for row in comparison.examples:
        assert row.end % 7 == 0 and row.ours and row.theirs and row.ours[0] == row.theirs[0] + 1


def test_rows_that_one_side_lacks_and_wrong_counts_differ() -> None:
    query = Query("q", "q", "sum", "v", Window(10, 10))
    comparison = Comparison(query)
    ours = {(10, ("a",)): (1.0, 1), (20, ("a",)): (2.0, 2), (30, ("a",)): (3.0, 3)}
    theirs = {(10, ("a",)): (1.0, 1), (20, ("a",)): (2.0, 9), (40, (None,)): (4.0, 4)}
    comparison.compare(ours, theirs)
    assert (comparison.rows, comparison.equal, comparison.different) == (4, 1, 3)
    assert comparison.examples == [
        Difference(20, ("a",), (2.0, 2), (2.0, 9)),
        Difference(30, ("a",), (3.0, 3), None),
        Difference(40, (None,), None, (4.0, 4)),
    ]


def test_sketches_of_many_values_are_within_what_is_let_pass(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    events = tmp_path / "events.jsonl"
    rows = zip(range(40_000), chance.exponential(size=40_000), chance.integers(0, 9_000, 40_000), strict=True)
    events.write_text("\n".join(f'{{"ts":{START + at},"x":{x},"i":{i}}}' for at, x, i in rows))
    asked = [("p50", "x"), ("p99", "x"), ("approx_distinct_count", "i")]
    queries = [
        {"name": name, "aggregate": name, "field": field, "windows": windows([("10s", "1s")])}
        for name, field in asked
    ]
    for comparison in verified(events, queries).comparisons:
        assert comparison.rows > 40 and comparison.different == 0
        assert comparison.within > 0 and comparison.largest > 0  # beside what is called equal


def test_what_is_not_verified_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = SourceSpec("s", "", "", schema=(("ts", "integer"),), event_time="ts")
    with Verification(tmp_path, source, Timeline()) as verification:
        monkeypatch.delitem(verify.SQL, "sum")
        timed = Query("q", "q", "sum", "ts", Window(10, 10))
        assert verification.compared(timed, [], 0).left_out == "not verified: DuckDB has no sum"


def test_windows_are_those_of_the_definition() -> None:
    """Against a loop over all instants: offsets, samples, and times before 1970."""
    times = [-25, -7, -1, 0, 3, 4, 11, 12, 13, 29]
    for window in (Window(10, 10), Window(10, 3), Window(7, 5, 2), Window(3, 8, 1)):
        with duckdb.connect() as connection:
            connection.execute(
                f"CREATE TABLE events AS SELECT unnest({times}) AS {verify.TIME}, 0 AS {verify.PLACE}"
            )
            found = verify.answers(connection, Query("q", "q", "count", None, window), {})
        starts = range(-100 * window.slide + window.offset, 100, window.slide)
        inside = {start: sum(start <= at < start + window.range for at in times) for start in starts}
        assert found == {(start + window.range, ()): (n, n) for start, n in inside.items() if n}


def counted(path: Path, name: str, query: dict[str, Any]) -> None:
    """That a verification of this query finds rows, and none that differ."""
    [comparison] = verified(path, [{"name": name, "windows": windows([("1m", "1m")]), **query}]).comparisons
    assert (comparison.left_out, comparison.different, comparison.examples) == ("", 0, [])
    assert comparison.rows > 1


def test_fields_may_have_the_names_that_verification_uses_itself(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    names = (
        "v",
        "g0",
        "f0",
        "happened",
        *(name.strip('"') for name in (verify.TIME, verify.PLACE, verify.START)),
    )
    events.write_text(
        "\n".join(
            json.dumps({"ts": START + 1_000 * at, "x": at} | dict.fromkeys(names, at % 3))
            for at in range(100)
        )
    )
    for name in names:
        where = f'"{name}" < 2'
        counted(events, "group", {"aggregate": "count", "group_by": [name], "where": where})
        counted(events, "value", {"aggregate": "sum", "field": name, "group_by": ["x"]})
        counted(events, "both", {"aggregate": "max", "field": f'"{name}" * 2', "group_by": ["x", name]})
        counted(
            events,
            "session",
            {"aggregate": "sum", "field": name, "group_by": [name], "windows": [{"gap": "1s"}]},
        )


def test_names_that_differ_in_case_alone_are_different_fields(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    lines = [{"ts": START + 1_000 * at, "a": at % 3, "A": at % 2} for at in range(100)]
    events.write_text("\n".join(map(json.dumps, lines)))
    counted(events, "plain", {"aggregate": "sum", "field": "a", "group_by": ["A"]})
    counted(events, "other", {"aggregate": "sum", "field": "A", "group_by": ["a"]})
    where = "A = 1 AND NOT a = 1 AND CAST(a AS INT) / A < 3"
    counted(events, "computed", {"aggregate": "sum", "field": "a + A * 100", "where": where})


def test_what_is_no_number_is_no_value(tmp_path: Path) -> None:
    """In a file as well as of an expression, for every aggregate of numbers, in windows of every kind."""
    events, out = tmp_path / "events.parquet", tmp_path / "out"
    found = [1.5, math.nan, None, 2.0, math.nan, 4.0] * 20
    columns = {
        "ts": pa.array(range(START, START + 120_000, 1_000)),
        "x": pa.array(found, pa.float64(), from_pandas=False),
        "small": pa.array(found, pa.float32(), from_pandas=False),
        "zero": pa.array([0.0, 1.0, 0.0] * 40),
    }
    pq.write_table(pa.table(columns), events)
    queries = [
        {"name": f"{aggregate} {field}", "aggregate": aggregate, "field": field, "group_by": group_by,
         "windows": [*windows([("30s", "10s")]), {"gap": "1s"}, {"count": 7, "every": 3}]}
        for aggregate in ("sum", "mean", "min", "max", "last", "p50", "distinct_count", "count", "top_k")
        for field, group_by in (("x", []), ("small", ["x"]), ("zero / zero * x", ["zero"]))
    ]  # fmt: skip
    for comparison in verified(events, queries).comparisons:
        assert (comparison.left_out, comparison.examples, comparison.rows > 0) == ("", [], True), (
            comparison.query
        )
    assert "NaN" not in out.read_text()
    sums = [row for row in map(json.loads, out.read_text().splitlines()) if row["query"] == "sum x"]
    assert sums[0]["value"] == 11.0  # of ten events


def test_infinities_are_what_they_are(tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    found = [1.0, math.inf, 2.0, -math.inf, 3.0, 4.0] * 20
    pq.write_table(pa.table({"ts": range(START, START + 120_000, 1_000), "x": found}), events)
    queries = [
        {"name": name, "aggregate": name, "field": "x", "windows": windows([("3s", "1s")])}
        for name in ("sum", "mean", "min", "max")
    ]
    for comparison in verified(events, queries).comparisons:
        assert (comparison.examples, comparison.rows > 100) == ([], True), comparison.query


def test_extremes_of_infinities_alone_are_infinite_in_every_kind_of_window(tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    found = [-math.inf] * 10 + [math.inf] * 10
    pq.write_table(pa.table({"ts": range(START, START + 20_000, 1_000), "x": found}), events)
    every = [*windows([("10s", "10s")]), {"count": 10}]
    queries = [{"name": name, "aggregate": name, "field": "x", "windows": every} for name in ("max", "min")]
    for comparison in verified(events, queries).comparisons:
        assert (comparison.examples, comparison.equal) == ([], 2), comparison.query
    rows = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [row["value"] for row in rows] == ["-Infinity", "Infinity"] * 4


GROUP_WINDOWS = [{"count": 30, "every": 20}, {"count": 3, "every": 7}, {"gap": "2s"}, {"gap": "500ms"}]


def test_count_and_session_windows_are_verified(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    write_events(events, 5_000)
    queries = [
        {"name": name, "aggregate": name, "field": FIELD[aggregate.takes] if name != "exact_sum" else "ts",
         "windows": GROUP_WINDOWS, "group_by": ["device", "status"][: at % 3],
         "where": "temp % 2 < 1 OR status = 'ok'" if at % 2 else None}
        for at, (name, aggregate) in enumerate(AGGREGATES.items())
    ]  # fmt: skip
    for comparison in verified(events, queries).comparisons:
        assert (comparison.left_out, comparison.examples) == ("", []), comparison.query
        assert comparison.rows > 0
    several = [{"ts": START, "temp": at, "device": "a"} for at in range(9)]  # all at once
    events.write_text("\n".join(map(json.dumps, several)))
    counted(events, "at once", {"aggregate": "sum", "field": "temp", "windows": [{"count": 2, "every": 1}]})


@pytest.mark.parametrize("window", GROUP_WINDOWS[::2])
def test_a_wrong_count_or_session_window_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: dict[str, Any]
) -> None:
    events = tmp_path / "events.jsonl"
    write_events(events, 2_000)
    query = {"name": "s", "aggregate": "sum", "field": "temp", "windows": [window], "group_by": ["device"]}
    honest = ResultBlock.row_starts
    monkeypatch.setattr(ResultBlock, "row_starts", lambda block: [at + (at % 7 == 0) for at in honest(block)])
    [comparison] = verified(events, [query]).comparisons
    assert 0 < comparison.different < comparison.rows
    assert comparison.examples[0].group[1].startswith("from 20")
