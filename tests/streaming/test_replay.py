"""`replay` runs queries over a file through map task, shard and kernels; DuckDB says what is right."""

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from optimizer.strategies import STRATEGIES
from streaming.replay import Replay, Summary, TooManyResults, engine
from streaming.replay.files import open_file
from streaming.spec import InvalidSpec, Spec
from tests.streaming import oracle

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


def replay(events: Path, spec: dict[str, Any], out: Path, **planning: Any) -> Summary:
    read = Spec.read(json.dumps(spec).encode())
    return Replay.planned(open_file(events, read.time_zone), read, **planning).run(out, lambda _: None)


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


def test_200_000_events_through_12_windows_equal_duckdb_on_every_row(tmp_path):
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
    done = replay(events, spec, out)
    rows = read_rows(out)
    assert rows == oracle.answers(events, spec)
    counts = done.counts
    assert (counts.read, counts.malformed, counts.late, done.results) == (200_000, 0, 0, len(rows))


def test_malformed_and_late_lines_are_left_out_and_counted(tmp_path):
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
    done = replay(events, spec, out)
    assert read_rows(out) == {("s", "1m", "1m", (), START, START + 60_000): (11.0, 4)}
    assert (done.counts.read, done.counts.malformed, done.counts.late) == (6, 1, 1)
    assert done.left_out == {"s": (1, "temp is text, not a number.")}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"field": "tmep"}, "Query “s”: No field “tmep”. Did you mean “temp”?"),
        ({"where": "tmep > 3"}, "Query “s”: No field “tmep” (character 1). Did you mean “temp”?"),
        ({"group_by": ["devise"]}, "Query “s”: No field “devise”. Did you mean “device”?"),
        (
            {"where": "status = "},
            "Query “s”: The filter is not complete or has a syntax error at character 8.",
        ),
        ({"group_by": ["room"]}, "Query “s”: No field “room”."),
        ({"field": "device"}, "Query “s”: “device” is text; the sum needs numbers."),
    ],
)
def test_a_query_that_does_not_fit_the_events_is_refused_in_a_sentence(tmp_path, change, sentence):
    events = tmp_path / "events.jsonl"
    write_events(events, 10)
    query = {"name": "s", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1m")])} | change
    with pytest.raises(InvalidSpec) as refusal:
        replay(events, spec_of([query]), tmp_path / "out")
    assert str(refusal.value) == sentence


FAMILY = [
    {"name": "sum", "aggregate": "sum", "field": "temp", "windows": windows(WINDOWS[:4]),
     "group_by": ["device"]},
    {"name": "all", "aggregate": "count", "windows": windows(WINDOWS[2:5]), "where": "status = 'ok'"},
]  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_file(strategy, tmp_path):
    events = tmp_path / "events.jsonl"
    write_events(events, 3_000)
    plain, planned = tmp_path / "plain.jsonl", tmp_path / "planned.jsonl"
    replay(events, spec_of(FAMILY), plain, strategy="no_share")
    replay(events, spec_of(FAMILY), planned, strategy=strategy)
    assert planned.read_bytes() == plain.read_bytes()
    assert plain.read_bytes().count(b"\n") > 1_000


@pytest.mark.parametrize("kernel", ["flatfit", "panes", "slickdeque", "prefix_difference", "finger_tree"])
def test_a_kernel_is_used_in_every_tree(kernel, tmp_path):
    events = tmp_path / "events.jsonl"
    write_events(events, 3_000)
    queries = FAMILY[1:] if kernel == "prefix_difference" else FAMILY
    spec = Spec.read(json.dumps(spec_of(queries)).encode())
    planned = Replay.planned(open_file(events, "UTC"), spec, kernel=kernel)
    used = {tree.kernel for tree in planned.plan.trees if tree.queries}
    assert used == {"slickdeque_inv" if kernel == "slickdeque" else kernel}
    planned.run(tmp_path / "out.jsonl", lambda _: None)
    assert read_rows(tmp_path / "out.jsonl") == oracle.answers(events, spec_of(queries))


@pytest.mark.parametrize(
    ("planning", "sentence"),
    [
        ({"strategy": "wovn"}, "No strategy “wovn”: use one of no_share, all_shared, "),
        ({"kernel": "flatfet"}, "No kernel “flatfet”: use one of slickdeque, slickdeque_inv, "),
        ({"kernel": "sparse_table"}, "The kernel “sparse_table” cannot compute sum, which is not idempo"),
        ({"kernel": "daba"}, "The kernel answers one window alone: choose one that shares, such as flatfit."),
    ],
)  # fmt: skip
def test_a_strategy_or_kernel_that_will_not_do_is_refused_in_a_sentence(tmp_path, planning, sentence):
    events = tmp_path / "events.jsonl"
    write_events(events, 10)
    queries = [FAMILY[0] | {"windows": windows(WINDOWS[2:4])}]
    with pytest.raises(InvalidSpec) as refusal:
        replay(events, spec_of(queries), tmp_path / "out", **({"strategy": "all_shared"} | planning))
    assert str(refusal.value).startswith(sentence)


def test_answers_of_every_kind_are_json(tmp_path):
    events, out = tmp_path / "events.jsonl", tmp_path / "results.jsonl"
    lines = [{"ts": START + at, "temp": None, "name": f"n{at}\n", "big": 2**52 - at} for at in range(4)]
    lines.append({"ts": START + 60_000, "temp": 0.1, "name": '"ä', "big": 1})
    events.write_text("\n".join(map(json.dumps, lines)))
    minute = windows([("1m", "1m")])
    asked = [
        ("mean", "temp"),
        ("last", "temp"),
        ("collect", "name"),
        ("exact_sum", "big"),
        ("text_max", "name"),
    ]
    queries = [
        {"name": f'"{aggregate}"', "aggregate": aggregate, "field": field, "windows": minute}
        for aggregate, field in asked
    ]
    done = replay(events, spec_of(queries), out)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["query"], row["value"], row["count"]) for row in found] == [
        ('"mean"', None, 4),
        ('"mean"', 0.1, 1),
        ('"last"', None, 4),
        ('"last"', 0.1, 1),
        ('"collect"', {"items": ["n0\n", "n1\n", "n2\n", "n3\n"], "cut": False}, 4),
        ('"collect"', {"items": ['"ä'], "cut": False}, 1),
        ('"exact_sum"', str(4 * 2**52 - 6), 4),
        ('"exact_sum"', 1, 1),
        ('"text_max"', "n3\n", 4),
        ('"text_max"', '"ä', 1),
    ]
    assert done.results == len(found)
    assert list(found[0]) == ["query", "range", "slide", "group", "start", "end", "value", "count"]
    assert (found[0]["start"], found[0]["end"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")


def test_values_that_an_aggregate_cannot_take_are_told(tmp_path):
    events, out = tmp_path / "events.jsonl", tmp_path / "results.jsonl"
    events.write_text("\n".join(json.dumps({"ts": START + at, "temp": at / 3}) for at in range(10)))
    several = windows([("1m", "1m"), ("2m", "1m")])
    query = {"name": "whole", "aggregate": "exact_sum", "field": "temp", "windows": several}
    count, reason = replay(events, spec_of([query]), out).left_out["whole"]
    assert count == 6
    assert reason == "exact_sum with 9 decimal places cannot hold 0.3333333333333333."


def test_a_failure_leaves_what_was_there_before(tmp_path, monkeypatch):
    events, out = tmp_path / "events.jsonl", tmp_path / "results.jsonl"
    write_events(events, 100)
    out.write_text("before")
    monkeypatch.setattr("streaming.replay.results._span", lambda start, end: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        replay(events, spec_of(FAMILY), out)
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "results.jsonl"]


@pytest.mark.parametrize(
    ("of_events", "source", "sentence"),
    [
        ("text", {}, "“at” holds text values: choose ISO 8601 text or a pattern."),
        (1, {"time_unit": "iso"}, "“at” holds integer values: choose one of the numeric units."),
        (
            0.5,
            {"time_unit": "pattern", "time_pattern": "%Y"},
            "“at” holds number values: choose one of the numeric units.",
        ),
        (True, {}, "“at” cannot hold the event time: choose a number or a text field."),
    ],
)
def test_an_event_time_of_another_kind_is_refused_in_a_sentence(tmp_path, of_events, source, sentence):
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps({"at": of_events}))
    spec = spec_of([{"name": "n", "aggregate": "count", "windows": windows([("1m", "1m")])}])
    spec["source"] |= {"event_time": "at", **source}
    with pytest.raises(InvalidSpec) as refusal:
        replay(events, spec, tmp_path / "out")
    assert str(refusal.value) == sentence


ASKED = [
    {"name": "sum", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1s"), ("45s", "20s")]),
     "group_by": ["device"]},
    {"name": "all", "aggregate": "max", "field": "temp", "windows": windows([("10s", "10s"), ("7m", "1s")])},
]  # fmt: skip


def test_windows_that_are_answered_some_at_a_time_have_the_answers_of_all_at_once(tmp_path, monkeypatch):
    events, whole, parts = tmp_path / "events.jsonl", tmp_path / "whole", tmp_path / "parts"
    write_events(events, 3_000)
    replay(events, spec_of(ASKED), whole)
    monkeypatch.setattr(engine, "ANSWERS_AT_ONCE", 200)
    replay(events, spec_of(ASKED), parts)
    assert parts.read_bytes() == whole.read_bytes()
    assert read_rows(parts) == oracle.answers(events, spec_of(ASKED))


@pytest.mark.parametrize("query", [*ASKED, ASKED[0] | {"windows": [{"count": 1, "every": 1}]}])
def test_more_results_than_wanted_are_refused_before_they_are_made(tmp_path, monkeypatch, query):
    events, out = tmp_path / "events.jsonl", tmp_path / "out"
    write_events(events, 500)
    read = Spec.read(json.dumps(spec_of([query])).encode())

    def run(most: int) -> Summary:
        planned = Replay.planned(open_file(events, "UTC"), read)
        return planned.run(out, lambda _: None, most_results=most)

    made = run(10_000_000).results
    assert run(made).results == made
    out.write_text("before")
    with pytest.raises(TooManyResults, match=f"^There would be more than {made - 1:,} results: begin later"):
        run(made - 1)
    assert out.read_text() == "before"


def test_an_event_far_ahead_does_not_fill_the_memory(tmp_path, monkeypatch):
    """Of a hundred billion windows that one batch closes, few are made before they are too many."""
    events = tmp_path / "events.jsonl"
    hours = [{"ts": START + 3_600_000 * hour} for hour in range(87_600)]
    events.write_text("\n".join(map(json.dumps, hours)))
    query = {"name": "n", "aggregate": "count", "windows": windows([("1000s", "1ms")])}
    read = Spec.read(json.dumps(spec_of([query])).encode())
    made = 0
    emit = engine._Shard._emit

    def noted(self, member, ends, *others):
        nonlocal made
        made += len(ends)
        emit(self, member, ends, *others)

    monkeypatch.setattr(engine, "ANSWERS_AT_ONCE", 10_000)
    monkeypatch.setattr(engine._Shard, "_emit", noted)
    with pytest.raises(TooManyResults):
        Replay.planned(open_file(events, "UTC"), read).run(
            tmp_path / "out", lambda _: None, most_results=50_000
        )
    assert made < 70_000


def test_years_without_events_take_no_time(tmp_path, monkeypatch):
    events, out = tmp_path / "events.jsonl", tmp_path / "out"
    years = [{"ts": year * 31_536_000_000, "device": f"d{year}"} for year in range(30)]
    events.write_text("\n".join(map(json.dumps, years)))
    monkeypatch.setattr(engine, "ANSWERS_AT_ONCE", 10)
    query = {"name": "n", "aggregate": "count", "windows": windows([("2s", "1s")]), "group_by": ["device"]}
    answered = 0
    answer = engine.Shard._answer_finals

    def noted(*those):
        nonlocal answered
        answered += 1
        answer(*those)

    monkeypatch.setattr(engine.Shard, "_answer_finals", noted)
    assert replay(events, spec_of([query]), out).results == 60
    assert answered < 200
