"""Benchmarks of the engine: events are as described, figures follow from measurements, sections are whole."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engine import __main__ as runner
from benchmarks.engine import formats, kafka, memory, workloads
from benchmarks.engine.bench import Batch, Rounds, rate
from benchmarks.engine.events import PARTITIONS, START, Phase, Stream, json_messages
from benchmarks.engine.feed import templates
from benchmarks.engine.latency import latencies
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from dashboard.management.commands import bench
from dashboard.platform.problems import Problem

STREAM = Stream([Phase(3, 1_000), Phase(2, 4_000)])
TIMES = STREAM.table(0, STREAM.events).column("ts").to_numpy()


def test_messages_are_json_of_about_a_hundred_bytes_and_say_what_the_table_says() -> None:
    table = STREAM.table(0, STREAM.events)
    messages = json_messages(table)
    assert 95 < np.mean([len(message) for message in messages]) < 110
    assert [msgspec.json.decode(message) for message in messages] == [
        {**event, "unit": "celsius"} for event in table.to_pylist()
    ]


def test_time_follows_the_phases_and_every_device_speaks_in_its_turn() -> None:
    table = STREAM.table(0, STREAM.events)
    seconds = Counter(((table.column("ts").to_numpy() - START) // 1000).tolist())
    assert seconds == {0: 1_000, 1: 1_000, 2: 1_000, 3: 4_000, 4: 4_000}
    devices = table.column("device").to_pylist()
    assert len(set(devices[:1_000])) == len(set(devices[5_000:6_000])) == 1_000
    assert all(int(device[1:]) % PARTITIONS == -number % PARTITIONS for number, device in enumerate(devices))


def test_tables_of_parts_are_parts_of_the_table() -> None:
    assert STREAM.table(2_500, 3_500).equals(STREAM.table(0, STREAM.events).slice(2_500, 1_000))


@given(st.integers(START - 1_000, START + 6_000))
def test_events_before_an_instant_are_counted(instant: int) -> None:
    assert STREAM.events_before(instant) == pytest.approx((instant > TIMES).sum(), abs=1)


def test_jitter_makes_events_older_but_not_by_more() -> None:
    times = Stream(STREAM.phases, jitter=500).table(0, STREAM.events).column("ts").to_numpy()
    assert (times <= TIMES).all() and (TIMES - times).max() == 500
    assert (np.diff(times) < 0).any()


def test_a_live_event_is_whole_again_with_a_time() -> None:
    key, head, tail = templates()[7]
    event = msgspec.json.decode(head + b"123" + tail)
    assert event["ts"] == 123
    assert event["device"].encode() == key


def test_a_filled_topic_holds_the_events_in_order_in_their_partitions(broker: str) -> None:
    topic = f"filled-{os.getpid()}"
    kafka.fill(broker, topic, STREAM)
    expected = json_messages(STREAM.table(0, STREAM.events))
    for partition in range(PARTITIONS):
        found = _values(broker, topic, partition, STREAM.events // PARTITIONS)
        assert found == expected[partition::PARTITIONS]


def test_a_topic_is_read_from_an_offset_to_its_end(broker: str) -> None:
    topic = f"read-{os.getpid()}"
    kafka.create_topics(broker, [kafka.NewTopic(topic, 1, 1, topic_configs=kafka.APPEND_TIME)])
    sender = kafka.producer(broker)
    for number in range(10):
        sender.produce(topic, b"%d" % number, timestamp=1)
    sender.flush()
    assert kafka.end_offset(broker, topic) == 10
    found = list(kafka.read(broker, topic, 7))
    assert [message.value for message in found] == [b"7", b"8", b"9"]
    assert all(message.appended > START for message in found)


def test_a_rate_leaves_out_the_first_batch_and_all_before_the_windows_are_full() -> None:
    done = [
        Batch(0, 100, 9.0, {}),
        Batch(100, 100, 5.0, {}),
        Batch(200, 100, 1.0, {}),
        Batch(300, 50, 0.5, {}),
    ]
    assert rate(done, 150) == pytest.approx(100)
    assert rate(done, 0) == pytest.approx(250 / 6.5)
    assert rate(done[:1], 0) is None


def test_rounds_give_median_and_spread() -> None:
    rounds = Rounds({"a": [3_000.0, 1_000.0, 2_000.0]})
    assert rounds.median("a") == 2_000
    assert rounds.spread("a") == "1,000 to 3,000"


def test_latency_is_until_the_first_result_that_knows_the_event() -> None:
    assert latencies([(1_300, 1_010), (1_500, 1_200)], 1_000, 1_015) == [300, 295, 290]
    assert latencies([(1_300, 1_010), (1_500, 1_200)], 1_190, 1_230) == [310, 305, 300]


def test_memory_is_that_of_a_process_and_its_children_without_those_left_out() -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        while len(found := memory.family(parent.pid)) < 2:
            assert parent.poll() is None
        assert parent.pid in found and set(found) <= set(memory.family(os.getpid()))
        assert not set(found) & set(memory.family(os.getpid(), frozenset({parent.pid})))
        with memory.watched(parent.pid) as watched:
            while not watched.samples:
                assert parent.poll() is None
        parent.communicate(b"\n")
    assert 1 << 20 < watched.peak < 1 << 30


def test_queries_of_a_workload_are_all_different_and_of_every_kind() -> None:
    queries = workloads.queries(100)
    assert len({(q.window, q.aggregate, q.group_by, q.where) for q in workloads.queries(1_000)}) == 1_000
    for kind in ("aggregate", "group_by", "where"):
        known = {
            "aggregate": workloads.AGGREGATES,
            "group_by": workloads.GROUP_BYS,
            "where": workloads.FILTERS,
        }
        assert {getattr(query, kind) for query in queries} == set(known[kind])
    assert {query.window.slide for query in queries} == {1_000, 2_000, 5_000, 10_000, 30_000}
    assert max(query.window.range for query in queries) == 1_000 * workloads.LONGEST_SECONDS
    with pytest.raises(ValueError, match="not 5000"):
        workloads.queries(5_000)


def test_a_format_that_the_job_does_not_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "FORMATS", {"json": None, "csv": None})
    assert [name for name in formats.WRITTEN if formats.is_known(name)] == ["json", "csv"]


def test_csv_says_what_json_says() -> None:
    table = STREAM.table(0, 50)
    rows = [message.decode().split(",") for message in formats.csv_messages(table)]
    assert [[d, int(t), float(v), s, p] for d, t, v, s, p, _ in rows] == [
        list(event.values()) for event in table.to_pylist()
    ]


def _section(name: str, ran: list[str]) -> SimpleNamespace:
    def run(quick: bool, progress: Callable[[str], None]) -> Section:
        ran.append(name)
        if name == "groups":
            raise RuntimeError("Lost task 0.0 (192.0.2.1): java.lang.SomeError: Out of memory.\nMore.")
        progress("half way")
        return Section([f"{name} went well."], figures=[Figure(name, 1.0, "s")])

    return SimpleNamespace(run=run)


@pytest.mark.parametrize(
    ("quick", "sections", "place"),
    [
        (True, runner.SECTIONS, "var/benchmarks"),
        (False, ("groups", "start"), "docs/benchmarks"),
        (False, runner.SECTIONS, "docs/benchmarks"),
        (False, ("all",), "docs/benchmarks"),
    ],
)
def test_only_a_full_run_is_for_the_record(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    quick: bool,
    sections: tuple[str, ...],
    place: str,
) -> None:
    settings.VAR_DIR, settings.BASE_DIR = tmp_path / "var", tmp_path
    ran: list[str] = []
    monkeypatch.setattr(runner.importlib, "import_module", lambda name: _section(name.split(".")[-1], ran))
    figures = runner.main(quick=quick, progress=lambda text: None, sections=sections)
    expected = [*runner.SECTIONS, *runner.ON_REQUEST] if sections == ("all",) else list(sections)
    assert ran == expected
    assert [figure.name for figure in figures] == [name for name in expected if name != "groups"]
    text = (tmp_path / place / "engine.md").read_text()
    assert "- “groups” did not come to an end: Out of memory.\n" in text
    assert "- start went well." in text


def test_the_document_is_made_of_all_sections_that_were_ever_run_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.VAR_DIR, settings.BASE_DIR = tmp_path / "var", tmp_path
    monkeypatch.setattr(runner.importlib, "import_module", lambda name: _section(name.split(".")[-1], []))
    for name in ("start", "sharing"):
        runner.main(quick=False, progress=lambda text: None, sections=(name,))
    text = (tmp_path / "docs" / "benchmarks" / "engine.md").read_text()
    assert text.index("- sharing went well.") < text.index("- start went well.")


def test_every_section_has_its_module() -> None:
    directory = Path(runner.__file__).parent
    assert all((directory / f"{name}.py").exists() for name in (*runner.SECTIONS, *runner.ON_REQUEST))


def test_a_section_that_a_benchmark_does_not_have_is_refused() -> None:
    assert bench._main("engine", {"sections": ["soak", "all"]}) is runner.main
    with pytest.raises(Problem, match="“engine” has no section “sok”"):
        bench._main("engine", {"sections": ["sok"]})
    with pytest.raises(Problem, match="“kernels” has no section “shards”"):
        bench._main("kernels", {"sections": ["shards"]})


def _values(broker: str, topic: str, partition: int, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[bytes] = []
    while len(found) < count:
        messages = consumer.consume(count, timeout=10)
        assert messages, f"only {len(found)} messages of {count}"
        found += [message.value() for message in messages]
    consumer.close()
    return found
