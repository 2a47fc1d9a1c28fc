"""A replay against the engine: the same events and windows, from files and from the topic itself."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.engine.bench import Bench, Progress, alternate, batches, bench, family, planned, rate
from benchmarks.engine.events import Phase, Stream, json_messages
from benchmarks.engine.kafka import fill
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Cell, Table
from streaming.replay import Replay
from streaming.replay.files import open_file
from streaming.replay.inputs import Input
from streaming.replay.topics import Address, TopicSpan
from streaming.spec import Spec

TOPIC = "events"
PER_BATCH = 500_000
RANGES = (60, 45, 30, 15, 5)  # seconds, every second
ENGINE = "engine, results to Kafka"
TARGET = 0.5


@dataclass(frozen=True)
class Setting:
    stream: Stream
    rounds: int


FULL = Setting(Stream([Phase(60, 4_000), Phase(200, 20_000)]), rounds=3)
QUICK = Setting(Stream([Phase(60, 4_000), Phase(100, 20_000)]), rounds=1)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with bench("replay") as stage:
        progress(f"writing {setting.stream.events:,} events to a topic and to files")
        fill(stage.bootstrap_servers, TOPIC, setting.stream)
        inputs = _inputs(stage, setting.stream)
        runs: dict[str, Callable[[], float]] = {ENGINE: partial(_engine, stage, setting.stream)}
        runs |= {name: partial(_replay, stage, setting.stream, read) for name, read in inputs.items()}
        for run_once in runs.values():  # neither Java nor numba compiles while it is measured
            run_once()
        rounds = alternate(runs, setting.rounds, progress)
    engine = rounds.median(ENGINE)
    told = ", ".join(f"{name} at {rounds.median(name) / engine:.1f}" for name in inputs)
    rows: list[list[Cell]] = [
        [name, rounds.median(name), rounds.median(name) / engine, rounds.spread(name)] for name in runs
    ]
    note = (
        f"{setting.stream.events:,} events, {len(RANGES)} windows of 1,000 devices every second. A replay is "
        "timed from opening its input to the last result in its file; the engine in its batches with full "
        "windows, when it is warm."
    )
    return Section(
        [f"A replay runs, against the engine's own rate on the same events: {told}."],
        [Table("Replay", ["path", "events/s", "of the engine's", "rounds"], rows, note)],
        (),
        [
            Figure(f"{name}, against the engine", rounds.median(name), "events/s", engine, TARGET)
            for name in inputs
        ],
    )


def _inputs(stage: Bench, stream: Stream) -> dict[str, Callable[[], Input]]:
    """The same events as files, and the topic; each is opened anew in every round."""
    table = stream.table(0, stream.events)
    lines, records, columns = (stage.work_dir / f"events.{ending}" for ending in ("jsonl", "csv", "parquet"))
    with lines.open("wb") as file:
        for _, part in stream.tables():
            file.write(b"\n".join(json_messages(part)) + b"\n")
    pa_csv.write_csv(table, records)
    pq.write_table(table, columns)
    topic = Address(stage.bootstrap_servers, TOPIC)
    return {
        "replay of JSON lines": partial(open_file, lines, "UTC"),
        "replay of CSV": partial(open_file, records, "UTC"),
        "replay of Parquet": partial(open_file, columns, "UTC"),
        "replay of the topic": partial(TopicSpan, topic, "json"),
    }


def _replay(stage: Bench, stream: Stream, read: Callable[[], Input]) -> float:
    """Events per second, from opening the input to the last result in the file."""
    began = time.perf_counter()
    done = Replay.planned(read(), _spec()).run(stage.work_dir / "results.jsonl", lambda progress: None)
    if done.counts.accepted != stream.events:
        raise RuntimeError(f"A replay accepted {done.counts.accepted:,} events of {stream.events:,}.")
    return stream.events / (time.perf_counter() - began)


def _spec() -> Spec:
    """The queries of `family`, as people write them."""
    windows = [{"range": f"{seconds}s", "slide": "1s"} for seconds in RANGES]
    query = {"name": "hot", "aggregate": "max", "field": "temp", "group_by": ["device"], "windows": windows}
    source = {"event_time": "ts", "allowed_lateness": "1s"}
    return Spec.read(json.dumps({"source": source, "queries": [query]}).encode())


def _engine(stage: Bench, stream: Stream) -> float:
    started = stage.millrace(stage.source(TOPIC), planned(family(RANGES)), PER_BATCH)
    measured = rate(batches(started.query, TOPIC, stream.events), stream.phases[0].events)
    if measured is None:
        raise RuntimeError("Too few batches for a rate of the engine.")
    return measured
