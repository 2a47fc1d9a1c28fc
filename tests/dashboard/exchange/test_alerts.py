"""Alerts, and how long results are kept, in files of `export`: back as they were, without secrets."""

import re
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.exchange.reading import UnreadableFile, take
from dashboard.exchange.writing import exported
from dashboard.models import Alert, AuditEntry, HistoryPolicy, SavedQuery
from streaming.security import seal, unseal

pytestmark = pytest.mark.django_db
SECRET = "reeds-in-the-race"


@pytest.fixture
def too_hot(hot: SavedQuery, ana: User) -> Alert:
    return Alert.objects.create(
        key="too-hot",
        query=hot,
        name="Too hot",
        computation="max(temp)",
        window="1m/10s",
        condition="between",
        threshold=80.5,
        upper=120,
        hold=300_000,
        emails="ana@example.org",
        webhook="https://example.org/hook",
        sealed_secret=seal(SECRET),
        paused_at=timezone.now(),
        owner=ana,
    )


def changed(**change: Any) -> str:
    content = yaml.safe_load(exported())
    content["alerts"][0] |= change
    return yaml.safe_dump(content, allow_unicode=True)


def test_an_alert_comes_back_as_it_was_but_for_its_secret(too_hot: Alert) -> None:
    text = exported()
    assert SECRET not in text
    assert too_hot.sealed_secret not in text
    assert take(text).counts["alerts"] == {"same": 1}
    Alert.with_deleted.all().delete()
    taken = take(text)
    assert taken.counts["alerts"] == {"added": 1}
    assert taken.notes == [
        "“Too hot” mails nobody here. "
        "This Millrace has no mail server: the administrator sets MILLRACE_EMAIL_URL.",
        "“Too hot” has no secret here: type it on the page of the alert.",
    ]
    assert exported() == text
    entries = AuditEntry.objects.count()
    assert take(text).counts["alerts"] == {"same": 1}
    assert AuditEntry.objects.count() == entries


def test_what_was_changed_in_the_file_is_changed_and_the_secret_stays(too_hot: Alert) -> None:
    text = changed(threshold="90", paused=False)
    assert take(text, dry_run=True).counts["alerts"] == {"changed": 1}
    assert Alert.objects.get().threshold == 80.5
    assert take(text).counts["alerts"] == {"changed": 1}
    alert = Alert.objects.get()
    assert (alert.threshold, alert.paused_at, alert.hold) == (90.0, None, 300_000)
    assert alert.changed_at > too_hot.changed_at
    assert unseal(alert.sealed_secret) == SECRET
    assert take(text).counts["alerts"] == {"same": 1}


def test_a_deleted_alert_is_brought_back(too_hot: Alert) -> None:
    text = exported()
    Alert.objects.update(deleted_at=timezone.now())
    assert take(text).counts["alerts"] == {"added": 1}
    assert Alert.objects.get().key == "too-hot"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"condition": "between", "upper": "x"}, "upper: “x” is not a number."),
        ({"query": "gone"}, "query: There is no query “gone”."),
        ({"webhook_secret": "x"}, "webhook_secret: There is no “webhook_secret” here."),
        ({"window": "9m"}, "window: The query has no window “9m”: choose one of 1m/10s, 5m/10s."),
    ],
)
def test_a_mistake_is_named_and_nothing_is_taken(
    too_hot: Alert, change: dict[str, Any], sentence: str
) -> None:
    text = changed(name="Other", **change)
    with pytest.raises(UnreadableFile) as refused:
        take(text)
    assert re.fullmatch(rf"Line \d+, alert “Other”, {re.escape(sentence)}", str(refused.value))
    assert Alert.objects.get().name == "Too hot"


def test_an_alert_stays_with_its_query(too_hot: Alert, hot: SavedQuery) -> None:
    hot.pk, hot.key = None, "other"
    hot.save()
    with pytest.raises(UnreadableFile, match="An alert stays with its query"):
        take(changed(query="other"))


def test_how_long_results_are_kept_is_in_the_file(hot: SavedQuery) -> None:
    policy = HistoryPolicy.objects.create(query=hot, detail_days=3, kept_days=30)
    text = exported()
    assert take(text).counts["queries"] == {"same": 1}
    policy.delete()
    assert take(text).counts["queries"] == {"changed": 1}
    assert exported() == text
    wrong = yaml.safe_load(text)
    wrong["queries"][0]["kept_days"] = 4_000
    with pytest.raises(UnreadableFile, match="kept_days: Give a number of days from 1 to 3,650"):
        take(yaml.safe_dump(wrong, allow_unicode=True))
