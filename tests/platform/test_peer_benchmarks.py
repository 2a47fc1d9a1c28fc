"""Benchmarks beside peers: rows are judged rightly, rates follow from results, the document tells all."""

import math
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.engine.events import START, Phase, Stream
from benchmarks.engine.kafka import Message
from benchmarks.peers import document, rows, runs
from benchmarks.peers.__main__ import FULL, QUICK, SECTIONS
from benchmarks.peers.contestants import CONTESTANTS, PROGRAMS, Contestant, Installed
from benchmarks.peers.environments import FLINK_CONNECTOR, Jar, NotInstalled, jar_path
from benchmarks.peers.found import Found, Part, Setting
from benchmarks.peers.rows import Comparison, Key, Pace, Told
from benchmarks.report import write
from streaming import results
from streaming.spec import Spec

# Most devices are silent in the middle.
STREAM = Stream([Phase(4, 100), Phase(3, 10), Phase(4, 100)], devices=50, jitter=400)
UNTIL = STREAM.end // 1000 - 1
SECOND = START // 1000


def by_numpy(stream: Stream, ranges: tuple[int, ...], until: int) -> dict[Key, float]:
    """Windows as they are defined, one by one."""
    table = stream.table(0, stream.events)
    devices, temps = np.array(table.column("device").to_pylist()), table.column("temp").to_numpy()
    times = table.column("ts").to_numpy()
    found: dict[Key, float] = {}
    for seconds in ranges:
        for end in range(SECOND - 1, until + 1):
            inside = (times >= 1000 * (end - seconds)) & (times < 1000 * end)
            for device in np.unique(devices[inside]):
                found[seconds, str(device), end] = float(temps[inside & (devices == device)].max())
    return found


def told(expected: dict[Key, float]) -> list[Told]:
    return [Told(key, value, 0) for key, value in expected.items()]


def test_duckdb_expects_the_windows_that_numpy_finds() -> None:
    expected = rows.expected_rows(STREAM, (2, 5), UNTIL)
    assert expected == by_numpy(STREAM, (2, 5), UNTIL)
    assert len(expected) > 500


def test_equal_rows_are_equal_in_any_order_and_later_windows_do_not_count() -> None:
    expected = rows.expected_rows(STREAM, (2, 5), UNTIL)
    later = Told((2, "d0", UNTIL + 1), -1.0, 0)
    outcome = rows.compared([later, *reversed(told(expected))], expected, STREAM, UNTIL)
    assert outcome == Comparison(len(expected), 0, 0, 0, 0)
    assert outcome.sentence == f"all {len(expected):,} equal"


def test_rows_that_are_wrong_missing_or_too_many_are_counted() -> None:
    expected = rows.expected_rows(STREAM, (2,), UNTIL)
    first, second, *others = told(expected)
    spoke = Told((2, "d0", SECOND - 100), 1.0, 0)
    outcome = rows.compared([Told(second.key, -1.0, 0), spoke, *others], expected, STREAM, UNTIL)
    assert (outcome.missing, outcome.wrong, outcome.unexpected) == (1, 1, 1)
    assert outcome.sentence == f"of {len(expected):,}: 1 missing, 1 wrong, 1 not expected"
    assert first.key not in {second.key, *(other.key for other in others)}


def test_a_row_that_is_told_again_counts_by_its_last_value() -> None:
    expected = rows.expected_rows(STREAM, (2,), UNTIL)
    early = [Told(row.key, row.value - 1, 0) for row in told(expected)]
    assert rows.compared([*early, *told(expected)], expected, STREAM, UNTIL).wrong == 0


def test_missing_rows_of_silent_devices_are_told_from_others() -> None:
    expected = rows.expected_rows(STREAM, (3,), UNTIL)
    table = STREAM.table(0, STREAM.events)
    times = (table.column("ts").to_numpy() // 1000).tolist()
    spoke = set(zip(table.column("device").to_pylist(), times, strict=True))
    loud = [row for row in told(expected) if (row.key[1], row.key[2] - 1) in spoke]
    outcome = rows.compared(loud, expected, STREAM, UNTIL)
    assert outcome.missing == outcome.missing_silent == len(expected) - len(loud) > 20
    assert "none for a device that was silent in the last second" in outcome.sentence
    outcome = rows.compared(loud[1:], expected, STREAM, UNTIL)
    assert outcome.missing == outcome.missing_silent + 1
    assert "silent" not in outcome.sentence


def progress(points: list[tuple[float, int]], ranges: tuple[int, ...] = (5,)) -> list[Told]:
    """Answers of one device: at `at` seconds, windows that end `end` seconds after the start."""
    return [Told((size, "d0", SECOND + end), 1.0, int(at * 1000)) for at, end in points for size in ranges]


def test_a_rate_is_measured_where_windows_are_full() -> None:
    stream = Stream([Phase(10, 100), Phase(20, 1_000)])
    found = rows.pace(
        progress([(1, 5), (50, 10), (51, 14), (52, 16)]), [5], stream, START + 1000 * stream.phases[0].seconds
    )
    assert found == Pace(6_000 / 2, full=True)


def test_where_windows_did_not_fill_the_later_half_counts_and_is_said_to() -> None:
    stream = Stream([Phase(100, 100)])
    found = rows.pace(progress([(0, 1), (4, 41), (5, 51), (10, 61)]), [5], stream, START + 80_000)
    assert found == Pace(1_000 / 5, full=False)


def test_a_batch_whose_answers_come_at_once_is_not_taken_for_a_fast_one() -> None:
    stream = Stream([Phase(100, 100)])
    batches = [(at + end / 1000, end) for at, ends in ((10, (5, 30)), (20, (31, 50))) for end in range(*ends)]
    found = rows.pace(progress(batches), [5], stream, START)
    assert found is not None and found.events_per_second == pytest.approx(2_000 / 10, rel=0.01)


def test_the_slowest_range_sets_the_rate() -> None:
    stream = Stream([Phase(100, 100)])
    quick, slow = progress([(1, 10), (2, 90)], (5,)), progress([(1, 10), (3, 20)], (50,))
    merged = sorted([*quick, *slow], key=lambda row: row.appended)
    assert rows.pace(merged, [5, 50], stream, START) == Pace(1_000 / 2, full=True)
    assert rows.pace(quick, [5, 50], stream, START) is None


def test_rows_are_read_from_json_and_from_final_blocks_alone() -> None:
    text = msgspec.json.encode({"range": 60, "device": "d1", "end": 120, "max": 1.5})
    assert list(rows.peer_rows([Message(text, 7)])) == [Told((60, "d1", 120), 1.5, 7)]
    block = results.ResultBlock(
        "s", "q", 1, 60_000, 120_000, 0, 3, True, msgspec.Raw(msgspec.msgpack.encode([("d1",), ("d2",)])),
        np.array([1.5, math.nan]).tobytes(), np.array([2, 1]).tobytes(),
    )  # fmt: skip
    provisional = msgspec.structs.replace(block, final=False)
    messages = [Message(results.encode([each]), 7) for each in (provisional, block)]
    assert list(rows.millrace_rows(messages)) == [Told((60, "d1", 120), 1.5, 7)]


def test_every_contestant_has_its_program_and_all_are_pinned() -> None:
    for contestant in CONTESTANTS:
        compile((PROGRAMS / f"{contestant.program}.py").read_text(), contestant.program, "exec")
        assert contestant.lines > 10
        assert all("==" in requirement for requirement in contestant.requirements)
    assert len(FLINK_CONNECTOR.sha256) == 64


def test_what_a_person_writes_for_millrace_is_a_spec_of_the_windows_compared() -> None:
    spec = Spec.read((PROGRAMS / "millrace.json").read_bytes())
    windows = [query.window for each in spec.queries for query in each.queries()]
    assert [window.range // 1000 for window in windows] == FULL.ranges(20)
    assert {window.slide for window in windows} == {1_000}
    assert spec.allowed_lateness == 1_000


@pytest.mark.parametrize("setting", [FULL, QUICK])
def test_windows_can_fill_before_they_are_measured(setting: Setting) -> None:
    for windows in setting.lead_in:
        lead_in = setting.stream(windows).phases[0]
        assert lead_in.seconds == max(setting.ranges(windows))
        assert lead_in.per_second >= 1_000, "every device speaks in every second"


class Slow(Installed):
    """Tells one window at once and another some seconds later; `jars` says where they end."""

    def commands(self, work: Path) -> list[list[str]]:
        program = """
import json, os, time
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=os.environ["SERVERS"])
for end in os.environ["JARS"].split():
    row = {"range": 5, "device": "d0", "end": int(end), "max": 1.0}
    producer.send(os.environ["RESULTS"], json.dumps(row).encode()).get(10)
    time.sleep(11.5)
time.sleep(60)
"""
        return [[str(self.python), "-c", program]]


@pytest.mark.parametrize(
    ("first", "most_memory", "why"),
    [(60, 16e9, ""), (40, 16e9, runs.NOT_IN_TIME), (60, 1e6, "took more than 0 GB")],
)
def test_a_contestant_is_left_when_it_is_far_off_at_half_time_or_takes_too_much(
    broker: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    most_memory: float,
    why: str,
) -> None:
    monkeypatch.setattr(runs, "MOST_MEMORY", most_memory)
    monkeypatch.setattr(runs, "QUIET_SECONDS", 1.0)
    slow = Slow(Contestant("Slow", "slow"), Path(sys.executable), f"{SECOND + first} {SECOND + 100}")
    task = runs.Task("unread", [5], SECOND + 100, most_seconds=16)
    ran = runs.run(slow, broker, task, tmp_path, lambda text: None)
    assert ran.cut_short == why
    assert ran.peak_memory > 0


def stand_in_java(path: Path, script: str) -> Path:
    """A program in Java's place that does what Ivy would; its last argument is where the jar goes."""
    path.write_text(f'#!/bin/sh\nfor last; do :; done\ntarget=$(dirname "$last")\n{script}\n')
    path.chmod(0o755)
    return path


def test_a_jar_with_another_hash_is_refused_and_removed(tmp_path: Path) -> None:
    jar = Jar("group", "artifact", "1", "0" * 64)
    java = stand_in_java(tmp_path / "java", 'echo tampered > "$target/artifact-1.jar"')
    with pytest.raises(NotInstalled, match=r"artifact-1\.jar is not the expected file"):
        jar_path(jar, tmp_path, java)
    assert list(tmp_path.glob("*.jar")) == []


def test_a_jar_that_cannot_be_had_gives_the_last_line_as_the_reason(tmp_path: Path) -> None:
    java = stand_in_java(tmp_path / "java", "echo first; echo 'unresolved: artifact'; exit 1")
    with pytest.raises(NotInstalled, match=r"^unresolved: artifact$"):
        jar_path(Jar("group", "artifact", "1", "0" * 64), tmp_path, java)


def test_the_document_says_what_each_did_and_why_one_did_not(tmp_path: Path) -> None:
    ours, peer, absent = (Found(Contestant(name, "flink_hop")) for name in ("Millrace", "Peer", "Absent"))
    ours.paces = {
        1: [Pace(500_000, True), Pace(700_000, True), Pace(600_000, True)],
        5: [Pace(400_000, True)],
    }
    ours.keep_latencies([100.0] * 50)
    ours.rows, ours.peak_memory = "all 10 equal", {1: 2_000_000_000}
    peer.paces, peer.notes = {1: [Pace(100_000, False)]}, {5: "no two answers within 60 s"}
    absent.not_installed = "no wheel"
    report = document.report([ours, peer, absent], QUICK)
    text = write(report, "peers", tmp_path, benchmark="peers", quick=True).read_text()
    lines = ours.contestant.lines
    assert f"| Millrace | 600,000 | 400,000 | 100 | 100 | 2.00 | {lines} | all 10 equal |" in text
    assert "| Peer | 100,000 (not full) | no two answers within 60 s | – | – | – |" in text
    assert f"| Absent | – | – | – | – | – | {lines} | does not install here: no wheel |" in text
    assert "| Millrace | 1 | 3 | 500,000 | 700,000 |" in text
    assert [(figure.name, figure.ratio) for figure in report.figures] == [("1 window, against Peer", 6.0)]


def test_sections_of_several_runs_make_one_document() -> None:
    found = Found(Contestant("Millrace", "flink_hop"), rows="all 10 equal", notes={5: "too slow"})
    found.paces, found.peak_memory = {1: [Pace(500.0, True)], 20: [Pace(5.0, False)]}, {1: 7, 20: 9}
    found.keep_latencies([1.0, 2.0, 3.0])
    again = Found(found.contestant)
    for section in SECTIONS:
        kept = msgspec.json.encode(found.part(section))
        again.take(section, msgspec.json.decode(kept, type=Part))
    assert again == found


def test_one_section_alone_makes_a_document(tmp_path: Path) -> None:
    found = [Found(Contestant(name, "flink_hop"), rows="all 10 equal") for name in ("Millrace", "Peer")]
    text = write(document.report(found, FULL), "peers", tmp_path, benchmark="peers", quick=True).read_text()
    assert text.count("all 10 equal") == 2


def test_the_document_names_the_fastest_peer() -> None:
    ours, slow, fast = (Found(Contestant(name, "flink_hop")) for name in ("Millrace", "Slow", "Fast"))
    for found, rate in ((ours, 300.0), (slow, 50.0), (fast, 100.0)):
        found.paces = {count: [Pace(rate, True)] for count in QUICK.lead_in}
    assert (
        "takes 3.0 times the events of the fastest peer, Fast."
        in document.report([ours, slow, fast], QUICK).summary
    )


def test_a_peer_whose_windows_did_not_fill_is_at_least_so_far_behind() -> None:
    ours, peer = (Found(Contestant(name, "flink_hop")) for name in ("Millrace", "Peer"))
    ours.paces = {count: [Pace(300.0, True)] for count in QUICK.lead_in}
    peer.paces = {count: [Pace(100.0, False)] for count in QUICK.lead_in}
    assert "takes at least 3.0 times the events" in document.report([ours, peer], QUICK).summary
