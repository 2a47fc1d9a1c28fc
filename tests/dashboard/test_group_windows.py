"""Count and session windows on the pages: none of them offers these yet, and none stumbles over them."""

import msgspec
import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.live.feed import QueryFeed, WatchedQuery
from dashboard.live.history import WindowHistory
from dashboard.live.hub import Hub
from dashboard.models import SavedQuery, Source
from dashboard.planning import service
from dashboard.queries.drafts import Draft
from dashboard.queries.windows_text import parse_windows, summary, write_windows
from optimizer.queries import CountSpec, InvalidQuery, SessionSpec, WindowSpec
from tests.dashboard.live.messages import arrived, block

GROUP_WINDOWS = [{"count": 100, "every": 10}, {"count": 3, "every": 3}, {"gap": "30s"}]


@pytest.fixture
def visits(sensors: Source, ana: User) -> SavedQuery:
    return SavedQuery.objects.create(
        source=sensors,
        name="Visits",
        computations=[{"aggregate": "mean", "field": "temp"}],
        windows=GROUP_WINDOWS,
        owner=ana,
    )


@pytest.mark.parametrize("beside", [[], [{"range": "1m", "slide": "10s"}]], ids=["alone", "beside others"])
@pytest.mark.django_db
def test_pages_cope_with_them(as_ana: Client, visits: SavedQuery, beside: list[dict[str, str]]) -> None:
    visits.windows = GROUP_WINDOWS + beside
    visits.save()
    version = service.replan(visits.source, "Ana added “Visits”")
    assert len(version.value().group_trees) == 3
    assert version.estimated_throughput
    page = as_ana.get(f"/queries/{visits.key}/").content.decode()
    assert "100 events every 10" in page
    assert "gap 30 s" in page
    trees = [tree.id for tree in version.value().group_trees]
    assert all(f"tree {tree}" in page for tree in trees)
    for address in ("/queries/", "/plan/", "/plan/sensors/estimates/", f"/queries/{visits.key}/edit/"):
        assert as_ana.get(address).status_code == 200
    assert service.preview(visits.source, visits.spec(), replacing=visits).first_result_seconds >= 0


@pytest.mark.django_db
def test_what_is_saved_can_be_edited(visits: SavedQuery) -> None:
    assert Draft.saved(visits).spec().to_json()["windows"] == GROUP_WINDOWS


@pytest.mark.django_db
def test_every_window_is_a_series_of_its_own(visits: SavedQuery) -> None:
    service.replan(visits.source, "")
    hub = Hub()
    watched = WatchedQuery.of(visits, now=0)
    for one in visits.queries():
        hub.history.add(block(60_000, {(): 1.0}, query=one.id))
    (message,) = arrived([QueryFeed(watched, hub).next_message() or {}])
    assert len({series["id"] for series in message["series"]}) == 3
    assert all(series["points"] == [[60_000, 1.0, True]] for series in message["series"])


def test_of_windows_of_a_group_that_end_together_the_last_is_shown() -> None:
    history = WindowHistory()
    told = block(7, {("a",): 1.0, ("also a",): 5.0, ("b",): 3.0}, query="q@2 events/1")
    keys = msgspec.Raw(msgspec.msgpack.encode([("a",), ("a",), ("b",)]))
    history.add(msgspec.structs.replace(told, keys=keys), 1)
    assert history.top(2) == [("a",), ("b",)]
    assert [point.value for point in history.points(("a",))] == [5.0]


def test_text_is_read_and_written() -> None:
    text = "1m, 5m every 10s\n100 events every 10, gap 30s, 7 events every 7"
    windows = parse_windows(text)
    assert windows[2:] == (CountSpec(100, 10), SessionSpec("30s"), CountSpec(7, 7))
    assert write_windows(windows) == text
    assert parse_windows("5m, 3 events, 30s every 10s") == (
        WindowSpec("5m", "10s"),
        CountSpec(3, 3),
        WindowSpec("30s", "10s"),
    )
    assert summary(windows) == ("1 m, 5 m every 10 s; 100 events every 10, gap 30 s, 7 events every 7")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gap", "“” is not a duration: write it as 90s, 5m or 1h30m."),
        ("0 events", "0 events every 0: The size of a count window must be at least one event."),
        ("5 events every 10s", "“5 events” is not a duration: write it as 90s, 5m or 1h30m."),
    ],
)
def test_slips_are_answered_by_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse_windows(text)
    assert refused.value.sentence == sentence
