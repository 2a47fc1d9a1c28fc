"""What live pages are told of alerts: which fire or are pending, and marks for their queries' charts."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q

from dashboard.alerts.marks import Mark, firing_marks
from dashboard.alerts.models import Alert, Firing, Silence

MARKED = timedelta(minutes=15)  # as long as live charts reach back; pages ask for what is older


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
    news = _audible(now)
    marks = firing_marks(Firing.objects.all(), now - MARKED, now)
    return Bells({one.key: _told(one, *news.get(one.pk, (0, 0))) for one in loud}, marks)


def _audible(now: datetime) -> dict[int, tuple[int, int]]:
    """By alert, how many groups fire that people are told of, and when (ms) the newest of them fired."""
    silent = Silence.objects.filter(
        Q(group_key="") | Q(group_key=OuterRef("group_key")), alert=OuterRef("alert"), until__gt=now
    )
    waiting = Firing.objects.filter(resolved_at__isnull=True, acknowledged_at__isnull=True)
    by_alert = waiting.exclude(Exists(silent)).order_by().values("alert")
    rows = by_alert.annotate(groups=Count("pk"), newest=Max("fired_at"))
    return {one["alert"]: (one["groups"], int(one["newest"].timestamp() * 1000)) for one in rows}


def _told(alert: Alert, audible: int, newest: int) -> dict[str, Any]:
    evaluation = alert.evaluation
    return {
        "name": alert.name,
        "source": alert.query.source.key,
        "query": alert.query.key,
        "state": evaluation.state,
        "firing": evaluation.firing,
        "pending": evaluation.pending,
        "audible": audible,
        "newest": newest,
        "interval": alert.interval,
        "address": alert.get_absolute_url(),
    }
