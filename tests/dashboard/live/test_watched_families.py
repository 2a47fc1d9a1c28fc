"""What a panel is told of a query that computes several things, and of one that is paused."""

from datetime import UTC, datetime

from django.contrib.auth.models import User

from dashboard.live.feed import QueryFeed, WatchedQuery, Wish
from dashboard.live.hub import Hub
from dashboard.models import SavedQuery
from tests.dashboard.live.messages import arrived

NOW = 1_800_000_000_000


def test_series_say_which_computation_they_are_of(hot: SavedQuery) -> None:
    hot.computations = [{"aggregate": "max", "field": "temp"}, {"aggregate": "p95", "field": "temp"}]
    hot.group_by = []
    (message,) = arrived([QueryFeed(WatchedQuery.of(hot, NOW), Hub()).next_message() or {}])
    assert message["computations"] == ["max of temp", "p95 of temp"]
    assert [(one["id"], one["computation"]) for one in message["series"]] == [
        ("1m/10s", "max of temp"),
        ("5m/10s", "max of temp"),
        ("1m/10s p95(temp)", "p95 of temp"),
        ("5m/10s p95(temp)", "p95 of temp"),
    ]


def test_a_grouped_family_shows_the_first_window_of_every_computation(hot: SavedQuery) -> None:
    hot.computations = [{"aggregate": "max", "field": "temp"}, {"aggregate": "count"}]
    watched = WatchedQuery.of(hot, NOW)
    assert [window.id.partition("@")[2] for window in watched.windows] == ["1m/10s", "1m/10s count(*)"]


def test_a_grouped_family_shows_the_window_that_was_chosen_and_says_which_there_are(hot: SavedQuery) -> None:
    watched = WatchedQuery.of(hot, NOW, Wish(windows=("5m every 10s",)))
    assert [window.id.partition("@")[2] for window in watched.windows] == ["5m/10s"]
    message = QueryFeed(watched, Hub()).next_message()
    assert message["choices"] == [["1m every 10s", "1 m"], ["5m every 10s", "5 m"]]


def test_a_panel_is_told_who_paused_its_query_and_when(hot: SavedQuery, ana: User) -> None:
    hot.paused_at, hot.paused_by = datetime(2027, 1, 15, 8, tzinfo=UTC), ana
    message = QueryFeed(WatchedQuery.of(hot, NOW), Hub()).next_message()
    address = hot.get_absolute_url()
    assert message["paused"] == {"by": "Ana", "at": 1_800_000_000_000, "address": address, "why": ""}
