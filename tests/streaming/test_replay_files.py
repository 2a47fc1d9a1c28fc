"""Files of every kind say the same as each other, however they are cut; what is wrong is said in words."""

import csv
import gzip
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.accounting import Counts
from streaming.formats.scan.records import record_ends
from streaming.replay import Replay, files
from streaming.replay.files import open_file
from streaming.replay.inputs import UnreadableEvents
from streaming.spec import Spec
from tests.streaming.test_replay import START, read_rows, replay, spec_of, windows, write_events

QUERIES: list[dict[str, Any]] = [
    {"name": "sum", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "10s")]),
     "group_by": ["device"]},
    {"name": "said", "aggregate": "concat", "field": "status", "windows": windows([("1m", "1m")])},
]  # fmt: skip
SENSOR = ["ts", "device", "temp", "status"]


def events_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_delimited(path: Path, events: list[dict[str, Any]], delimiter: str) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, SENSOR, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(events)


def write_parquet(path: Path, events: list[dict[str, Any]], times: pa.DataType) -> None:
    table = pa.Table.from_pylist([{name: event.get(name) for name in SENSOR} for event in events])
    column = table.column("ts")
    if times != pa.int64():
        column = column.cast(pa.timestamp("ms", times.tz)).cast(times)
    pq.write_table(table.set_column(0, "ts", column), path, row_group_size=700)


@pytest.fixture(scope="module")
def sensors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sensors") / "events.jsonl"
    write_events(path, 5_000)
    return path


def test_every_kind_of_file_gives_the_same_results(sensors: Path, tmp_path: Path) -> None:
    events = events_of(sensors)
    replay(sensors, spec_of(QUERIES), tmp_path / "expected")
    expected = (tmp_path / "expected").read_bytes()
    made = [tmp_path / f"events{ending}" for ending in (".csv", ".tsv", ".parquet", ".ndjson", ".jsonl.gz")]
    write_delimited(made[0], events, ",")
    write_delimited(made[1], events, "\t")
    write_parquet(made[2], events, pa.int64())
    made[3].write_bytes(sensors.read_bytes().replace(b"\n", b"\r\n\n  \n"))
    made[4].write_bytes(gzip.compress(sensors.read_bytes()))
    for path in made:
        done = replay(path, spec_of(QUERIES), tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == expected, path
        assert done.counts == Counts(5_000, 5_000)


@pytest.mark.parametrize(
    "times", [pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns"), pa.timestamp("ms")]
)
def test_times_of_parquet_are_event_times(sensors: Path, tmp_path: Path, times: pa.DataType) -> None:
    write_parquet(tmp_path / "events.parquet", events_of(sensors), times)
    spec = spec_of(QUERIES)
    replay(sensors, spec, tmp_path / "expected")
    spec["source"]["time_unit"] = "s"  # the file knows better
    replay(tmp_path / "events.parquet", spec, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


def test_times_of_parquet_without_a_zone_are_times_of_the_source_s(tmp_path: Path) -> None:
    noon = datetime(2026, 7, 1, 12, 0)  # noqa: DTZ001 (that is the point)
    pq.write_table(pa.table({"ts": pa.array([noon, None], pa.timestamp("s"))}), tmp_path / "events.parquet")
    spec = spec_of([{"name": "n", "aggregate": "count", "windows": windows([("1m", "1m")])}])
    spec["source"]["time_zone"] = "Europe/Berlin"
    done = replay(tmp_path / "events.parquet", spec, tmp_path / "out")
    [(*_, start, _)] = read_rows(tmp_path / "out")
    assert start == datetime(2026, 7, 1, 10, 0, tzinfo=UTC).timestamp() * 1000
    assert (done.counts.accepted, done.counts.malformed) == (1, 1)


def test_instants_before_1970_are_rounded_down(tmp_path: Path) -> None:
    times = pa.array([-1, -1_000, 999], pa.timestamp("us"))
    assert files._milliseconds(times, "UTC").to_pylist() == [-1, -1, 0]
    assert files._milliseconds(pa.array([1, None], pa.date32()), "UTC").to_pylist() == [86_400_000, None]


def test_records_that_cannot_be_read_are_malformed(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    rows = [f"{START},1,ok", f"{START + 1},hot,ok", f"{START + 2},2", f"{START + 3},4,ok", ",8,ok"]
    path.write_text(
        "\n".join(["ts,temp,status", *rows, f'{START + 4},16,"a\n', f'b""c"\n{START + 5},32,"open'])
    )
    query = {"name": "s", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1m")])}
    done = replay(path, spec_of([query]), tmp_path / "out")
    assert read_rows(tmp_path / "out") == {("s", "1m", "1m", (), START, START + 60_000): (21.0, 4)}
    assert done.counts == Counts(read=7, accepted=4, malformed=3)
    assert done.left_out == {"s": (1, "temp is text, not a number.")}


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_results_do_not_depend_on_where_a_file_is_cut(
    ending: str, sensors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = events_of(sensors)[:600]
    events[3]["status"] = 'a "quoted"\nline'
    path = tmp_path / f"events{ending}"
    if ending == ".jsonl":
        path.write_text("\n".join(map(json.dumps, events)))
    elif ending == ".csv":
        write_delimited(path, events, ",")
    else:
        write_parquet(path, events, pa.timestamp("ms"))
    replay(path, spec_of(QUERIES), tmp_path / "expected")
    for size in (1, 100, 5_003):
        monkeypatch.setattr(files, "BLOCK_BYTES", max(size, 40))
        monkeypatch.setattr(files, "BATCH_EVENTS", size)
        if size > 1 or ending != ".parquet":
            replay(path, spec_of(QUERIES), tmp_path / "out")
            assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


@given(
    st.lists(
        st.lists(st.text(st.sampled_from('ab",\n '), max_size=5), min_size=2, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_records_end_where_the_csv_module_says(records: list[list[str]]) -> None:
    lines = io.StringIO(newline="")
    csv.writer(lines, lineterminator="\n").writerows(records)
    data = np.frombuffer(lines.getvalue().encode(), np.uint8)
    ends = np.empty(len(data), np.int64)
    count = record_ends(data, np.uint8(ord(",")), ends)
    pieces = np.split(data, ends[:count])[:-1]
    read = [list(csv.reader(io.StringIO(piece.tobytes().decode(), newline=""))) for piece in pieces]
    assert read == [[record] for record in records]


def test_a_quote_within_a_field_opens_nothing() -> None:
    data = np.frombuffer(b'5" pipe,1\na""b,2\n"x""y\nz",3\n', np.uint8)
    ends = np.empty(9, np.int64)
    assert ends[: record_ends(data, np.uint8(ord(",")), ends)].tolist() == [10, 17, 28]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("gone.jsonl", None, "There is no file {path}."),
        ("empty.csv", b"", "{path} is empty."),
        ("blank.jsonl", b"\n  \n\n", "{path} holds no events."),
        ("header.csv", b"ts,temp\n", "{path} holds no events."),
        ("events.log", b"x", "events.log does not say what it is: use .jsonl, .ndjson, .json, .csv, .tsv "
         "(each also with .gz) or .parquet."),
        ("events.gz", b"x", "events.gz does not say what it is: use .jsonl, .ndjson, .json, .csv, .tsv (each "
         "also with .gz) or .parquet."),
        ("array.json", b"[\n1,\n2]\n", "{path} cannot be read as JSON lines: write one object per line, "
         "{{…}}."),
        ("twice.csv", b"ts,ts\n1,2\n", "The header of {path} has “ts” twice."),
        ("nameless.csv", b"ts,\n1,2\n", "Column 2 in the header of {path} has no name."),
        ("latin.csv", b"ts,gr\xf6\xdfe\n1,2\n", "The header of {path} is not UTF-8."),
        ("bare.jsonl.gz", b'{"ts": 1}\n', "{path} cannot be unpacked: it is not a whole gzip file."),
        ("cut.csv.gz", gzip.compress(b"ts\n1\n")[:-12], "{path} cannot be unpacked: it is not a whole gzip"
         " file."),
        ("bare.parquet", b'{"ts": 1}\n', "{path} cannot be read as Parquet."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, name: str, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableEvents) as refusal:
        open_file(path, "UTC")
    assert str(refusal.value) == sentence.format(path=path)


def test_a_quote_that_is_never_closed_is_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.csv"
    path.write_text("ts,temp\n" + '1,"' + "2,3\n" * 100_000)
    monkeypatch.setattr(files, "BLOCK_BYTES", 100)
    monkeypatch.setattr(files, "LONGEST_BYTES", 1_000)
    with pytest.raises(UnreadableEvents, match="is a quote not closed"):
        open_file(path, "UTC")


def test_a_column_without_values_keeps_its_place(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(f"\ufeffts,nothing,temp\n{START},,1.5\n{START + 1},,\n")
    assert open_file(path, "UTC").types == {"ts": "integer", "nothing": "text", "temp": "number"}
    query = {"name": "s", "aggregate": "sum", "field": "temp", "windows": windows([("1m", "1m")])}
    replay(path, spec_of([query]), tmp_path / "out")
    assert list(read_rows(tmp_path / "out").values()) == [(1.5, 2)]


def test_what_is_read_is_told_up_to_the_whole(
    sensors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK_BYTES", 50_000)
    packed = tmp_path / "events.jsonl.gz"
    packed.write_bytes(gzip.compress(sensors.read_bytes()))
    for path in (sensors, packed):
        spec = Spec.read(json.dumps(spec_of(QUERIES)).encode())
        told: list[Any] = []
        Replay.planned(open_file(path, "UTC"), spec).run(tmp_path / "out", told.append)
        reading = [progress for progress in told if progress.step == "reading"]
        assert len(reading) > 5
        done = [progress.done for progress in reading]
        assert done == sorted(done) and done[-1] == reading[-1].total == path.stat().st_size
        assert reading[-1].events == 5_000
        assert told[-1].step == "writing results"
