"""A page says how many groups and which windows of a query it wants; the server chooses the greatest."""

from typing import Any

import pytest

from dashboard.live.feed import QueryFeed, WatchedQuery, Wish
from dashboard.live.hub import Arrivals, Hub
from dashboard.models import SavedQuery
from tests.dashboard.live.messages import arrived, block

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("said", "wish"),
    [
        (None, Wish()),
        ({"groups": 50, "windows": ["", "5m every 10s"]}, Wish(50, ("", "5m every 10s"))),
        ({"groups": 5_000}, Wish(50)),
        ({"groups": -1}, Wish(1)),
        ({"groups": "many", "windows": "all"}, Wish()),
        ([], Wish()),
    ],
)
def test_what_a_browser_says_is_bounded(said: Any, wish: Wish) -> None:
    assert Wish.heard(said) == wish


def test_of_thousands_of_groups_the_greatest_are_sent(hot: SavedQuery) -> None:
    hub = Hub()
    values = {(f"d{number}",): float(number) for number in range(3_000)}
    hub.take(Arrivals(blocks=[block(60_000, values, query=f"{hot.key}@1m/10s")]))
    (message,) = arrived([QueryFeed(WatchedQuery.of(hot, 0, Wish(20)), hub).next_message() or {}])
    assert [one["group"] for one in message["series"]] == [
        [f"d{number}"] for number in range(2_999, 2_979, -1)
    ]
    assert message["groups"] == 3_000


def test_a_query_by_groups_shows_its_first_window_or_those_wished_for(hot: SavedQuery) -> None:
    def windows(*wished: str) -> list[str]:
        return [window.words for window in WatchedQuery.of(hot, 0, Wish(8, wished)).windows]

    assert windows("") == ["1m every 10s"]
    assert windows("5m every 10s") == ["5m every 10s"]
    assert windows("5m every 10s", "") == ["1m every 10s", "5m every 10s"]
    assert windows("9m every 1m") == ["1m every 10s"], "one that is no more"
