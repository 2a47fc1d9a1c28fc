"""The preview: a draft computed on the newest messages of its source, within about a second.

The engine is the job's own, called in this process. Messages are kept for a few seconds, as long as somebody
types; one preview is computed at a time, so that pages and sockets stay quick.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dashboard.live.warnings import values_left_out
from dashboard.queries.computed import described
from dashboard.queries.windows_text import spaced
from dashboard.sources.models import Source
from optimizer import Statistics, optimize
from optimizer.queries import Query, QuerySpec
from optimizer.strategies import DEFAULT_STRATEGY
from streaming.exact_queries import exactly
from streaming.reach import SourceProblem
from streaming.security import Security
from streaming.sources import SourceSpec

if TYPE_CHECKING:
    from streaming.replay.engine import Engine
    from streaming.replay.topics import SourceSpan

MANY_GROUPS = 100
MOST_MESSAGES = 400_000
MOST_BYTES = 64 << 20  # of messages that are kept for one source
SOURCES_KEPT = 2
KEPT_SECONDS = 8.0
WORK_SECONDS = 1.0
WAIT_SECONDS = 4.0
FIRST_MESSAGES = 2_000  # tell how large messages are, and bring compiled code into this process
TRIED_MESSAGES = 20_000  # tell how long all of them would take


class NoPreview(RuntimeError):
    """Nothing can be computed; the message is the sentence shown to people."""


class Busy(NoPreview):
    """Others are at it: it is worth another attempt."""


@dataclass(frozen=True)
class Messages:
    """The newest messages of a source, by partition, oldest first, as map tasks take them."""

    parts: dict[int, pa.RecordBatch]
    whole: bool  # there were none before
    read_at: float

    @property
    def total(self) -> int:
        return sum(rows.num_rows for rows in self.parts.values())

    def newest(self, count: int) -> "Messages":
        """About so many of them, the same part of every partition."""
        if count >= self.total:
            return self
        share = count / self.total
        cut = {part: max(1, round(rows.num_rows * share)) for part, rows in self.parts.items()}
        parts = {part: rows.slice(rows.num_rows - cut[part]) for part, rows in self.parts.items()}
        return Messages(parts, False, self.read_at)


_kept: dict[tuple[str, Security], Messages] = {}
_working = threading.Lock()


def sampled(source: Source, spec: QuerySpec) -> dict[str, Any]:
    """What the page draws: series, and in words what they rest on. Raises NoPreview."""
    with _one_at_a_time():
        read_as = _read_as(source)
        try:
            messages = _messages(read_as)
        except SourceProblem as problem:
            raise NoPreview(str(problem)) from problem
        if not messages.total:
            raise NoPreview(f"No messages in {source.topic} yet.")
        return _computed(read_as, spec, messages)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    if not _working.acquire(timeout=WAIT_SECONDS):
        raise Busy("Earlier ones come first; this one follows.")
    try:
        yield
    finally:
        _working.release()


def _read_as(source: Source) -> SourceSpec:
    from streaming.replay import by_message_times  # compiled code: not before a preview is asked for

    return by_message_times(source.spec())


def _messages(source: SourceSpec) -> Messages:
    now = time.monotonic()
    for key in [key for key, kept in _kept.items() if now - kept.read_at > KEPT_SECONDS]:
        del _kept[key]
    own = (source.stream, source.security)
    if own not in _kept:
        found = _read(source)
        while len(_kept) >= SOURCES_KEPT:
            del _kept[next(iter(_kept))]
        _kept[own] = found
    return _kept[own]


def _read(source: SourceSpec) -> Messages:
    from streaming.replay.topics import SourceSpan

    span = SourceSpan(source)
    try:
        first = _rows(span.newest(FIRST_MESSAGES))
        size = sum(rows.nbytes for rows in first.values()) / max(1, sum(r.num_rows for r in first.values()))
        wanted = min(MOST_MESSAGES, int(MOST_BYTES / size)) if size else 0
        if span.whole or wanted <= FIRST_MESSAGES:
            return Messages(first, span.whole, time.monotonic())
        return Messages(_rows(span.newest(wanted)), span.whole, time.monotonic())
    finally:
        span.close()


def _rows(span: "SourceSpan") -> dict[int, pa.RecordBatch]:
    from streaming.task import ABORTED

    now = int(time.time() * 1000)
    found: dict[int, list[pa.RecordBatch]] = {}
    for batch in span.batches((), now):
        for rows in batch.rows:
            if rows.num_rows and rows.column(0)[0].as_py() != ABORTED:
                found.setdefault(rows.column(1)[0].as_py(), []).append(rows)
    return {part: _joined(rows) for part, rows in sorted(found.items())}


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    [joined] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


def _computed(source: SourceSpec, spec: QuerySpec, messages: Messages) -> dict[str, Any]:
    queries = exactly(spec.queries(), source.types)
    plan = optimize(queries, Statistics(), source=source.id, strategy=DEFAULT_STRATEGY)

    def run(count: int) -> tuple["Engine", Messages, float]:
        from streaming.replay.engine import Engine

        part = messages.newest(count)
        began = time.perf_counter()
        engine = Engine(source, plan, tuple(part.parts), part.whole)
        engine.take(list(part.parts.values()))
        return engine, part, time.perf_counter() - began

    engine, part, _ = run(FIRST_MESSAGES)
    if part.total < messages.total:
        engine, part, seconds = run(TRIED_MESSAGES)
        affordable = int(part.total * WORK_SECONDS / seconds)
        if part.total < min(affordable, messages.total):
            engine, part, _ = run(affordable)
    return {
        **described(spec, [*engine.blocks, *engine.provisional]),
        **_facts(engine, part),
        "notes": _notes(engine, spec, part),
    }


def _facts(engine: "Engine", part: Messages) -> dict[str, Any]:
    watermark = engine.watermark
    return {
        "messages": part.total,
        "whole": part.whole,
        "until": watermark.greatest,
        "watermark": watermark.value if engine.blocks or engine.provisional else None,
    }


def _notes(engine: "Engine", spec: QuerySpec, part: Messages) -> list[str]:
    """What somebody has to know to read the preview right."""
    counts = engine.counts
    notes = []
    refused = {
        "malformed": counts.malformed,
        "late": counts.late,
        "from the future": counts.future,
        "from the far past": counts.past,
    }
    told = [f"{count:,} {word}" for word, count in refused.items() if count]
    if told:
        notes.append(f"Left out of {counts.read:,} messages: {', '.join(told)}.")
    notes += [values_left_out(count, why) for count, why in engine.left_out.values()]
    notes += _too_many_groups(engine, spec)
    return notes + _too_long(engine, spec, part)


def _too_many_groups(engine: "Engine", spec: QuerySpec) -> list[str]:
    """Where nearly every message has a group of its own: an identifier, or a time."""
    groups, accepted = engine.groups(spec.group_by), engine.counts.accepted
    if groups < MANY_GROUPS or groups <= accepted / 2:
        return []
    fields = " and ".join(spec.group_by)
    return [f"Grouping by {fields} makes {groups:,} groups of {accepted:,} messages: is that what you want?"]


def _too_long(engine: "Engine", spec: QuerySpec, part: Messages) -> list[str]:
    """Windows that these messages do not fill."""
    answered = {block.query for block in (*engine.blocks, *engine.provisional)}
    first = spec.members()[: len(spec.windows)]
    unfilled = [
        query.window.range for _, _, query in first if isinstance(query, Query) and query.id not in answered
    ]
    greatest = engine.watermark.greatest
    if not unfilled or greatest is None:
        return []
    sizes = ", ".join(spaced(size) for size in unfilled)
    which = "window" if len(unfilled) == 1 else "windows"
    reach = "all there are" if part.whole else "the newest"
    return [f"Too few messages for the {sizes} {which}: {reach} span {_span_words(part)}."]


def _span_words(part: Messages) -> str:
    """How much time lies between the oldest of the messages and the newest, about."""
    stamps = [rows.column(3) for rows in part.parts.values() if rows.num_rows]
    seconds = (max(s[len(s) - 1].as_py() for s in stamps) - min(s[0].as_py() for s in stamps)) / 1000
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    if seconds < 3600:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
