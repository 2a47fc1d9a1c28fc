"""What a form says of an alert while it is typed: the rule in words, and how often it would have fired."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.alerts import words
from dashboard.alerts.evaluator import instant
from dashboard.alerts.kept import REACH_MS, Kept, NothingKept, kept_results, would_have_fired
from dashboard.alerts.models import Alert
from dashboard.alerts.rules import Move
from streaming.results import GroupKey

SHOWN = 8


@dataclass(frozen=True)
class WouldFire:
    """One time that it would have fired."""

    group: str
    at: datetime
    until: datetime | None
    value: str


@dataclass(frozen=True)
class Preview:
    rule: str
    sentence: str
    count: int = 0
    newest: tuple[WouldFire, ...] = ()
    known: bool = True  # whether there were results to look at


def preview(alert: Alert) -> Preview:
    """Of an alert as it would be saved."""
    target = alert.target()
    rule = f"{words.subject(alert)}: {words.condition(alert)}"
    if target is None:
        return Preview(rule, "", known=False)
    try:
        kept = kept_results(target[2].id)
    except NothingKept as problem:
        return Preview(rule, str(problem), known=False)
    if not kept.finals and alert.condition != "no_data":
        return Preview(rule, f"No results of the last {_span(kept)} are kept to look at.", known=False)
    moves = would_have_fired(alert.rule(target[2]), kept, per_group=alert.is_per_group)
    found = _paired(moves)
    groups = len({one.group for one in found})
    return Preview(rule, _sentence(len(found), groups, kept), len(found), tuple(found[::-1][:SHOWN]))


def _paired(moves: Sequence[tuple[GroupKey, Move]]) -> list[WouldFire]:
    """Each firing with its end, oldest first."""
    ended: dict[GroupKey, datetime] = {}
    found = []
    for group, move in reversed(moves):
        if not move.fires:
            ended[group] = instant(move.at)
            continue
        fired = WouldFire(
            words.group_words(group), instant(move.at), ended.pop(group, None), words.number(move.value)
        )
        found.append(fired)
    return found[::-1]


def _sentence(count: int, groups: int, kept: Kept) -> str:
    if not count:
        return f"Would not have fired in the last {_span(kept)}."
    where = f", in {words.counted(groups, 'group')}" if groups > 1 else ""
    return f"Would have fired {_times(count)} in the last {_span(kept)}{where}."


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _span(kept: Kept) -> str:
    """How long it looked back; the kept results may begin later than an hour ago."""
    minutes = round((kept.until - kept.since) / 60_000)
    if minutes >= round(REACH_MS / 60_000) - 1:
        return "hour"
    return "minute" if minutes <= 1 else f"{minutes} min"
