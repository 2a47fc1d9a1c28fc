"""Which of a partition's messages are accepted, and why each of the others is refused."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optimizer.durations import format_duration
from streaming import event_time, watermark
from streaming.accounting import Counts, Kind, instant
from streaming.formats.base import NOTHING_WRONG, Decoded, Wrong
from streaming.lanes import LATEST
from streaming.shuffle import PartitionReport
from streaming.sources import SourceSpec


class Refusal(NamedTuple):
    """A message that is refused: its row in the batch, and why, in a word and in a sentence."""

    row: int
    kind: Kind
    reason: str


@dataclass(frozen=True)
class Sifted:
    """The decoded messages' event times, which of them are accepted, and all refusals, in no order."""

    times: np.ndarray
    accepted: np.ndarray
    refusals: list[Refusal]


def sift(
    source: SourceSpec, decoded: Decoded, timestamps: np.ndarray, now: int, report: PartitionReport
) -> Sifted:
    """Judge messages in log order and enter them into the report of their partition.

    `timestamps` are those of the decoded rows, `now` is the batch's time.
    """
    times, known = event_time.event_times(source, decoded.table, timestamps, now, report.watermark)
    clock = times if source.processing_time else event_time.clocks(timestamps, now)
    future = known & event_time.ahead(times, clock, source.future_bound)
    past = known & event_time.behind(times, clock, source.past_bound)
    timely = np.flatnonzero(known & ~future & ~past)
    marks = event_time.marks(times, clock, source.future_bound)[timely]
    late, closed = _late(times, timely, marks, report, source.allowed_lateness)
    wrong = decoded.wrong.get(source.event_time or "", NOTHING_WRONG)
    reasons = _Reasons(source, times, clock, report.watermark, wrong)
    judged: tuple[tuple[Kind, np.ndarray, Callable[[int], str]], ...] = (
        ("malformed", ~known, reasons.unknown),
        ("future", future, reasons.future),
        ("past", past, reasons.past),
        ("late", late, reasons.late),
        ("late", closed, reasons.closed),
    )
    refusals = [Refusal(item.row, "malformed", item.reason) for item in decoded.refused]
    for kind, mask, reason in judged:
        refusals += _refusals(kind, mask, reason, decoded.rows)
    accepted = known & ~future & ~past & ~late & ~closed
    _move_on(report, times[timely], marks, times[accepted])
    _count(report.counts, int(accepted.sum()), refusals)
    return Sifted(times, accepted, refusals)


def sift_again(
    source: SourceSpec,
    decoded: Decoded,
    timestamps: np.ndarray,
    now: int,
    refused: np.ndarray,
    report: PartitionReport,
) -> Sifted:
    """Take once more what was taken when it came; `refused` says which of the decoded rows were not.

    Messages from before the job's start were never judged. None of them was late, but some may be from the
    future: those that were judged pass that test again, as the clock has only gone on.
    """
    times, known = event_time.event_times(source, decoded.table, timestamps, now, report.watermark)
    clock = event_time.clocks(timestamps, now)
    accepted = known & ~refused & ~event_time.ahead(times, clock, source.future_bound)
    marks = event_time.marks(times, clock, source.future_bound)
    _move_on(report, times[accepted], marks[accepted], times[accepted])
    return Sifted(times, accepted, [])


def _late(
    times: np.ndarray, timely: np.ndarray, marks: np.ndarray, report: PartitionReport, lateness: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which events are late for their partition, and which for results that are final."""
    late, closed = np.zeros((2, len(times)), np.bool_)
    late[timely] = watermark.late(times[timely], marks, report.greatest, lateness)
    closed[timely] = ~late[timely] & (times[timely] < report.watermark)
    return late, closed


def _refusals(
    kind: Kind, mask: np.ndarray, reason: Callable[[int], str], rows: np.ndarray
) -> Iterator[Refusal]:
    for at in np.flatnonzero(mask).tolist():
        yield Refusal(int(rows[at]), kind, reason(at))


def _move_on(report: PartitionReport, timely: np.ndarray, marks: np.ndarray, accepted: np.ndarray) -> None:
    if len(timely):
        report.greatest = max(report.greatest, int(marks.max()))
        report.first = int(timely[0]) if report.first is None else report.first
    if len(accepted):
        furthest = int(accepted.max())
        report.furthest = furthest if report.furthest is None else max(report.furthest, furthest)


def _count(counts: Counts, accepted: int, refusals: list[Refusal]) -> None:
    counts.accepted += accepted
    for refusal in refusals:
        setattr(counts, refusal.kind, getattr(counts, refusal.kind) + 1)


@dataclass(frozen=True)
class _Reasons:
    """The sentences of the dead letters."""

    source: SourceSpec
    times: np.ndarray
    clock: np.ndarray
    watermark: int
    wrong: Wrong  # event times

    def unknown(self, at: int) -> str:
        field = self.source.event_time
        if not field:
            return "The message has no timestamp."
        return self.wrong.at(at) or f"No event time in {field}."

    def future(self, at: int) -> str:
        bound = format_duration(self.source.future_bound or 0)
        return f"From the future: {self._when(at)} is more than {bound} ahead of {self._clock(at)}."

    def past(self, at: int) -> str:
        bound = format_duration(self.source.past_bound or 0)
        return f"From the far past: {self._when(at)} is more than {bound} before {self._clock(at)}."

    def late(self, at: int) -> str:
        lateness = format_duration(self.source.allowed_lateness)
        return f"Late: {self._when(at)} is more than the allowed lateness of {lateness} behind its partition."

    def closed(self, at: int) -> str:
        if self.watermark == LATEST:
            return f"Late: {self._when(at)} came after the end of the data."
        return f"Late: {self._when(at)} came when results were final up to {instant(self.watermark)}."

    def _when(self, at: int) -> str:
        return f"event time {instant(int(self.times[at]))}"

    def _clock(self, at: int) -> str:
        return f"the clock, which said {instant(int(self.clock[at]))}"
