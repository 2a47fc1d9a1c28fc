"""Benchmarks of the web: what viewers count, what a trace says, and sections that are whole."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.kernels.section import Section
from benchmarks.web import __main__ as runner
from benchmarks.web import browser, stage
from benchmarks.web.many_viewers import Seen, Setting, _section
from benchmarks.web.viewers import CLOSE, PING, PONG, TEXT, Tally, Viewer
from benchmarks.web.wall_screen import Server
from dashboard.management.commands import bench


class Wire:
    """The far end of a viewer's connection."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.is_closed = self.is_paused = False

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True


def frame(payload: bytes, code: int = TEXT) -> bytes:
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
    return bytes([128 | code]) + length + payload


def told(sequence: int, values: list[float], count: int) -> bytes:
    kind = "snapshot" if sequence == 1 else "update"
    points = [[at, value, True] for at, value in enumerate(values)]
    message = {
        "type": kind,
        "query": "q",
        "sequence": sequence,
        "series": [{"points": points}],
        "count": count,
    }
    return frame(json.dumps([message, {"type": "state", "count": count + 1}]).encode())


@pytest.fixture
def tally() -> Tally:
    return Tally()


@pytest.fixture
def watching(tally: Tally) -> tuple[Viewer, Wire]:
    viewer, wire = Viewer(b"GET", ["q"], tally), Wire()
    viewer.connection_made(wire)
    viewer.data_received(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    return viewer, wire


def test_a_viewer_watches_and_acknowledges_the_last_message_of_a_frame(
    watching: tuple[Viewer, Wire], tally: Tally
) -> None:
    viewer, wire = watching
    assert b'"watch"' in wire.sent
    data = told(1, [1.0], 7)
    viewer.data_received(data[:5])
    viewer.data_received(data[5:])
    assert wire.sent.endswith(b'{"type": "ack", "count": 8}')
    assert (tally.ready, tally.frames) == (1, 0)


def test_results_are_counted_by_their_age_and_gaps_are_noticed(
    watching: tuple[Viewer, Wire], tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, _ = watching
    monkeypatch.setattr("benchmarks.web.viewers.time.time", lambda: 1_000.0)
    tally.counting = True
    viewer.data_received(told(1, [999_000.0], 1) + told(2, [999_900.0, 999_950.0], 3))
    assert {at: count for at, count in enumerate(tally.histogram) if count} == {100: 1, 50: 1}
    assert tally.gaps == 0
    viewer.data_received(told(4, [1_000_000.0], 5))
    assert tally.gaps == 1
    assert tally.frames == 3


def test_a_ping_is_answered_and_a_lost_socket_is_counted(watching: tuple[Viewer, Wire], tally: Tally) -> None:
    viewer, wire = watching
    viewer.data_received(frame(b"x", PING))
    assert wire.sent.endswith(bytes([128 | PONG, 129]) + bytes(4) + b"x")
    viewer.data_received(frame(b"", CLOSE))
    assert wire.is_closed
    viewer.connection_lost(None)
    assert tally.lost == 1


def test_a_slow_viewer_reads_nothing(tally: Tally) -> None:
    viewer, wire = Viewer(b"GET", ["q"], tally, slow=True), Wire()
    viewer.connection_made(wire)
    viewer.data_received(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert wire.is_paused


def test_scripts_are_the_union_of_spans_on_the_main_thread() -> None:
    def span(name: str, start: int, length: int, thread: int = 1) -> dict[str, Any]:
        return {"ph": "X", "name": name, "ts": start, "dur": length, "pid": 1, "tid": thread}

    name = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "CrRendererMain"}}
    events = [
        name,
        span("TimerFire", 0, 4_000_000),
        span("FunctionCall", 1_000_000, 1_000_000),
        span("Layout", 5_000_000, 9_000_000),
        span("FunctionCall", 0, 9_000_000, thread=2),
    ]
    assert browser.scripting_seconds(json.dumps({"traceEvents": events}).encode()) == 4.0


def test_the_simulated_server_numbers_what_it_tells() -> None:
    class Route:
        def __init__(self) -> None:
            self.frames: list[list[dict[str, Any]]] = []

        def on_message(self, heard: Any) -> None:
            self.heard = heard

        def send(self, text: str) -> None:
            self.frames.append(json.loads(text))

    route, server = Route(), Server(1_800_000_000_000)
    server.open(route)  # type: ignore[arg-type]
    route.heard(json.dumps({"type": "watch", "queries": ["a", "b"]}))
    server.now += 12_000
    server.tell()
    kinds = [[message["type"] for message in messages] for messages in route.frames]
    assert kinds == [["state", "snapshot", "snapshot"], ["state", "update", "update"]]
    assert [message["count"] for messages in route.frames for message in messages] == [1, 2, 3, 4, 5, 6]


def test_figures_follow_from_what_viewers_saw() -> None:
    seen = Seen(1, 1_000, 0, 9.0, 90.0, 400.0, 0, 0, 1_000.0, 6e6, 0.8, 300_000_000, 200_000_000)
    section = _section(Setting(1_000, 60.0), seen, seen, seen)
    figures = {figure.name: figure for figure in section.figures}
    assert figures["p99, result on Kafka to viewer"].met
    assert figures["sockets lost"].met
    assert figures["memory of a viewer"].value == 100.0


def test_a_section_that_fails_is_told_in_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.VAR_DIR = tmp_path

    def broken(quick: bool, progress: Any) -> Section:
        raise RuntimeError("no browser")

    monkeypatch.setattr("benchmarks.web.drawing.run", broken)
    assert runner.main(quick=True, progress=lambda text: None, sections=["drawing"]) == []
    assert "“drawing” did not come to an end: no browser" in (tmp_path / "benchmarks" / "web.md").read_text()


def test_the_benchmark_is_found_by_its_name(settings: Any) -> None:
    assert "web" in bench.available(settings.BASE_DIR / "benchmarks")


def test_the_seed_makes_dashboards_a_session_and_a_past(tmp_path: Path, settings: Any) -> None:
    environment = {**os.environ, "MILLRACE_VAR": str(tmp_path), "MILLRACE_LOG_LEVEL": "WARNING"}
    environment.pop("DATABASE_URL", None)

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("manage.py", "migrate", "--verbosity", "0")
    options = ["--boards", "2", "--panels", "3", "--past-hours", "1", "--until", "1800000000000"]
    made = msgspec.json.decode(run("-m", "benchmarks.web.seed", *options))
    assert [len(board["queries"]) for board in made["boards"]] == [3, 3]
    assert len(made["session"]) == 32
    assert stage.percentile([0, 0, 10], 0.99) == 2.0
