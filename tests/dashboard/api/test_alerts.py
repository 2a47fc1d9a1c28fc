"""Alerts over the API: the same things, in the same words."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from dashboard.alerts.models import Alert, Firing, Silence, group_key
from dashboard.models import SavedQuery
from tests.dashboard.api.conftest import Ask

SENT: dict[str, Any] = {"name": "Too hot", "condition": "above", "threshold": "80"}


@pytest.fixture
def too_hot(hot: SavedQuery, ana: User) -> Alert:
    place = {"computation": "max(temp)", "window": "1m/10s"}
    return Alert.objects.create(
        query=hot, name="Too hot", condition="above", threshold=80.0, owner=ana, **place
    )


def test_an_alert_is_added_changed_paused_deleted_and_brought_back(
    ask: Ask,
    hot: SavedQuery,
) -> None:
    secret = {"webhook": "https://example.org/hook", "webhook_secret": "reeds"}
    made = ask("post", "alerts", {**SENT, "query": hot.key, "hold": "5m", **secret})
    assert made.status_code == 201
    told = made.json()
    assert (told["words"], told["state"], told["owner"]) == ("above 80 for 5 m", "ok", "ana")
    assert told["has_secret"]
    assert "reeds" not in made.content.decode()
    address = f"alerts/{told['key']}"
    changed = ask("patch", address, {"threshold": "85.5"}).json()
    assert (changed["threshold"], changed["hold"], changed["has_secret"]) == ("85.5", "5m", True)
    assert ask("post", f"{address}/pause").json()["state"] == "paused"
    assert ask("post", f"{address}/resume").json()["state"] == "ok"
    assert ask("get", f"alerts?query={hot.key}").json()["count"] == 1
    assert ask("get", "alerts?query=other").json()["count"] == 0
    assert ask("delete", address).json()["kind"] == "alert"
    assert ask("get", address).json() == {"problem": f"There is no alert “{told['key']}”."}
    assert ask("post", f"{address}/restore").json()["name"] == "Too hot"


def test_firings_are_listed_acknowledged_and_silenced(
    ask_as_bo: Ask,
    bo: User,
    too_hot: Alert,
) -> None:
    alert, now = too_hot, timezone.now()
    for group in ("a", "b"):
        Firing.objects.create(
            alert=alert, group=[group], group_key=group_key([group]), since=now, fired_at=now, value=90.0
        )
    address = f"alerts/{alert.key}"
    listed = ask_as_bo("get", f"{address}/firings").json()
    assert (listed["count"], {one["group"][0] for one in listed["items"]}) == (2, {"a", "b"})
    first = listed["items"][0]["id"]
    assert ask_as_bo("post", f"{address}/acknowledge", {"firing": first}).json() == {"count": 1}
    assert ask_as_bo("post", f"{address}/acknowledge", {}).json() == {"count": 1}
    silenced = ask_as_bo("post", f"{address}/silence", {"duration": "2h", "group": ["a"]})
    assert silenced.status_code == 201
    assert Silence.objects.get().group_key == group_key(["a"])
    assert ask_as_bo("post", f"{address}/unsilence").json() == {"count": 1}
    refused = ask_as_bo("post", f"{address}/silence", {"duration": ""})
    assert refused.json() == {"problems": {"duration": "Say for how long, such as 2h."}}


def test_a_test_message_is_sent_and_listed(ask: Ask, ask_as_bo: Ask, too_hot: Alert) -> None:
    address = f"alerts/{too_hot.key}"
    nothing = "Nothing sent: the alert has no e-mail address and no webhook."
    assert ask("post", f"{address}/test").json() == {"problems": {"emails": nothing}}
    webhook = {"webhook": "https://example.org/hook", "webhook_secret": "reeds"}
    assert ask("patch", address, webhook).status_code == 200
    assert ask("post", f"{address}/test").json() == {"count": 1}
    (sent,) = ask("get", f"{address}/deliveries").json()["items"]
    assert (sent["channel"], sent["target"]) == ("webhook", "https://example.org/hook")
    assert (sent["attempts"], sent["sent_at"]) == (0, None)
    for method, part in (("get", "deliveries"), ("post", "test")):
        answer = ask_as_bo(method, f"{address}/{part}")
        assert (answer.status_code, "example.org" in answer.content.decode()) == (403, False)


def test_others_may_not_change_it(ask_as_bo: Ask, too_hot: Alert) -> None:
    answer = ask_as_bo("patch", f"alerts/{too_hot.key}", {"name": "Mine"})
    assert answer.status_code == 403
    assert answer.json() == {"problem": "You may not change this alert. Ana owns it."}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"condition": ""}, "condition"),
        ({"threshold": "x"}, "threshold"),
        ({"condition": "between", "upper": ""}, "upper"),
        ({"condition": "change", "within": "soon"}, "within"),
        ({"condition": "no_data"}, "hold"),
        ({"window": "2h/1h"}, "window"),
        ({"emails": "a, b"}, "emails"),
        ({"webhook": "https://127.0.0.1/"}, "webhook"),
        ({"webhook": "https://example.org/"}, "webhook_secret"),
    ],
)
def test_the_api_refuses_what_the_form_refuses(
    ask: Ask,
    as_ana: Client,
    hot: SavedQuery,
    wrong: dict[str, Any],
    field: str,
) -> None:
    sent = {**SENT, "query": hot.key, **wrong}
    answer, page = ask("post", "alerts", sent), as_ana.post("/alerts/new/", sent)
    assert (answer.status_code, page.status_code) == (422, 422)
    problems = answer.json()["problems"]
    assert field in problems
    for sentence in problems.values():
        assert escape(sentence) in page.content.decode()
    assert not Alert.objects.exists()


def test_an_alert_needs_a_query(ask: Ask) -> None:
    answer = ask("post", "alerts", SENT)
    assert answer.json() == {"problems": {"query": "Choose the query that it watches."}}


def test_a_preview_without_kafka_says_so(ask: Ask, hot: SavedQuery) -> None:
    answer = ask("post", "alerts/preview", {**SENT, "query": hot.key})
    assert answer.status_code == 200
    assert answer.json()["rule"] == "max of temp, 1m every 10s: above 80"
    assert "Kafka cannot be reached" in answer.json()["sentence"]
