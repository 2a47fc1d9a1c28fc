"""Firings as charts mark them: when an alert fires and when it recovers, for whom and at what value."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from dashboard.alerts.models import Alert, Firing
from dashboard.alerts.words import counted, group_words, number

MOST_FIRINGS = 2_000  # the newest of a range

Mark = dict[str, Any]


def firing_marks(firings: QuerySet[Firing], start: datetime, until: datetime) -> dict[str, list[Mark]]:
    """By key of the query, in order of time; groups that fire, or recover, at once share a mark."""
    going_on = Q(resolved_at__isnull=True) | Q(resolved_at__gte=start)
    found = firings.filter(going_on, Alert.living("alert__"), fired_at__lt=until)
    newest = list(found.select_related("alert__query")[:MOST_FIRINGS])
    marks: dict[str, list[Mark]] = {}
    for query, mark in sorted(_all_marks(newest, until), key=lambda one: one[1]["time"]):
        marks.setdefault(query, []).append(mark)
    return marks


def _all_marks(firings: Sequence[Firing], until: datetime) -> Iterator[tuple[str, Mark]]:
    """Each with the key of its query."""
    for at, together in _at_once((one.fired_at, one) for one in firings):
        yield together[0].alert.query.key, _fires(at, together)
    ended = ((one.resolved_at, one) for one in firings if one.resolved_at and one.resolved_at < until)
    for at, together in _at_once(ended):
        yield together[0].alert.query.key, _mark("recovers", at, _ms(at), together)


def _at_once(firings: Iterable[tuple[datetime, Firing]]) -> Iterator[tuple[datetime, list[Firing]]]:
    """Those of the same alert at the same moment."""
    found: dict[tuple[datetime, int], list[Firing]] = {}
    for at, firing in firings:
        found.setdefault((at, firing.alert_id), []).append(firing)
    for (at, _), together in found.items():
        yield at, together


def _fires(at: datetime, together: Sequence[Firing]) -> Mark:
    """Until the last of its groups has recovered; None while one of them fires."""
    ends = [_ms(one.resolved_at) for one in together if one.resolved_at]
    return _mark("fires", at, max(ends) if len(ends) == len(together) else None, together)


def _mark(what: str, at: datetime, until: int | None, together: Sequence[Firing]) -> Mark:
    alert = together[0].alert
    details = counted(len(together), "group") if len(together) > 1 else _details(what, together[0])
    text = f"{alert.name} {what}" + (f": {details}" if details else "")
    return {"alert": alert.key, "what": what, "time": _ms(at), "until": until, "text": text}


def _details(what: str, firing: Firing) -> str:
    """The group, and the value at which it fired; where data are missing there is none."""
    value = number(firing.value) if what == "fires" and firing.value is not None else ""
    return ", ".join(part for part in (group_words(firing.group), value) if part)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
