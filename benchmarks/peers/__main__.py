"""Millrace beside its peers: the same windows on the same topics, each peer in its best form, rows compared.

Peers that are slow make it long: it is measured in sections, of which each compares side by side within its
own run. What a full section found is kept beside docs/benchmarks/peers.md, which is written from all that are
kept. A quick run is not for the record and goes to the data directory.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from django.conf import settings
from kafka.admin import NewTopic

from benchmarks.engine import feed
from benchmarks.engine.events import PARTITIONS, START, Phase, Stream
from benchmarks.engine.kafka import fill
from benchmarks.figures import Figure
from benchmarks.peers import document
from benchmarks.peers.contestants import CONTESTANTS, Installed, install
from benchmarks.peers.environments import NotInstalled
from benchmarks.peers.found import COUNTS, LATENCY, ROWS, Found, Part, Setting, named
from benchmarks.peers.rows import compared, expected_rows, pace
from benchmarks.peers.runs import Failed, Ran, Task, run
from benchmarks.report import write
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.topics import create_topics

Progress = Callable[[str], None]

# With gaps in which most devices are silent, and events that are up to half a second out of order.
SMALL = Stream([Phase(20, 250), Phase(10, 20), Phase(20, 250)], devices=100, jitter=500)
SMALL_RANGES = (2, 4, 6, 8, 10)
SMALL_UNTIL = SMALL.end // 1000 - 3  # windows that every peer can know to be over
SMALL_MOST_SECONDS = 240.0
LIVE_PER_SECOND = 200
LIVE_RANGE = 60


SECTIONS = (ROWS, *COUNTS, LATENCY)
FAR_BEHIND = 1 / 20  # of the fastest
# One window is full soon. Many are not, for those who are slow: their lead-in is as dense as what is
# measured, else the rate of windows that are not full would be that of another stream.
FULL = Setting(
    60, {1: 1_000, 5: 20_000, 20: 20_000}, Phase(300, 20_000), 3, {1: 300, 5: 300, 20: 1_000}, 25, 40
)
QUICK = Setting(15, {1: 1_000, 5: 20_000}, Phase(100, 20_000), 1, {1: 60, 5: 60}, 15, 15)


@dataclass(frozen=True)
class Stage:
    bootstrap_servers: str
    work_dir: Path
    setting: Setting
    progress: Progress

    def run(self, installed: Installed, task: Task) -> Ran:
        label = installed.contestant.label
        return run(
            installed,
            self.bootstrap_servers,
            task,
            self.work_dir / "work",
            lambda text: self.progress(f"{label}: {text}"),
        )


def main(quick: bool, progress: Progress, sections: Sequence[str] = SECTIONS) -> list[Figure]:
    setting = QUICK if quick else FULL
    directory = (settings.VAR_DIR if quick else settings.BASE_DIR / "docs") / "benchmarks"
    kept = directory / "peers"
    kept.mkdir(parents=True, exist_ok=True)
    found = {contestant.program: Found(contestant) for contestant in CONTESTANTS}
    installed = list(_installed(found, progress))
    chosen = SECTIONS if "all" in sections else sections
    with _stage(setting, progress) as stage:
        for section in chosen:
            if COUNTS.get(section, 1) not in setting.lead_in:
                continue
            _run(section, stage, installed, found)
            parts = {program: each.part(section) for program, each in found.items()}
            (kept / f"{section}.json").write_bytes(msgspec.json.format(msgspec.json.encode(parts)) + b"\n")
    for section in set(SECTIONS) - set(chosen):
        _recall(kept / f"{section}.json", section, found)
    report = document.report(list(found.values()), setting)
    written = write(report, "peers", directory, benchmark="peers", quick=quick)
    progress(f"written to {written}")
    return list(report.figures)


def _run(section: str, stage: Stage, installed: Sequence[Installed], found: Mapping[str, Found]) -> None:
    if section == ROWS:
        _compare_rows(stage, installed, found)
    elif section == LATENCY:
        _measure_latency(stage, installed, found)
    else:
        _measure(stage, installed, found, COUNTS[section])


def _recall(path: Path, section: str, found: Mapping[str, Found]) -> None:
    if path.exists():
        for program, part in msgspec.json.decode(path.read_bytes(), type=dict[str, Part]).items():
            if program in found:
                found[program].take(section, part)


@contextmanager
def _stage(setting: Setting, progress: Progress) -> Iterator[Stage]:
    jars = jars_dir(settings.VAR_DIR)
    with (
        tempfile.TemporaryDirectory(prefix="millrace-bench-peers-") as directory,
        Broker(Path(directory) / "broker", free_port(), jars / "broker", find_java().path) as broker,
    ):
        yield Stage(broker.bootstrap_servers, Path(directory), setting, progress)


def _installed(found: Mapping[str, Found], progress: Progress) -> Iterator[Installed]:
    jars, java = jars_dir(settings.VAR_DIR), find_java().path
    for contestant in CONTESTANTS:
        try:
            yield install(contestant, settings.VAR_DIR / "benchmarks", jars, java, progress)
        except NotInstalled as reason:
            progress(f"{contestant.label}: does not install here: {reason}")
            found[contestant.program].not_installed = str(reason)


def _compare_rows(stage: Stage, installed: Sequence[Installed], found: Mapping[str, Found]) -> None:
    """Every row of five windows over a small stream, beside DuckDB's."""
    fill(stage.bootstrap_servers, "small", SMALL)
    expected = expected_rows(SMALL, SMALL_RANGES, SMALL_UNTIL)
    task = Task("small", SMALL_RANGES, SMALL_UNTIL, SMALL_MOST_SECONDS)
    for each in installed:
        label, of = each.contestant.label, found[each.contestant.program]
        try:
            ran = stage.run(each, task)
            of.rows = compared(ran.told(), expected, SMALL, SMALL_UNTIL).sentence
        except Failed as reason:
            of.rows = f"failed: {reason}"
        stage.progress(f"{label}: rows: {of.rows}")


def _measure(stage: Stage, installed: Sequence[Installed], found: Mapping[str, Found], windows: int) -> None:
    """Rates with so many windows, in rounds; who is far behind, or needed all the time, runs only once."""
    setting, topic = stage.setting, f"events-{windows}"
    stream = setting.stream(windows)
    stage.progress(f"filling a topic with {stream.events:,} events for {named(windows)}")
    fill(stage.bootstrap_servers, topic, stream)
    task = Task(topic, setting.ranges(windows), stream.end // 1000 - 3, setting.most_seconds[windows])
    for number in range(setting.rounds):
        for each in installed:
            of = found[each.contestant.program]
            if number == 0 or _runs_again(of, found.values(), windows):
                _measure_one(stage, each, of, task, windows)


def _runs_again(of: Found, found: Iterable[Found], windows: int) -> bool:
    """Whether another round could change what is said of it."""
    if windows in of.notes or not of.is_full(windows):
        return False
    return (of.rate(windows) or 0.0) > FAR_BEHIND * max(each.rate(windows) or 0.0 for each in found)


def _measure_one(stage: Stage, installed: Installed, of: Found, task: Task, windows: int) -> None:
    stream = stage.setting.stream(windows)
    try:
        ran = stage.run(installed, task)
    except Failed as reason:
        of.notes[windows] = f"failed: {reason}"
    else:
        of.peak_memory[windows] = max(ran.peak_memory, of.peak_memory.get(windows, 0))
        measured = pace(ran.told(), task.ranges, stream, START + 1000 * stream.phases[0].seconds)
        if measured is None:
            of.notes[windows] = ran.cut_short or "no two answers"
        else:
            of.paces.setdefault(windows, []).append(measured)
    rate = of.rate(windows)
    said = of.notes.get(windows) or f"{rate or 0:,.0f} events/s"
    full = "" if of.is_full(windows) else ", windows not full"
    stage.progress(f"{of.contestant.label}, {named(windows)}: {said}{full}")


def _measure_latency(stage: Stage, installed: Sequence[Installed], found: Mapping[str, Found]) -> None:
    """From the end of a window, by the clock, to its final value on Kafka, on a slow live stream."""
    setting = stage.setting
    for each in installed:
        of, topic = found[each.contestant.program], f"live-{each.contestant.program}"
        create_topics(stage.bootstrap_servers, [NewTopic(topic, PARTITIONS, 1)])
        seconds = setting.warm_up + setting.live
        task = Task(topic, [LIVE_RANGE], until=None, most_seconds=seconds, live=True)
        with feed.running(stage.bootstrap_servers, topic, LIVE_PER_SECOND, seconds + 60):
            try:
                ran = stage.run(each, task)
            except Failed as reason:
                stage.progress(f"{of.contestant.label}: latency: failed: {reason}")
                continue
        told = [(row.appended, row.key[2]) for row in ran.told()]
        counted = max((at for at, _ in told), default=0) - 1000 * setting.live
        of.keep_latencies([at - 1000 * end for at, end in told if at >= counted])
        half = of.latency(50)
        stage.progress(f"{of.contestant.label}: latency: {'none' if half is None else f'{half:,.0f} ms'}")
