"""Who is told, and how often: one message for all groups, rate-limited; silence and acknowledgement."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alerts import actions
from dashboard.alerts.models import Alert, Delivery, Evaluation, Firing, group_key
from dashboard.alerts.telling import GROUP_WAIT, Policy, due, tell, tidy
from dashboard.alerts.words import body, headline
from tests.dashboard.alerts.conftest import MakeAlert

START = timezone.now()
MINUTE = timedelta(minutes=1)


@pytest.fixture
def alert(make_alert: MakeAlert) -> Alert:
    made = make_alert(webhook="https://example.org/hook", emails="ana@example.org")
    Evaluation.objects.create(alert=made)
    return made


def fires(alert: Alert, group: str, at: datetime) -> Firing:
    kept = Firing.objects.create(
        alert=alert, group=[group], group_key=group_key([group]), since=at, fired_at=at, value=90.0
    )
    Firing.objects.filter(pk=kept.pk).update(noted_at=at)
    Evaluation.objects.filter(alert=alert).update(firing=alert.firings.filter(resolved_at=None).count())
    return kept


def recovers(firing: Firing, at: datetime) -> None:
    firing.refresh_from_db()
    firing.resolved_at, firing.last_value, firing.untold = at, 70.0, firing.told != "resolved"
    firing.save()


def told() -> list[str]:
    """The first lines of all messages by webhook, oldest first."""
    return [headline(one.payload) for one in Delivery.objects.filter(channel="webhook").order_by("pk")]


def test_groups_that_fire_together_are_one_message_after_a_moment(alert: Alert) -> None:
    for number in range(100):
        fires(alert, f"d{number}", START)
    tell(START + GROUP_WAIT / 2)
    assert told() == []
    tell(START + GROUP_WAIT)
    assert told() == ["Firing: “Too hot”, 100 groups"]
    message = Delivery.objects.filter(channel="email").get()
    assert (message.target, message.payload["counts"]["new"]) == ("ana@example.org", 100)
    assert len(message.payload["firing"]) == 20
    assert "and 80 more" in body(message.payload)


def test_what_follows_waits_for_the_interval(alert: Alert) -> None:
    first = fires(alert, "a", START)
    tell(START + GROUP_WAIT)
    for number in range(30):
        recovers(fires(alert, f"b{number}", START + MINUTE), START + 2 * MINUTE)
        tell(START + MINUTE + timedelta(seconds=number))
    recovers(first, START + 2 * MINUTE)
    tell(START + 5 * MINUTE)
    assert told() == ["Firing: “Too hot”, a"]
    tell(START + GROUP_WAIT + 5 * MINUTE)
    assert told() == ["Firing: “Too hot”, a", "Recovered: “Too hot”, 31 groups"]


def test_what_goes_on_is_repeated_until_it_is_acknowledged(alert: Alert, ana: User) -> None:
    fires(alert, "a", START)
    tell(START + GROUP_WAIT)
    tell(START + timedelta(hours=4))
    tell(START + timedelta(hours=4, seconds=5))
    tell(START + timedelta(hours=5))
    assert told()[1:] == ["Still firing: “Too hot”"]
    assert actions.acknowledge(alert, ana) == 1
    tell(START + timedelta(hours=9))
    assert len(told()) == 2


def test_a_silence_keeps_quiet_and_what_still_fires_is_told_at_its_end(alert: Alert, ana: User) -> None:
    kept = actions.silence(alert, ana, timedelta(hours=1), "maintenance")
    fires(alert, "a", START)
    over = fires(alert, "b", START)
    recovers(over, START + MINUTE)
    tell(START + 10 * MINUTE)
    assert told() == []
    tell(kept.until + MINUTE)
    assert told() == ["Firing: “Too hot”, a"]


def test_one_group_can_be_silenced(alert: Alert, ana: User) -> None:
    actions.silence(alert, ana, timedelta(hours=1), group=["a"])
    fires(alert, "a", START)
    fires(alert, "b", START)
    tell(START + GROUP_WAIT)
    assert told() == ["Firing: “Too hot”, b"]
    assert actions.end_silences(alert) == 1
    tell(timezone.now() + 10 * MINUTE)
    assert told()[1:] == ["Firing: “Too hot”, a"]


def test_a_firing_that_was_taken_up_before_it_was_told_is_not_told(alert: Alert, ana: User) -> None:
    fires(alert, "a", START)
    actions.acknowledge(alert, ana)
    tell(START + MINUTE)
    assert told() == []


def test_an_alert_without_addresses_is_for_the_pages_alone(make_alert: MakeAlert) -> None:
    alert = make_alert()
    Evaluation.objects.create(alert=alert)
    fires(alert, "a", START)
    tell(START + MINUTE)
    assert not Delivery.objects.exists()
    assert not Firing.objects.filter(untold=True).exists()


def test_old_history_goes(alert: Alert) -> None:
    recovers(fires(alert, "a", START), START)
    fires(alert, "b", START)
    tidy(START + timedelta(days=91))
    assert [one.group for one in Firing.objects.all()] == [["b"]]


@given(
    st.lists(st.tuples(st.integers(0, 600), st.booleans()), max_size=60),
    st.integers(10, 600),
)
def test_messages_are_never_closer_than_the_interval(looks: list[tuple[int, bool]], interval: int) -> None:
    policy = Policy(timedelta(seconds=interval), timedelta(hours=4))
    now, told_at, news, sent = START, None, None, []
    for seconds, happens in looks:
        now += timedelta(seconds=seconds)
        news = news or (now if happens else None)
        if due(policy, news, told_at, False, now):
            assert news is not None
            assert now - news >= GROUP_WAIT
            sent.append(now)
            told_at, news = now, None
    assert all(after - before >= policy.interval for before, after in pairwise(sent))
