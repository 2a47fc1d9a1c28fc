"""In which trees of which plans a query was of late, as it is defined now; and what pages say of it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.live.hub import Hub
from dashboard.live.meters import process_meters
from dashboard.live.relay import wall_clock
from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning import service
from dashboard.planning.places import places_of
from dashboard.queries import states
from tests.dashboard.live.messages import meter, status

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)

pytestmark = pytest.mark.django_db


def planned(source: Source, age: timedelta) -> PlanVersion:
    version = service.replan(source, "a test")
    PlanVersion.objects.filter(pk=version.pk).update(created_at=NOW - age)
    return version


def trees_of(version: PlanVersion, query: SavedQuery) -> set[tuple[int, str]]:
    own = {one.id for one in query.queries()}
    trees = version.value().all_trees
    return {(version.version, tree.id) for tree in trees if own & {one.id for one in tree.queries}}


def test_a_query_is_in_its_trees_of_every_recent_plan(sensors: Source, hot: SavedQuery, ana: User) -> None:
    long_ago = planned(sensors, timedelta(hours=2))
    there = planned(sensors, timedelta(hours=1))  # the one that was there a quarter of an hour ago
    SavedQuery.objects.create(
        source=sensors,
        owner=ana,
        name="All",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "10s", "slide": "10s"}],
    )
    newest = planned(sensors, timedelta(minutes=1))
    found = places_of([hot], NOW_MS)[hot.key]
    assert found == trees_of(there, hot) | trees_of(newest, hot)
    assert not found & trees_of(long_ago, hot)


def test_what_an_earlier_definition_left_out_is_over(sensors: Source, hot: SavedQuery) -> None:
    planned(sensors, timedelta(minutes=5))
    hot.computations = [{"aggregate": "max", "field": "temp * 2"}]
    hot.save()
    assert places_of([hot], NOW_MS)[hot.key] == frozenset()
    mended = planned(sensors, timedelta(minutes=1))
    assert places_of([hot], NOW_MS)[hot.key] == trees_of(mended, hot)


def test_another_name_is_no_other_definition(sensors: Source, hot: SavedQuery) -> None:
    version = planned(sensors, timedelta(minutes=5))
    hot.name = "Warm devices"
    hot.save()
    assert places_of([hot], NOW_MS)[hot.key] == trees_of(version, hot)


@pytest.fixture
def leaving_out(sensors: Source, hot: SavedQuery, monkeypatch: pytest.MonkeyPatch) -> Iterator[SavedQuery]:
    """A query that runs, of whose values the job has just left three out."""
    version = service.replan(sensors, "a test")
    now = wall_clock()
    work = {"partials": 1, "kernel_steps": 1, "seconds": 0.1, "groups": 1, "results": 1}
    left = work | {"failed_values": 3, "failure": "could not convert 'n/a'"}
    trees = {tree: left for _, tree in trees_of(version, hot)}
    process_meters.add(meter(1, clock=now - 1_000, plan=version.version, trees=trees))  # type: ignore[arg-type]
    hub = Hub(process_meters)
    hub.caught_up = True
    hub.state.broker_reachable(now - 60_000)
    hub.state.observe(status(now, sensors={"state": "running", "since": 0, "error": None}))
    monkeypatch.setattr(states, "process_hub", hub)
    yield hot
    process_meters.keep_only(set())


def test_pages_say_what_a_query_leaves_out(leaving_out: SavedQuery, as_ana: Client) -> None:
    for page in ("/", "/queries/", f"/queries/{leaving_out.key}/"):
        text = as_ana.get(page).content.decode()
        assert "3 values left out in the last 15\u202fmin: could not convert &#x27;n/a&#x27;." in text, page
        assert "Running" in text


def test_the_plans_page_says_it_of_the_tree(leaving_out: SavedQuery, as_ana: Client) -> None:
    source = leaving_out.source
    ((_, tree), *_) = trees_of(PlanVersion.objects.get(source=source), leaving_out)
    assert "3 values left out" in as_ana.get(f"/plan/{source.key}/trees/{tree}/").content.decode()


def test_a_paused_query_leaves_nothing_out(leaving_out: SavedQuery, as_ana: Client) -> None:
    SavedQuery.objects.filter(pk=leaving_out.pk).update(paused_at=datetime.now(UTC))
    assert "values left out" not in as_ana.get("/queries/").content.decode()
