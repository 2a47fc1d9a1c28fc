"""What is allowed and yet pointed out: names that are there already, windows that skip events."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.levels import NOTHING
from dashboard.models import Alert, Board, SavedQuery, Source
from tests.dashboard.queries.test_query_pages import TYPED

SKIPS = "10 s every 1 m skips events: those of 50 s of every 1 m are in no window."


def test_a_query_of_the_same_name_is_linked_and_saved(as_ana: Client, hot: SavedQuery) -> None:
    link = f'<a href="/queries/{hot.key}/">Hot devices</a>'
    assert link in as_ana.post("/queries/preview/", {**TYPED, "name": "hot devices"}).content.decode()
    page = as_ana.post("/queries/new/", {**TYPED, "name": "Hot devices"}, follow=True).content.decode()
    assert f"Another query has the same name: {link}." in page
    assert SavedQuery.objects.count() == 2
    again = as_ana.post(f"/queries/{hot.key}/edit/", {**TYPED, "name": "Alone"}, follow=True)
    assert "Another query" not in again.content.decode()


def test_dashboards_and_alerts_of_the_same_name_are_linked(
    as_ana: Client, hot: SavedQuery, ana: User
) -> None:
    Board.objects.create(slug="wall", name="Wall", owner=ana)
    page = as_ana.post("/dashboards/new/", {"name": "wall"}, follow=True).content.decode()
    assert 'Another dashboard has the same name: <a href="/dashboards/wall/">Wall</a>.' in page
    alert = {"query": hot.key, "name": "Too hot", "condition": "above", "threshold": "3"}
    for _ in range(2):
        page = as_ana.post("/alerts/new/", {**alert, "interval": "5m", "repeat": "4h"}, follow=True)
    assert Alert.objects.count() == 2
    assert "Another alert has the same name: <a href=" in page.content.decode()


def test_a_name_that_is_hidden_is_not_told(as_ana: Client, as_bo: Client, hot: SavedQuery) -> None:
    Source.objects.update(for_all=NOTHING)
    page = as_bo.post("/queries/preview/", {**TYPED, "name": "Hot devices"}).content.decode()
    assert "Another query" not in page


@pytest.mark.parametrize("windows", ["10s every 1m", "10s every 1m, 5m every 10s"])
def test_a_window_that_skips_events_says_so(as_ana: Client, sensors: Source, windows: str) -> None:
    typed = {**TYPED, "windows": windows}
    previewed = as_ana.post("/queries/preview/", typed).content.decode()
    assert previewed.count(SKIPS) == 2, "beside the windows, and above the preview"
    saved = as_ana.post("/queries/new/", typed, follow=True).content.decode()
    assert SKIPS in saved
    query = SavedQuery.objects.get()
    assert SKIPS in as_ana.get(f"/queries/{query.key}/edit/").content.decode()


def test_windows_that_leave_nothing_out_say_nothing(as_ana: Client, sensors: Source) -> None:
    typed = {**TYPED, "windows": "1m every 10s; 1m; gap 30s; 100 events every 10"}
    assert "skips events" not in as_ana.post("/queries/preview/", typed).content.decode()


def test_the_api_notes_both(as_ana: Client, hot: SavedQuery) -> None:
    sent = {"source": "sensors", "name": "Hot devices", "windows": "10s every 1m", "computations": []}
    sent["computations"] = [{"aggregate": "count"}]
    made = as_ana.post("/api/queries", sent, content_type="application/json").json()
    assert made["note"].endswith(f"Another query has the same name. {SKIPS}")
    changed = as_ana.patch(
        f"/api/queries/{made['key']}", {"name": "Mine", "windows": "1m"}, content_type="application/json"
    )
    assert "Another" not in (changed.json()["note"] or "") and SKIPS not in (changed.json()["note"] or "")
