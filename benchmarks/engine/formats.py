"""Other formats against JSON: the same events, the same query, another way to write them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from io import BytesIO
from typing import Any

import msgspec
import pyarrow as pa

from benchmarks.engine.bench import Bench, Progress, alternate, batches, bench, family, planned, rate
from benchmarks.engine.events import Phase, Stream, json_messages
from benchmarks.engine.kafka import fill
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Cell, Table
from streaming.formats import FORMATS
from streaming.sources import SourceSpec

PER_BATCH = 500_000
COLUMNS = ("device", "ts", "temp", "status", "site")
AVRO_TYPES = {"device": "string", "ts": "long", "temp": "double", "status": "string", "site": "string"}
AVRO_SCHEMA = {
    "type": "record",
    "name": "event",
    "fields": [{"name": name, "type": AVRO_TYPES.get(name, "string")} for name in (*COLUMNS, "unit")],
}


@dataclass(frozen=True)
class Written:
    """How events are written in a format, and what its source has to know of that."""

    encode: Callable[[pa.Table], Sequence[bytes]]
    source: dict[str, Any]


def csv_messages(table: pa.Table) -> list[bytes]:
    columns = (table.column(name).to_pylist() for name in COLUMNS)
    return [
        b"%s,%d,%.3f,%s,%s,celsius" % (device.encode(), ts, temp, status.encode(), site.encode())
        for device, ts, temp, status, site in zip(*columns, strict=True)
    ]


def avro_messages(table: pa.Table) -> list[bytes]:
    import fastavro  # here, because the benchmark does without Avro where it is not installed

    schema = fastavro.parse_schema(AVRO_SCHEMA)
    messages = []
    for event in table.to_pylist():
        buffer = BytesIO()
        fastavro.schemaless_writer(buffer, schema, {**event, "unit": "celsius"})
        messages.append(buffer.getvalue())
    return messages


WRITTEN = {
    "json": Written(json_messages, {}),
    "csv": Written(csv_messages, {}),
    "avro": Written(avro_messages, {"avro_schema": msgspec.json.encode(AVRO_SCHEMA).decode()}),
}


def run(quick: bool, progress: Progress) -> Section:
    rounds_, stream = (1, _stream(60)) if quick else (3, _stream(200))
    chosen = [name for name in WRITTEN if is_known(name)]
    with bench("formats") as stage:
        for name in chosen:
            progress(f"filling a topic with {stream.events:,} events as {name}")
            fill(stage.bootstrap_servers, name, stream, WRITTEN[name].encode)
        runs: dict[str, Callable[[], float]] = {name: partial(_rate, stage, name, stream) for name in chosen}
        rounds = alternate(runs, rounds_, progress)
    json = rounds.median("json")
    left_out = [name for name in WRITTEN if name not in chosen]
    others = [name for name in chosen if name != "json"]
    rows: list[list[Cell]] = [
        [name, rounds.median(name), rounds.median(name) / json, rounds.spread(name)] for name in chosen
    ]
    told = ", ".join(f"{name} at {rounds.median(name) / json:.2f}" for name in others) or "no other format"
    note = f"Left out, because the job does not read them: {', '.join(left_out)}." if left_out else ""
    return Section(
        [f"Against the rate of JSON: {told}."],
        [Table("Formats", ["format", "events/s", "of JSON's", "rounds"], rows, note)],
        (),
        [Figure(f"{name}, against JSON", rounds.median(name), "events/s", json, 0.8) for name in others],
    )


def is_known(name: str) -> bool:
    """Whether the job reads the format, and a source can say what it has to know."""
    known = {each.name for each in fields(SourceSpec)}
    return name in FORMATS and WRITTEN[name].source.keys() <= known


def _stream(seconds: int) -> Stream:
    return Stream([Phase(60, 4_000), Phase(seconds, 20_000)])


def _rate(stage: Bench, name: str, stream: Stream) -> float:
    source = stage.source(name, format=name, **WRITTEN[name].source)
    started = stage.millrace(source, planned(family([60])), PER_BATCH)
    measured = rate(batches(started.query, name, stream.events), stream.phases[0].events)
    if measured is None:
        raise RuntimeError(f"Too few batches for a rate with {name}.")
    return measured
