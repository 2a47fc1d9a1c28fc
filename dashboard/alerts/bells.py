"""What live pages are told of alerts: which fire or are pending, and marks for their queries' charts."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from dashboard.alerts.models import Alert, Firing
from dashboard.alerts.words import counted

MARKED = timedelta(minutes=15)  # as long as charts reach back
MOST_FIRINGS = 2_000

Mark = tuple[int, str, str]  # when (ms), what, and whether it fired or recovered


@dataclass(frozen=True)
class Bells:
    """All that is not quiet, by key of the alert; marks by key of the query."""

    alerts: dict[str, dict[str, Any]] = field(default_factory=dict)
    marks: dict[str, list[Mark]] = field(default_factory=dict)

    def message(self, queries: set[str], sources: set[str]) -> dict[str, Any]:
        """For who watches these queries and may know of these sources."""
        seen = {key: one for key, one in self.alerts.items() if one["source"] in sources}
        return {
            "type": "alerts",
            "firing": sum(one["state"] == "firing" for one in seen.values()),
            "alerts": seen,
            "marks": {key: marks for key, marks in self.marks.items() if key in queries},
        }


def listen(now: datetime) -> Bells:
    """As the database has it: one evaluator writes, every web process reads."""
    known = Alert.objects.filter(paused_at__isnull=True).select_related("evaluation", "query__source")
    loud = known.filter(Q(evaluation__firing__gt=0) | Q(evaluation__pending__gt=0))
    recent = Firing.objects.filter(
        Q(fired_at__gte=now - MARKED) | Q(resolved_at__gte=now - MARKED), alert__deleted_at__isnull=True
    ).select_related("alert__query")[:MOST_FIRINGS]
    newest: dict[str, int] = {}
    fired: Counter[tuple[str, int, str, str]] = Counter()
    for one in recent:
        place = (one.alert.query.key, one.alert.name)
        newest[one.alert.key] = max(newest.get(one.alert.key, 0), _ms(one.fired_at))
        if one.fired_at >= now - MARKED:
            fired[(place[0], _ms(one.fired_at), place[1], "fires")] += 1
        if one.resolved_at is not None and one.resolved_at >= now - MARKED:
            fired[(place[0], _ms(one.resolved_at), place[1], "recovers")] += 1
    marks: dict[str, list[Mark]] = {}
    for (query, at, name, what), count in sorted(fired.items()):
        groups = f", {counted(count, 'group')}" if count > 1 else ""
        marks.setdefault(query, []).append((at, f"{name} {what}{groups}", what))
    return Bells({one.key: _told(one, newest.get(one.key, 0)) for one in loud}, marks)


def _told(alert: Alert, newest: int) -> dict[str, Any]:
    evaluation = alert.evaluation
    return {
        "name": alert.name,
        "source": alert.query.source.key,
        "state": evaluation.state,
        "firing": evaluation.firing,
        "pending": evaluation.pending,
        "newest": newest,
        "address": alert.get_absolute_url(),
    }


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
