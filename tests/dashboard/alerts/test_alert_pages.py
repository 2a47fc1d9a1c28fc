"""The pages of alerts: list, form with its preview, one alert's page, silence and acknowledgement."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from dashboard.alerts import kept
from dashboard.alerts.actions import silence
from dashboard.alerts.models import Alert, Delivery, Evaluation, Firing, Seat, Silence, group_key
from dashboard.models import SavedQuery
from streaming.security import unseal
from streaming.topics import Topics
from tests.dashboard.alerts.conftest import MakeAlert, Stream, send

FORM: dict[str, Any] = {"name": "Too hot", "condition": "above", "threshold": "80", "interval": "5m"}


@pytest.fixture(autouse=True)
def mail_and_no_private_hooks(settings: LazySettings) -> None:
    settings.MAILS = True
    settings.WEBHOOK_NETWORKS = []


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def fired(alert: Alert, group: str = "a", **more: Any) -> Firing:
    now = timezone.now()
    place = {"group": [group], "group_key": group_key([group]), "since": now, "fired_at": now, "value": 91.5}
    Evaluation.objects.update_or_create(alert=alert, defaults={"state": "firing", "firing": 1})
    return Firing.objects.create(alert=alert, **{**place, **more})


def test_without_alerts_the_list_says_what_to_do(as_ana: Client, hot: SavedQuery) -> None:
    told = page(as_ana, "/alerts/")
    assert "No alerts yet." in told
    assert "one of 1 query" in told
    assert "Hot devices" in page(as_ana, "/alerts/new/")


def test_without_queries_too(as_ana: Client) -> None:
    assert "An alert watches a query: define one first." in page(as_ana, "/alerts/")
    assert "An alert watches a query: define one first." in page(as_ana, "/alerts/new/")


def test_an_alert_is_saved_as_it_was_typed(as_ana: Client, ana: User, hot: SavedQuery) -> None:
    typed = {
        **FORM,
        "query": hot.key,
        "window": "5m/10s",
        "condition": "outside",
        "threshold": "-5",
        "upper": "40.5",
        "margin": "1",
        "hold": "2m",
        "emails": "ana@example.org; bo@example.org",
        "webhook": "https://example.org/hook",
        "webhook_secret": " reeds ",
        "repeat": "",
    }
    answer = as_ana.post("/alerts/new/", typed)
    alert = Alert.objects.get()
    assert answer.url == f"/alerts/{alert.key}/"
    assert (alert.owner, alert.query, alert.computation, alert.window) == (ana, hot, "max(temp)", "5m/10s")
    assert (alert.threshold, alert.upper, alert.margin, alert.hold) == (-5.0, 40.5, 1.0, 120_000)
    assert (alert.addresses, alert.repeat) == (["ana@example.org", "bo@example.org"], 0)
    assert unseal(alert.sealed_secret) == " reeds "
    told = page(as_ana, f"/alerts/{alert.key}/")
    assert "outside −5 to 40.5 for 2 m, ok again from −4 to 39.5" in told
    assert "reeds" not in page(as_ana, f"/alerts/{alert.key}/edit/")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": ""}, "Give the alert a name."),
        ({"computation": "min(temp)"}, "The query does not compute “min(temp)”"),
        ({"window": "1h/1h"}, "The query has no window “1h/1h”"),
        ({"condition": "odd"}, "Choose a condition: above, below"),
        ({"threshold": ""}, "Give a number, such as 80."),
        ({"threshold": "many"}, "“many” is not a number."),
        ({"threshold": "inf"}, "“inf” is not a number."),
        ({"margin": "-1"}, "Give zero or more: it is a distance."),
        ({"hold": "soon"}, "“soon” is not a duration"),
        ({"condition": "no_data", "hold": ""}, "Say for how long no data may come, such as 5m."),
        ({"condition": "between", "upper": "70"}, "The upper number is below the lower one: swap them."),
        ({"condition": "outside", "upper": "90", "margin": "6"}, "It would never be ok again"),
        ({"condition": "change", "threshold": "0", "within": "1m"}, "Give a change above zero"),
        ({"condition": "change", "within": ""}, "Say within how long it changes, such as 10m."),
        ({"condition": "change", "within": "2h"}, "At most 1h23m20s here"),
        ({"emails": "ana@"}, "“ana@” is not an e-mail address."),
        ({"webhook": "ftp://example.org"}, "Give the address as https://host/path."),
        (
            {"webhook": "http://10.0.0.8/", "webhook_secret": "x"},
            "Webhooks may not go to the private network",
        ),
        ({"webhook": "https://example.org/"}, "Give a secret: what is sent is signed with it."),
        ({"webhook": "https://a:b@example.org/", "webhook_secret": "x"}, "Leave the name and password out"),
        ({"interval": "often"}, "“often” is not a duration"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(
    as_ana: Client, hot: SavedQuery, wrong: dict[str, str], sentence: str
) -> None:
    answer = as_ana.post("/alerts/new/", {**FORM, "query": hot.key, **wrong})
    assert answer.status_code == 422
    assert escape(sentence) in answer.content.decode()
    assert not Alert.objects.exists()


def test_texts_are_no_numbers(as_ana: Client, hot: SavedQuery) -> None:
    hot.computations = [{"aggregate": "last", "field": "device"}]
    hot.save()
    answer = as_ana.post("/alerts/new/", {**FORM, "query": hot.key})
    assert "is no number: an alert needs one." in answer.content.decode()


def test_a_mail_address_needs_a_mail_server(as_ana: Client, hot: SavedQuery, settings: LazySettings) -> None:
    settings.MAILS = False
    answer = as_ana.post("/alerts/new/", {**FORM, "query": hot.key, "emails": "ana@example.org"})
    assert "This Millrace has no mail server" in answer.content.decode()


def test_another_rule_begins_anew_and_another_name_does_not(as_ana: Client, make_alert: MakeAlert) -> None:
    alert = make_alert(webhook="https://example.org/", sealed_secret="kept")
    before = alert.changed_at
    edited = {**FORM, "name": "Hotter", "webhook": "https://example.org/", "per_group": "on"}
    as_ana.post(f"/alerts/{alert.key}/edit/", edited)
    alert.refresh_from_db()
    assert (alert.name, alert.changed_at, alert.sealed_secret) == ("Hotter", before, "kept")
    as_ana.post(f"/alerts/{alert.key}/edit/", {**edited, "threshold": "85"})
    alert.refresh_from_db()
    assert alert.changed_at > before


def test_only_the_owner_and_administrators_change_an_alert(
    as_bo: Client, bo: User, make_alert: MakeAlert
) -> None:
    alert = make_alert()
    for what in ("edit", "pause", "test"):
        answer = as_bo.post(f"/alerts/{alert.key}/{what}/", FORM)
        assert answer.status_code == 403, what
        assert "You may not change this alert. Ana owns it." in answer.content.decode()
    assert "Delete" not in page(as_bo, f"/alerts/{alert.key}/")
    bo.is_staff = True
    bo.save()
    assert as_bo.post(f"/alerts/{alert.key}/pause/").status_code == 302


def test_the_list_has_what_fires_first(as_ana: Client, make_alert: MakeAlert) -> None:
    make_alert(name="Calm")
    paused = make_alert(name="Asleep", paused_at=timezone.now())
    fired(make_alert(name="Warm"))
    broken = make_alert(name="Broken")
    Evaluation.objects.create(alert=broken, problem="Its query no longer computes this.")
    told = page(as_ana, "/alerts/")
    order = sorted(("Calm", "Asleep", "Warm", "Broken"), key=lambda name: told.index(f">{name}</a>"))
    assert order == ["Warm", "Broken", "Calm", "Asleep"]
    assert "1 firing" in told
    assert "Its query no longer computes this." in told
    assert paused.name not in page(as_ana, "/alerts/?q=warm")
    assert "No alert matches “zebra”." in page(as_ana, "/alerts/?q=zebra")


def test_that_nobody_evaluates_is_said(as_ana: Client, make_alert: MakeAlert) -> None:
    make_alert()
    assert "Alerts are not evaluated." in page(as_ana, "/alerts/")
    Seat.objects.create(pk=1, until=timezone.now().timestamp() + 10)
    assert "Alerts are not evaluated." not in page(as_ana, "/alerts/")


def test_whoever_is_on_duty_acknowledges_and_silences(as_bo: Client, bo: User, make_alert: MakeAlert) -> None:
    alert = make_alert()
    first, _ = fired(alert, "a"), fired(alert, "b")
    as_bo.post(f"/alerts/{alert.key}/acknowledge/", {"firing": first.pk})
    assert Firing.objects.get(acknowledged_at__isnull=False) == first
    as_bo.post(f"/alerts/{alert.key}/acknowledge/")
    assert not Firing.objects.filter(acknowledged_by__isnull=True).exists()
    told = as_bo.post(f"/alerts/{alert.key}/silence/", {"duration": "2h", "firing": first.pk}, follow=True)
    assert "Silenced “Too hot”, a: nobody is told." in told.content.decode()
    silence = Silence.objects.get()
    assert (silence.group, silence.person) == (["a"], bo)
    assert timedelta(hours=1, minutes=59) < silence.until - timezone.now() < timedelta(hours=2)
    as_bo.post(f"/alerts/{alert.key}/silences/{silence.pk}/end/")
    assert not alert.silences.filter(until__gt=timezone.now()).exists()


def test_a_silence_needs_a_time(as_ana: Client, make_alert: MakeAlert) -> None:
    alert = make_alert()
    for wrong in ("", "long", "10000d"):
        as_ana.post(f"/alerts/{alert.key}/silence/", {"duration": wrong})
    assert not Silence.objects.exists()


def test_the_page_of_an_alert_has_its_history(as_ana: Client, make_alert: MakeAlert) -> None:
    alert = make_alert()
    fired(alert, "loud")
    fired(alert, "gone", resolved_at=timezone.now(), last_value=60.0, reason="no more results")
    Evaluation.objects.filter(alert=alert).update(
        pending=1, pending_groups=[{"group": ["soon"], "since": 1_000, "value": 82.25}]
    )
    told = page(as_ana, f"/alerts/{alert.key}/")
    for expected in ("loud", "91.5", "gone", "no more results", "soon", "82.25", "nobody yet"):
        assert expected in told


def test_alerts_of_who_has_left_are_there(as_bo: Client, ana: User, make_alert: MakeAlert) -> None:
    alert = make_alert()
    acknowledged = {"acknowledged_at": timezone.now(), "acknowledged_by": ana}
    fired(alert, **acknowledged)
    fired(alert, "gone", resolved_at=timezone.now(), **acknowledged)
    silence(alert, ana, timedelta(hours=1))
    ana.delete()
    assert "Too hot" in page(as_bo, "/alerts/")
    assert page(as_bo, f"/alerts/{alert.key}/").count("Someone who has left") == 4


def test_deleting_can_be_undone(as_ana: Client, make_alert: MakeAlert) -> None:
    alert = make_alert()
    told = as_ana.post(f"/bin/alert/delete/?key={alert.key}", follow=True).content.decode()
    assert "Deleted “Too hot”." in told
    assert f"/bin/alert/restore/?key={alert.key}" in told
    assert as_ana.get(f"/alerts/{alert.key}/").status_code == 404
    as_ana.post(f"/bin/alert/restore/?key={alert.key}")
    assert "Too hot" in page(as_ana, "/alerts/")


def test_a_test_message_goes_to_every_address(as_ana: Client, make_alert: MakeAlert) -> None:
    alert = make_alert()
    told = as_ana.post(f"/alerts/{alert.key}/test/", follow=True).content.decode()
    assert "Nothing sent: the alert has no e-mail address and no webhook." in told
    Alert.objects.update(emails="ana@example.org", webhook="https://example.org/")
    as_ana.post(f"/alerts/{alert.key}/test/")
    assert {one.channel for one in Delivery.objects.all()} == {"email", "webhook"}


def test_the_page_of_a_query_has_its_alerts(as_ana: Client, make_alert: MakeAlert, hot: SavedQuery) -> None:
    assert "No alerts yet." in page(as_ana, f"/queries/{hot.key}/")
    alert = make_alert()
    assert "Nothing has fired in the last 90 days." in page(as_ana, f"/queries/{hot.key}/")
    fired(alert, "loud")
    told = page(as_ana, f"/queries/{hot.key}/")
    for expected in ("Too hot", "above 80", "Newest firings", "loud", "91.5", "still fires"):
        assert expected in told


def test_the_preview_says_how_often_it_would_have_fired(
    as_ana: Client, hot: SavedQuery, broker: str, topics: Topics, stream: Stream
) -> None:
    values = [(81, 70), (79, 70), (85, 99), (70, 70)]
    send(broker, topics, *(stream.next(a=a, b=b) for a, b in values))
    typed = {**FORM, "query": hot.key}
    told = as_ana.post("/alerts/preview/", typed).content.decode()
    assert "max of temp, 1m every 10s: above 80" in told
    assert "Would have fired 3 times in the last minute, in 2 groups." in told
    calm = as_ana.post("/alerts/preview/", {**typed, "margin": "2"}).content.decode()
    assert "Would have fired twice in the last minute, in 2 groups." in calm
    none = as_ana.post("/alerts/preview/", {**typed, "threshold": "100"}).content.decode()
    assert "Would not have fired in the last minute." in none
    assert as_ana.post("/alerts/preview/", {**typed, "threshold": ""}).status_code == 204


def test_the_preview_says_that_kafka_is_away(as_ana: Client, hot: SavedQuery, settings: LazySettings) -> None:
    settings.KAFKA_BOOTSTRAP = "127.0.0.1:1"
    kept._known.clear()
    told = as_ana.post("/alerts/preview/", {**FORM, "query": hot.key}).content.decode()
    assert "Kafka cannot be reached" in told
