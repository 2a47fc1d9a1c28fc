"""What live pages hear of alerts."""

from datetime import timedelta

from django.utils import timezone

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
        resolved_at=None if ended is None else NOW - ended,
    )


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
    at = {ago: int((NOW - ago * minute).timestamp() * 1000) for ago in (5, 10)}
    assert told["firing"] == 1
    assert told["alerts"][alert.key]["newest"] == at[5]
    assert told["marks"][hot.key] == [
        (at[10], "Too hot recovers", "recovers"),
        (at[5], "Too hot fires, 2 groups", "fires"),
    ]
    assert listen(NOW).message(set(), set())["marks"] == {}


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
