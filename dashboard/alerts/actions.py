"""What people do to alerts and their firings, on pages and over the API."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.accounts.people import may_edit
from dashboard.accounts.rights import may_see
from dashboard.alerts import telling
from dashboard.alerts.models import Alert, Delivery, Silence, group_key


def may_handle(person: User, alert: Alert) -> bool:
    """Whether a person may silence and acknowledge: every editor who sees it, as that is who is on duty."""
    return may_edit(person) and may_see(person, alert)


def pause(alert: Alert) -> None:
    alert.paused_at = timezone.now()
    alert.save(update_fields=["paused_at"])


def resume(alert: Alert) -> None:
    """From now on: what happened meanwhile does not count."""
    alert.paused_at, alert.changed_at = None, timezone.now()
    alert.save(update_fields=["paused_at", "changed_at"])


def silence(
    alert: Alert, person: User, length: timedelta, reason: str = "", group: Sequence[Any] | None = None
) -> Silence:
    return Silence.objects.create(
        alert=alert,
        group=None if group is None else list(group),
        group_key="" if group is None else group_key(list(group)),
        until=timezone.now() + length,
        reason=reason,
        person=person,
    )


def end_silences(alert: Alert, pk: int | None = None) -> int:
    """End one silence of an alert, or all; how many that were."""
    active = alert.silences.filter(until__gt=timezone.now())
    return (active if pk is None else active.filter(pk=pk)).update(until=timezone.now())


def acknowledge(alert: Alert, person: User, pk: int | None = None) -> int:
    """Take up one firing, or all that nobody has taken up; how many that were. They are not repeated."""
    waiting = alert.firings.filter(resolved_at__isnull=True, acknowledged_at__isnull=True)
    chosen = waiting if pk is None else waiting.filter(pk=pk)
    return chosen.update(acknowledged_at=timezone.now(), acknowledged_by=person)


def send_test(alert: Alert) -> list[Delivery]:
    """A message to all addresses that says that it is a test."""
    return telling.send(alert, telling.payload(alert, "test", [], [], 0), timezone.now())
