"""What live pages hear of alerts."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.alerts.actions import acknowledge, end_silences, silence
from dashboard.alerts.bells import Bells, listen
from dashboard.alerts.models import Evaluation, Firing, group_key
from dashboard.live.hub import Hub
from dashboard.live.viewer import Viewer
from dashboard.models import Alert, SavedQuery
from tests.dashboard.alerts.conftest import MakeAlert

NOW = timezone.now()


def fires(alert: Alert, group: str, ago: timedelta, ended: timedelta | None = None) -> None:
    at = NOW - ago
    Firing.objects.create(
        alert=alert,
        group=[group],
        group_key=group_key([group]),
        since=at,
        fired_at=at,
        value=83.1,
        resolved_at=None if ended is None else NOW - ended,
    )


def mark(alert: Alert, what: str, at: int, until: int | None, text: str) -> dict[str, object]:
    return {"alert": alert.key, "what": what, "time": at, "until": until, "text": text}


def test_what_fires_is_told_and_marked_on_its_query(make_alert: MakeAlert, hot: SavedQuery) -> None:
    alert = make_alert()
    Evaluation.objects.create(alert=alert, state="firing", firing=2)
    make_alert(name="Calm")
    minute = timedelta(minutes=1)
    for group in ("a", "b"):
        fires(alert, group, 5 * minute)
    fires(alert, "c", 20 * minute, ended=10 * minute)
    fires(alert, "old", 40 * minute, ended=30 * minute)
    told = listen(NOW).message({hot.key}, {"sensors"})
    at = {ago: int((NOW - ago * minute).timestamp() * 1000) for ago in (5, 10, 20)}
    assert told["firing"] == 1
    assert told["alerts"][alert.key]["newest"] == at[5]
    assert told["marks"][hot.key] == [
        mark(alert, "fires", at[20], at[10], "Too hot fires: c, 83.1"),
        mark(alert, "recovers", at[10], at[10], "Too hot recovers: c"),
        mark(alert, "fires", at[5], None, "Too hot fires: 2 groups"),
    ]
    assert listen(NOW).message(set(), set())["marks"] == {}


def heard(alert: Alert) -> tuple[int, int]:
    """How many groups fire, and of how many of them people are told."""
    told = listen(timezone.now()).alerts[alert.key]
    return told["firing"], told["audible"]


def test_what_is_silenced_or_taken_up_is_shown_and_nobody_is_told(make_alert: MakeAlert, ana: User) -> None:
    alert, other = make_alert(), make_alert(name="Other")
    for one in (alert, other):
        Evaluation.objects.create(alert=one, state="firing", firing=2)
        fires(one, "a", timedelta(minutes=2))
        fires(one, "b", timedelta(minutes=1))
    hour = timedelta(hours=1)
    assert heard(alert) == (2, 2)
    silence(alert, ana, hour, group=["b"])
    assert heard(alert) == (2, 1)
    two_minutes_ago = int((NOW - timedelta(minutes=2)).timestamp() * 1000)
    assert listen(NOW).alerts[alert.key]["newest"] == two_minutes_ago
    silence(alert, ana, hour)
    assert heard(alert) == (2, 0)
    assert heard(other) == (2, 2)
    end_silences(alert)
    assert heard(alert) == (2, 2), "what still fires at the end is told then"
    acknowledge(alert, ana)
    assert heard(alert) == (2, 0)


def test_a_viewer_is_told_when_something_changed_and_only_then(make_alert: MakeAlert) -> None:
    hub = Hub()
    viewer = Viewer(hub)
    viewer.may_name = {"sensors"}

    def alerts_told() -> list[int]:
        return [one["firing"] for one in viewer.news(0) if one["type"] == "alerts"]

    assert alerts_told() == [0], "what fires later is new to the page"
    assert alerts_told() == []
    Evaluation.objects.create(alert=make_alert(), state="firing", firing=2)
    hub.bells = listen(NOW)
    assert alerts_told() == [1]
    assert alerts_told() == []
    hub.bells = listen(NOW)  # another look, and the same
    assert alerts_told() == []
    hub.bells = Bells()
    assert alerts_told() == [0]


def test_who_may_not_see_a_source_hears_nothing_of_its_alerts(make_alert: MakeAlert, hot: SavedQuery) -> None:
    Evaluation.objects.create(alert=make_alert(), state="firing", firing=2)
    assert listen(NOW).message({hot.key}, {"sensors"})["firing"] == 1
    told = listen(NOW).message(set(), {"another"})
    assert (told["firing"], told["alerts"]) == (0, {})
