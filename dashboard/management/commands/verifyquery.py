"""`verifyquery`: compute a query's last minutes anew by Spark's `window()`, and compare."""

import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.planning.verifying import MOST_ROWS, SHOWN_ROWS, Verifying
from dashboard.platform.folder_tasks import Cancelled
from optimizer.queries import AnyQuery, Query, QuerySpec
from streaming.sources import SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dashboard.planning.spark_windows import AcceptedEvents
    from streaming.likeness import Likeness
    from streaming.verify import Answers, Difference

NICENESS = 5
SLACK_MS = 60_000  # that messages may be older than their events by the clock of who wrote them
POLL_MS = 500
NO_RESULT = "No final result in these minutes: wait until its first window is final."
SPARK: dict[str, Any] = {"spark.driver.memory": "1g"}
COUNTED = ("rows", "equal", "within", "different")


class Command(BaseCommand):
    help = "Verify a query that the plan page asked for."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        from streaming.reach import SourceProblem
        from streaming.replay.inputs import UnreadableEvents

        os.nice(NICENESS)
        task = Verifying(options["folder"])
        try:
            _run(task)
        except Cancelled:
            return
        except (SourceProblem, UnreadableEvents, _TooManyRows) as problem:
            task.write("problem", {"sentence": str(problem)})
        except Exception:
            sentence = "It failed on our side; the log of the web server says why."
            task.write("problem", {"sentence": sentence})
            raise


class _TooManyRows(ValueError):
    """The message is the sentence shown to people."""


def _run(task: Verifying) -> None:
    from streaming.exact_queries import exactly
    from streaming.replay import by_message_times

    asked = task.read("run") or {}
    began = time.monotonic()
    source = by_message_times(SourceSpec.from_json(asked["source"]))
    queries = exactly(QuerySpec.from_json(asked["spec"]).queries(asked["key"]), source.types)
    ours = _our_answers(task, asked, queries)
    with tempfile.TemporaryDirectory(dir=task.folder) as scratch:
        with _accepted(task, asked, source, queries, Path(scratch)) as events, _spark(task, scratch) as spark:
            members = list(_compared(task, asked, queries, ours, events, spark, Path(scratch)))
        read = events.messages
    task.write("compared", {"members": members})
    summary = {
        **{name: sum(member[name] for member in members) for name in COUNTED},
        "messages": read,
        "seconds": time.monotonic() - began,
    }
    task.write("summary", summary)


def _tell(task: Verifying, percent: int, words: str) -> None:
    if task.is_cancelled:
        raise Cancelled
    task.write("progress", {"percent": percent, "words": words})


def _our_answers(task: Verifying, asked: dict[str, Any], queries: Iterable[AnyQuery]) -> "dict[str, Answers]":
    """By query, what the job has told of windows that ended since then; the last word on each counts."""
    from kafka import KafkaConsumer, TopicPartition

    from streaming.results import ResultBlock, decode

    _tell(task, 2, "Reading the results of the job.")
    wanted = {query.id for query in queries}
    consumer = KafkaConsumer(
        bootstrap_servers=asked["bootstrap_servers"], group_id=None, enable_auto_commit=False
    )
    place = TopicPartition(asked["results"], 0)
    consumer.assign([place])
    until = consumer.end_offsets([place])[place]
    found = consumer.offsets_for_times({place: asked["since"]})[place]
    consumer.seek(place, found.offset if found is not None else until)
    blocks: dict[tuple[str, int, int], ResultBlock] = {}
    while consumer.position(place) < until:
        for message in consumer.poll(timeout_ms=POLL_MS).get(place, ()):
            for block in decode(message.value):
                if block.query in wanted and block.final and block.end > asked["since"]:
                    blocks[block.place] = block
        _tell(task, 5, "Reading the results of the job.")
    consumer.close()
    answers: dict[str, Answers] = {query_id: {} for query_id in wanted}
    for block in blocks.values():
        for group, value, count in block.rows():
            answers[block.query][block.end, group] = (value, count)
    return answers


@contextmanager
def _accepted(
    task: Verifying, asked: dict[str, Any], source: SourceSpec, queries: list[AnyQuery], scratch: Path
) -> "Iterator[AcceptedEvents]":
    """The events of these minutes and of the windows that reach into them."""
    from dashboard.planning.spark_windows import AcceptedEvents
    from optimizer import Statistics, optimize
    from streaming.lanes import EARLIEST, Timeline
    from streaming.replay.topics import SourceSpan

    timeline = Timeline().adopt(optimize(queries, Statistics()), EARLIEST)
    longest = max((query.window.range for query in queries if isinstance(query, Query)), default=0)
    span = SourceSpan(source).between(asked["since"] - longest - source.allowed_lateness - SLACK_MS)
    events = AcceptedEvents(scratch, source, timeline)
    with events:
        for batch in span.batches(source.types, int(time.time() * 1000)):
            events.take(batch.rows)
            percent = 10 + round(40 * batch.done / max(1, span.total))
            _tell(task, percent, f"Reading {batch.done:,} of {span.total:,} messages.")
        events.messages = span.total
        yield events


@contextmanager
def _spark(task: Verifying, scratch: str) -> "Iterator[SparkSession]":
    from streaming import spark as engine
    from streaming.jars import jars_dir

    _tell(task, 55, "Starting a Spark of its own.")
    var_dir = Path(settings.VAR_DIR)
    session = engine.session("local[1]", jars_dir(var_dir), var_dir, scratch=Path(scratch), **SPARK)
    try:
        yield session
    finally:
        session.stop()


def _compared(
    task: Verifying,
    asked: dict[str, Any],
    queries: list[AnyQuery],
    ours: "dict[str, Answers]",
    events: "AcceptedEvents",
    spark: "SparkSession",
    scratch: Path,
) -> Iterator[dict[str, Any]]:
    from dashboard.planning.spark_windows import answers, refusal

    with task.rows.open("w") as lines:
        for number, query in enumerate(queries):
            _tell(task, 60 + 40 * number // len(queries), f"Window {number + 1} of {len(queries)} by Spark.")
            mine = ours[query.id]
            why = refusal(query) if isinstance(query, Query) else "Not verified: only windows of time are."
            if not isinstance(query, Query) or why or not mine:
                yield _member(query, why or NO_RESULT)
                continue
            path = scratch / "events.parquet"
            events.write(query, path)
            joined = asked["joined"].get(query.id) is not None
            after = min(end for end, _ in mine) - 1 if joined else asked["since"]
            theirs = answers(spark, path, query, after, max(end for end, _ in mine))
            if len(theirs) > MOST_ROWS:
                raise _TooManyRows(f"There are more than {MOST_ROWS:,} rows: verify fewer minutes.")
            yield _rows(query, mine, theirs, lines.write)


def _member(query: AnyQuery, left_out: str = "") -> dict[str, Any]:
    from dashboard.planning.changes import window_words
    from streaming.likeness import error_words

    what = f"{query.aggregate} of {query.field}" if query.field else query.aggregate
    return {
        "id": query.id,
        "computes": what,
        "window": window_words(query),
        "group_by": list(query.group_by),
        "left_out": left_out,
        "error": error_words(query.aggregate),
        **dict.fromkeys(COUNTED, 0),
        "largest": 0.0,
        "shown": [],
    }


def _rows(query: Query, ours: "Answers", theirs: "Answers", write: Any) -> dict[str, Any]:
    """All rows to the file; those that differ, those within the error, then the newest, for the page."""
    from streaming.likeness import Likeness
    from streaming.verify import Comparison, Difference

    comparison = Comparison(query)
    shown: dict[Likeness, list[dict[str, Any]]] = {
        Likeness.DIFFERENT: [],
        Likeness.WITHIN: [],
        Likeness.EQUAL: [],
    }
    for end, group in sorted(ours.keys() | theirs.keys(), key=lambda key: (-key[0], list(map(str, key[1])))):
        row = Difference(end, group, ours.get((end, group)), theirs.get((end, group)))
        likeness = comparison.take(row)
        told = _told(query.aggregate, row, likeness)
        write(json.dumps({"query": query.id, **told}, default=str) + "\n")
        if len(shown[likeness]) < SHOWN_ROWS:
            shown[likeness].append(told)
    first = [told for rows in shown.values() for told in rows][:SHOWN_ROWS]
    return {
        **_member(query),
        **{name: getattr(comparison, name) for name in COUNTED},
        "largest": comparison.largest,
        "shown": json.loads(json.dumps(first, default=str)),
    }


def _told(aggregate: str, row: "Difference", likeness: "Likeness") -> dict[str, Any]:
    from streaming.likeness import comparable

    return {
        "end": row.end,
        "group": list(row.group),
        "ours": row.ours[0] if row.ours else None,
        "our_events": row.ours[1] if row.ours else None,
        "theirs": comparable(aggregate, row.theirs[0]) if row.theirs else None,
        "their_events": row.theirs[1] if row.theirs else None,
        "difference": row.judged(aggregate).difference,
        "likeness": likeness.value,
    }
