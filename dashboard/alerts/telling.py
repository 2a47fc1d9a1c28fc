"""Who is told of what, and when: one message of an alert for all its groups, and not too many of them.

As Alertmanager does it: the first message waits a moment for other groups, the next one waits for the
alert's interval, what goes on firing is repeated, and what is silenced or acknowledged is not.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.conf import settings

from dashboard.alerts import words
from dashboard.alerts.models import Alert, Delivery, Evaluation, Firing, Silence

GROUP_WAIT = timedelta(seconds=5)
HISTORY_KEPT = timedelta(days=90)
DELIVERIES_KEPT = timedelta(days=7)

Kind = Literal["news", "reminder"]


@dataclass(frozen=True)
class Policy:
    """How often one alert speaks."""

    interval: timedelta
    repeat: timedelta  # nothing: never

    @classmethod
    def of(cls, alert: Alert) -> "Policy":
        return cls(timedelta(milliseconds=alert.interval), timedelta(milliseconds=alert.repeat))


def due(
    policy: Policy, oldest_news: datetime | None, told_at: datetime | None, still_fires: bool, now: datetime
) -> Kind | None:
    """What kind of message it is time for, if any."""
    rested = told_at is None or now - told_at >= policy.interval
    if oldest_news is not None:
        return "news" if rested and now - oldest_news >= GROUP_WAIT else None
    if still_fires and policy.repeat and told_at is not None and now - told_at >= policy.repeat:
        return "reminder"
    return None


def tell(now: datetime) -> None:
    """Look at every alert that may have something to say. Within the transaction of who has the seat."""
    for alert in Alert.objects.filter(pk__in=_candidates(now)).select_related("query__source"):
        tell_of(alert, now)


def _candidates(now: datetime) -> set[int]:
    """Alerts with news, and those that fire and were last told of so long ago that it may be repeated."""
    untold = Firing.objects.filter(untold=True).values_list("alert", flat=True).distinct()
    firing = Evaluation.objects.filter(firing__gt=0, told_at__isnull=False, alert__repeat__gt=0)
    repeated = [
        pk
        for pk, told_at, repeat in firing.values_list("alert", "told_at", "alert__repeat")
        if told_at is not None and now - told_at >= timedelta(milliseconds=repeat)
    ]
    return {*untold, *repeated}


def tell_of(alert: Alert, now: datetime) -> None:
    """Write the messages that are due, and that they are."""
    evaluation, _ = Evaluation.objects.get_or_create(alert=alert)
    silenced = silenced_groups(alert.silences.filter(until__gt=now))
    untold = [one for one in alert.firings.filter(untold=True) if not _passed_over(one, silenced)]
    news = [one for one in untold if not silenced(one)]
    open_ones = alert.firings.filter(resolved_at__isnull=True)
    still = (
        [one for one in open_ones.filter(acknowledged_at__isnull=True) if not silenced(one)]
        if not news
        else []
    )
    oldest = min(
        (one.noted_at if one.told == "" else one.resolved_at or one.noted_at for one in news), default=None
    )
    kind = due(Policy.of(alert), oldest, evaluation.told_at, bool(still), now)
    if kind is None:
        return
    firing = [one for one in (news or still) if one.resolved_at is None]
    resolved = [one for one in news if one.resolved_at is not None]
    send(alert, payload(alert, kind, firing, resolved, open_ones.count()), now)
    for one in news:
        one.told, one.untold = "resolved" if one.resolved_at else "firing", False
    Firing.objects.bulk_update(news, ["told", "untold"], batch_size=200)
    Evaluation.objects.filter(pk=alert.pk).update(told_at=now)


def silenced_groups(silences: Iterable[Silence]) -> Callable[[Firing], bool]:
    """Whether a firing is silenced, as a function."""
    keys = {one.group_key for one in silences}
    return lambda firing: bool(keys) and ("" in keys or firing.group_key in keys)


def _passed_over(firing: Firing, silenced: Callable[[Firing], bool]) -> bool:
    """Whether nobody needs to be told any more: it ended in silence, or somebody has taken it up already."""
    over = firing.resolved_at is not None and silenced(firing)
    taken_up = firing.resolved_at is None and firing.acknowledged_at is not None
    if over or taken_up:
        told = "resolved" if over else "firing"
        Firing.objects.filter(pk=firing.pk).update(told=told, untold=False)
    return over or taken_up


def payload(
    alert: Alert, kind: str, firing: Sequence[Firing], resolved: Sequence[Firing], open_count: int
) -> dict[str, Any]:
    """What a webhook gets, and what mails are written from."""
    names = alert.query.group_by if alert.is_per_group else []
    return {
        "version": 1,
        "kind": kind,
        "status": "firing" if firing or open_count else "resolved",
        "alert": {
            "key": alert.key,
            "name": alert.name,
            "query": alert.query.name,
            "source": alert.query.source.name,
            "subject": words.subject(alert),
            "condition": words.condition(alert),
            "address": settings.SITE_ADDRESS + alert.get_absolute_url(),
        },
        "counts": {"new": len(firing), "resolved": len(resolved), "firing": open_count},
        "firing": [_entry(one, names) for one in firing[: words.LISTED]],
        "resolved": [_entry(one, names) for one in resolved[: words.LISTED]],
    }


def _entry(firing: Firing, names: Sequence[str]) -> dict[str, Any]:
    ended = firing.resolved_at
    return {
        "group": dict(zip(names, firing.group)),
        "group_words": words.group_words(firing.group),
        "value": firing.value if ended is None else firing.last_value,
        "since": _second(firing.since),
        "fired_at": _second(firing.fired_at),
        "resolved_at": _second(ended) if ended else None,
        "reason": firing.reason,
    }


def _second(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def send(alert: Alert, message: dict[str, Any], now: datetime) -> list[Delivery]:
    """One delivery for each address; they are kept until they have arrived."""
    targets = [("email", one) for one in alert.addresses] + (
        [("webhook", alert.webhook)] if alert.webhook else []
    )
    return Delivery.objects.bulk_create(
        Delivery(alert=alert, channel=channel, target=target, payload=message, due_at=now)
        for channel, target in targets
    )


def tidy(now: datetime) -> None:
    """Let go of what is old."""
    Firing.objects.filter(resolved_at__lt=now - HISTORY_KEPT).delete()
    Delivery.objects.filter(created_at__lt=now - DELIVERIES_KEPT).delete()
    Silence.objects.filter(until__lt=now - HISTORY_KEPT).delete()
