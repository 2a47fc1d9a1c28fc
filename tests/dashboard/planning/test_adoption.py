"""When a query joined the plan: known while it may still warm up, and not after."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning import service
from dashboard.planning.adoption import joined_at

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)

pytestmark = pytest.mark.django_db


def planned(source: Source, age: timedelta) -> datetime:
    """A new plan of all queries as they are, made `age` ago."""
    version = service.replan(source, "a test")
    PlanVersion.objects.filter(pk=version.pk).update(created_at=NOW - age)
    return NOW - age


@pytest.fixture
def five_minutes(sensors: Source, ana: User) -> SavedQuery:
    return SavedQuery.objects.create(
        source=sensors,
        owner=ana,
        name="Long",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "5m", "slide": "10s"}],
    )


def test_the_first_plan_of_a_source_reads_the_past(sensors: Source, hot: SavedQuery) -> None:
    planned(sensors, timedelta(seconds=10))
    assert joined_at(sensors, hot.queries(), NOW_MS) == {}


def test_a_query_that_came_later_joined_with_its_plan(sensors: Source, hot: SavedQuery) -> None:
    planned(sensors, timedelta(hours=2))
    late = SavedQuery.objects.create(
        source=sensors,
        name="Late",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "5m", "slide": "10s"}],
    )
    joined = planned(sensors, timedelta(minutes=2))
    planned(sensors, timedelta(minutes=1))  # another plan that keeps it changes nothing
    expected = {query.id: int(joined.timestamp() * 1000) for query in late.queries()}
    assert joined_at(sensors, late.queries(), NOW_MS) == expected
    assert joined_at(sensors, hot.queries(), NOW_MS) == {}


def test_a_query_that_had_time_to_warm_up_is_settled(
    sensors: Source, hot: SavedQuery, five_minutes: SavedQuery
) -> None:
    SavedQuery.objects.filter(pk=five_minutes.pk).update(deleted_at=NOW)
    planned(sensors, timedelta(hours=2))
    SavedQuery.with_deleted.filter(pk=five_minutes.pk).update(deleted_at=None)
    planned(sensors, timedelta(minutes=10))
    assert joined_at(sensors, five_minutes.queries(), NOW_MS) == {}


def test_a_query_that_left_and_came_back_begins_anew(
    sensors: Source, hot: SavedQuery, five_minutes: SavedQuery
) -> None:
    planned(sensors, timedelta(hours=2))
    SavedQuery.objects.filter(pk=five_minutes.pk).update(deleted_at=NOW)
    planned(sensors, timedelta(minutes=3))
    SavedQuery.with_deleted.filter(pk=five_minutes.pk).update(deleted_at=None)
    back = planned(sensors, timedelta(minutes=1))
    assert joined_at(sensors, five_minutes.queries(), NOW_MS) == {
        query.id: int(back.timestamp() * 1000) for query in five_minutes.queries()
    }
