"""What pages say of an alert: its state as a word with its mark, and who evaluates it."""

import time
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from dashboard.alerts.models import Alert, Evaluation, Seat
from dashboard.alerts.words import counted

UNATTENDED_SECONDS = 30.0
ORDER = {"firing": 0, "pending": 1, "broken": 2, "ok": 3, "paused": 4}
UNWELL = frozenset({"firing", "pending", "broken"})


@dataclass(frozen=True)
class AlertState:
    kind: str
    word: str
    dot: str = ""
    note: str = ""

    @property
    def rank(self) -> int:
        return ORDER[self.kind]


def state_of(alert: Alert) -> AlertState:
    evaluation = evaluation_of(alert)
    if alert.paused_at is not None:
        return AlertState("paused", "Paused", "is-off")
    if alert.query.paused_at is not None:
        return AlertState("paused", "Paused", "is-off", "its query is paused")
    if evaluation.problem:
        return AlertState("broken", "Not evaluated", "is-warn", evaluation.problem)
    grouped = bool(alert.query.group_by) and alert.is_per_group
    if evaluation.state == "firing":
        note = counted(evaluation.firing, "group") if grouped else ""
        return AlertState("firing", "Firing", "is-bad", note)
    if evaluation.state == "pending":
        note = counted(evaluation.pending, "group") if grouped else ""
        return AlertState("pending", "Pending", "is-warn", note)
    return AlertState("ok", "OK")


def evaluation_of(alert: Alert) -> Evaluation:
    """What the evaluator wrote; an alert that it has not seen yet is in no state."""
    try:
        return alert.evaluation
    except Evaluation.DoesNotExist:
        return Evaluation(alert=alert)


def silenced_until(alert: Alert, now: datetime | None = None) -> datetime | None:
    """Until when all its groups are silenced."""
    moment = now or timezone.now()
    whole = [one.until for one in alert.silences.all() if one.group_key == "" and one.until > moment]
    return max(whole, default=None)


def is_attended() -> bool:
    """Whether some process evaluates the alerts."""
    return Seat.objects.filter(until__gt=time.time() - UNATTENDED_SECONDS).exists()


def firing_count(alerts: QuerySet[Alert]) -> int:
    """How many of them fire now."""
    return alerts.filter(evaluation__firing__gt=0, paused_at__isnull=True).count()
