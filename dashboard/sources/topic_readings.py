"""How Millrace reads messages: decoded and judged by the engine's own code, outside the job."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from dashboard.queries.windows_text import spaced
from dashboard.sources.kafka import KafkaProblem, Message
from dashboard.sources.models import Source
from streaming import expressions
from streaming.accounting import Counts
from streaming.formats import DECODERS
from streaming.lanes import EARLIEST
from streaming.reach import SourceProblem
from streaming.registry import format_options
from streaming.shuffle import PartitionReport
from streaming.sieve import sift
from streaming.sources import SourceSpec

_one_at_a_time = Lock()  # the decoders' databases are not made for several threads


@dataclass(frozen=True)
class Reading:
    """What becomes of one message: its fields and event time, or why it is refused."""

    time: int | None = None  # ms
    values: dict[str, Any] = field(default_factory=dict)
    kind: str = ""  # of the refusal: malformed, late, future, past
    reason: str = ""
    wrong: dict[str, str] = field(default_factory=dict)  # fields that have no value, and why that is
    late_by: str = ""  # beyond the allowed lateness
    kept: bool = True  # by the filter

    @property
    def chip(self) -> str:
        """The refusal, or else what is wrong with a field, in a few words."""
        words = {"late": f"late by {self.late_by}", "future": "from the future", "past": "from the far past"}
        return words.get(self.kind) or self.sentence.rstrip(".")

    @property
    def sentence(self) -> str:
        return self.reason or " ".join(self.wrong.values())


def readings(source: Source, messages: Sequence[Message], where: str = "") -> list[Reading]:
    """One for each message. Late is judged by the messages given: one of them must show a greater time.

    Those that were aborted, which make nothing late, are judged by themselves.
    """
    spec, found = source.spec(), {}
    with _one_at_a_time:
        for place in {_place(message) for message in messages}:
            alike = sorted((m for m in messages if _place(m) == place), key=lambda m: m.offset)
            for message, reading in zip(alike, _read(spec, alike, where), strict=True):
                found[message.partition, message.offset] = reading
    return [found[message.partition, message.offset] for message in messages]


def _place(message: Message) -> tuple[int, bool]:
    return message.partition, message.is_aborted


def _read(spec: SourceSpec, messages: list[Message], where: str) -> list[Reading]:
    """The messages of one partition, in log order."""
    values = pa.array([message.value for message in messages], pa.binary())
    try:
        decoded = DECODERS[spec.format](values, spec.types, format_options(spec))
    except SourceProblem as problem:  # the registry does not answer
        raise KafkaProblem("registry", str(problem)) from problem
    timestamps = np.array([message.timestamp for message in messages], np.int64)[decoded.rows]
    report = PartitionReport(EARLIEST, EARLIEST, EARLIEST, Counts())
    sifted = sift(spec, decoded, timestamps, int(time.time() * 1000), report)
    made = [Reading(kept=not where) for _ in messages]
    kept = _kept(where, decoded.table) if where and len(decoded.rows) else None
    for at, (row, fields) in enumerate(zip(decoded.rows.tolist(), decoded.table.to_pylist(), strict=True)):
        passes = True if kept is None else bool(kept[at])
        wrong = {name: why for name, each in decoded.wrong.items() if (why := each.at(at))}
        made[row] = Reading(time=int(sifted.times[at]), values=fields, wrong=wrong, kept=passes)
    for refusal in sifted.refusals:
        known = None if refusal.kind == "malformed" else made[refusal.row].time
        made[refusal.row] = replace(made[refusal.row], time=known, kind=refusal.kind, reason=refusal.reason)
    for at, message in enumerate(messages):
        if message.problem:
            made[at] = Reading(kind="malformed", reason=message.problem, kept=not where)
    return _with_delays(spec, messages, made)


def _kept(where: str, table: pa.Table) -> np.ndarray:
    decided = expressions.decided(where, table)
    if decided.stopped:
        raise KafkaProblem("topic", f"The condition takes too much. {decided.why}")
    return decided.holds


def _with_delays(spec: SourceSpec, messages: list[Message], made: list[Reading]) -> list[Reading]:
    """Late ones with how late they are: how far behind what their partition has shown before."""
    told, greatest = [], EARLIEST
    for message, reading in zip(messages, made, strict=True):
        late_by = greatest - spec.allowed_lateness - (reading.time or 0)
        told.append(
            replace(reading, late_by=spaced(_rounded(late_by))) if reading.kind == "late" else reading
        )
        if reading.time is not None and reading.kind in ("", "late"):
            clock = message.timestamp if message.timestamp > 0 else reading.time
            greatest = max(greatest, min(reading.time, clock))
    return told


def _rounded(milliseconds: int) -> int:
    return milliseconds if milliseconds < 1_000 else milliseconds // 1_000 * 1_000


def refusals(made: Iterable[Reading], kind: str = "malformed") -> dict[str, int]:
    """How often each reason occurs, the most frequent first."""
    return dict(Counter(reading.reason for reading in made if reading.kind == kind).most_common())


def wrong_values(made: Iterable[Reading]) -> dict[str, int]:
    """The same of fields without a value in messages that count."""
    accepted = (reading for reading in made if reading.kind != "malformed")
    return dict(Counter(why for reading in accepted for why in reading.wrong.values()).most_common())
