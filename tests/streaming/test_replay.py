"""`replay` runs queries over a file through broker, Spark, plan and kernels; DuckDB says what is right."""

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from streaming.replay import replay
from streaming.spec import InvalidSpec, Spec
from tests.streaming import oracle

pytestmark = pytest.mark.spark

START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
LATENESS_MS = 10_000
WINDOWS = [("10s", "10s"), ("1m", "1m"), ("30s", "5s"), ("60s", "10s"), ("45s", "20s"), ("7m", "2m")]


def write_events(path: Path, count: int) -> None:
    """Sensor events over half an hour, out of order within the lateness; values exact in binary."""
    rnd = random.Random(7)
    with path.open("w") as file:
        for number in range(count):
            now = START + number * 1_800_000 // count
            event: dict[str, Any] = {
                "ts": now - rnd.randrange(LATENESS_MS),
                "device": f"d{rnd.randrange(40)}",
                "temp": rnd.randrange(-400, 4_000) / 8,
                "status": "ok" if rnd.random() < 0.9 else "bad",
            }
            if rnd.random() < 0.01:
                del event["temp"]
            file.write(json.dumps(event) + "\n")


def spec_of(queries: list[dict[str, Any]]) -> dict[str, Any]:
    source = {"format": "json", "event_time": "ts", "time_unit": "ms", "allowed_lateness": "10s"}
    return {"source": source, "queries": queries}


def windows(pairs: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"range": size, "slide": slide} for size, slide in pairs]


def milliseconds(instant: str) -> int:
    return int(datetime.fromisoformat(instant).timestamp() * 1000)


def read_rows(path: Path) -> dict[oracle.Row, tuple[float | None, int]]:
    rows = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        start, end = milliseconds(row["start"]), milliseconds(row["end"])
        key = (row["query"], row["range"], row["slide"], tuple(row["group"].values()), start, end)
        assert key not in rows, f"{key} is there twice"
        rows[key] = (row["value"], row["count"])
    return rows


def test_200_000_events_through_12_windows_equal_duckdb_on_every_row(spark, broker, tmp_path):
    events, out = tmp_path / "events.jsonl", tmp_path / "results.jsonl"
    write_events(events, 200_000)
    where = "status = 'ok'"
    spec = spec_of(
        [
            {"name": "hot", "aggregate": "max", "field": "temp", "windows": windows(WINDOWS[:3]),
             "group_by": ["device"], "where": where},
            {"name": "mean", "aggregate": "mean", "field": "temp", "windows": windows(WINDOWS[3:]),
             "group_by": ["device"], "where": where},
            {"name": "low", "aggregate": "min", "field": "temp", "windows": windows(WINDOWS[4:])},
            {"name": "sum", "aggregate": "sum", "field": "temp", "windows": windows(WINDOWS[:2]),
             "group_by": ["device", "status"]},
            {"name": "all", "aggregate": "count", "windows": windows(WINDOWS[1:3]), "where": where},
        ]
    )  # fmt: skip
    done = replay(spark, broker, events, Spec.read(json.dumps(spec).encode()), out, tmp_path, lambda _: None)
    rows = read_rows(out)
    assert rows == oracle.answers(events, spec)
    assert (done.events, done.malformed, done.late, done.results) == (200_000, 0, 0, len(rows))


def test_malformed_and_late_lines_are_left_out_and_counted(spark, broker, tmp_path):
    events, out = tmp_path / "events.jsonl", tmp_path / "results.jsonl"
    lines = [
        {"ts": START, "temp": 1},
        {"ts": START + 20_000, "temp": 2},
        {"ts": START + 1_000, "temp": 4},  # more than 10 s behind
        {"ts": START + 15_000, "temp": 8},
        {"ts": START + 16_000, "temp": "hot"},
    ]
    events.write_text("\n".join(map(json.dumps, lines)) + "\n{cut")
    spec = spec_of([{"name": "s", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1m")])}])
    done = replay(spark, broker, events, Spec.read(json.dumps(spec).encode()), out, tmp_path, lambda _: None)
    assert read_rows(out) == {("s", "1m", "1m", (), START, START + 60_000): (11.0, 3)}
    assert (done.events, done.malformed, done.late) == (6, 2, 1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"field": "tmep"}, "Query “s”: No field “tmep”."),
        ({"where": "status = "}, "Query “s”: The filter is not complete or has a slip at character 8."),
        ({"group_by": ["room"]}, "Query “s”: No field “room”."),
        ({"field": "device"}, "Query “s”: “device” is text; the sum needs numbers."),
    ],
)
def test_a_query_that_does_not_fit_the_events_is_refused_in_a_sentence(broker, tmp_path, change, sentence):
    events = tmp_path / "events.jsonl"
    write_events(events, 10)
    query = {"name": "s", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1m")])} | change
    spec = Spec.read(json.dumps(spec_of([query])).encode())
    with pytest.raises(InvalidSpec) as refusal:
        replay(None, broker, events, spec, tmp_path / "out", tmp_path, lambda _: None)  # type: ignore[arg-type]
    assert str(refusal.value) == sentence
