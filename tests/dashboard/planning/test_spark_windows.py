"""Spark's window() and aggregates agree with the job's own path, aggregate by aggregate."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dashboard.planning import spark_windows
from optimizer.queries import Query
from optimizer.windows import Window
from streaming.aggregates import AGGREGATES
from streaming.lanes import EARLIEST, LATEST
from streaming.replay import Replay
from streaming.replay.engine import Engine
from streaming.replay.files import open_file
from streaming.spec import Spec
from streaming.task import needed_fields
from streaming.verify import Comparison
from tests.streaming.test_replay import spec_of, windows, write_events
from tests.streaming.test_verify import FIELD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_every_aggregate_is_answered_as_the_job_answers_it(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    write_events(path, 4_000)
    asked = [
        {"name": name, "aggregate": name, "field": FIELD[aggregate.takes] if name != "exact_sum" else "ts",
         "windows": windows([("7m", "2m")]), "group_by": ["status"] if at % 2 else [],
         "where": None if at % 3 else "temp % 2 < 1 OR temp IS NULL -- as SQL has it"}
        for at, (name, aggregate) in enumerate(AGGREGATES.items())
    ]  # fmt: skip
    read = open_file(path, "UTC")
    replay = Replay.planned(read, Spec.read(json.dumps(spec_of(asked)).encode()))
    engine = Engine(replay.source, replay.plan, read.partitions, read.whole)
    fields = needed_fields(replay.source, engine.timeline.lanes, engine.timeline.group_lanes)
    with spark_windows.AcceptedEvents(tmp_path, replay.source, engine.timeline) as events:
        for batch in read.batches(fields, int(time.time() * 1000)):
            engine.take(batch.rows)
            events.take(batch.rows)
        engine.end()
        compared = [_compared(spark, events, engine, query, tmp_path) for query in replay.plan.queries]
    assert {one.query.aggregate for one in compared} == set(AGGREGATES)
    assert {one.query.aggregate: one.examples for one in compared if one.different} == {}
    assert all(one.rows >= 18 for one in compared)


def _compared(
    spark: "SparkSession", events: spark_windows.AcceptedEvents, engine: Engine, query: Query, folder: Path
) -> Comparison:
    assert spark_windows.refusal(query) == ""
    ours = {
        (block.end, group): (value, count)
        for block in engine.blocks
        if block.query == query.id
        for group, value, count in block.rows()
    }
    written = folder / f"{query.aggregate}.parquet"
    events.write(query, written)
    comparison = Comparison(query)
    comparison.compare(ours, spark_windows.answers(spark, written, query, EARLIEST, LATEST))
    return comparison


def test_what_spark_cannot_be_asked_is_said() -> None:
    gaps = Query("q@1m", "q", "max", "temp", Window(60_000, 120_000))
    assert "no gaps" in spark_windows.refusal(gaps)
