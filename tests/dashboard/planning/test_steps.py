"""What plans tell of a query: when it joined, while it may still warm up, and what was changed of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries

from dashboard.live.feed import WatchedQuery
from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning import service, steps
from optimizer.queries import AnyQuery

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)

pytestmark = pytest.mark.django_db


def joined_at(queries: Sequence[AnyQuery]) -> dict[str, int]:
    (source,) = Source.objects.all()
    made = steps.steps_of(source, steps.warm_since(queries, source.allowed_lateness, NOW_MS))
    return steps.joined_at(made, queries, source.allowed_lateness, NOW_MS)


def planned(source: Source, age: timedelta, cause: str = "a test") -> datetime:
    """A new plan of all queries as they are, made `age` ago."""
    version = service.replan(source, cause)
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
    assert joined_at(hot.queries()) == {}


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
    assert joined_at(late.queries()) == expected
    assert joined_at(hot.queries()) == {}


def test_a_query_that_had_time_to_warm_up_is_settled(
    sensors: Source, hot: SavedQuery, five_minutes: SavedQuery
) -> None:
    SavedQuery.objects.filter(pk=five_minutes.pk).update(deleted_at=NOW)
    planned(sensors, timedelta(hours=2))
    SavedQuery.with_deleted.filter(pk=five_minutes.pk).update(deleted_at=None)
    planned(sensors, timedelta(minutes=10))
    assert joined_at(five_minutes.queries()) == {}


def test_a_query_that_left_and_came_back_begins_anew(
    sensors: Source, hot: SavedQuery, five_minutes: SavedQuery
) -> None:
    planned(sensors, timedelta(hours=2))
    SavedQuery.objects.filter(pk=five_minutes.pk).update(deleted_at=NOW)
    planned(sensors, timedelta(minutes=3))
    SavedQuery.with_deleted.filter(pk=five_minutes.pk).update(deleted_at=None)
    back = planned(sensors, timedelta(minutes=1))
    assert joined_at(five_minutes.queries()) == {
        query.id: int(back.timestamp() * 1000) for query in five_minutes.queries()
    }


def test_an_edit_is_told_with_who_made_it_and_a_name_alone_is_none(sensors: Source, hot: SavedQuery) -> None:
    planned(sensors, timedelta(hours=2))
    hot.where = "temp > 21"
    hot.save()
    edited = planned(sensors, timedelta(minutes=2), "Ana changed “Hot”")
    hot.name = "Hotter"
    hot.save()
    planned(sensors, timedelta(minutes=1), "Ana changed “Hotter”")
    made = steps.steps_of(sensors, NOW_MS - 3_600_000)
    at = int(edited.timestamp() * 1000)
    assert steps.edits_of(made, hot.key, NOW_MS - 3_600_000) == ((at, "Ana: filter changed"),)
    assert steps.edits_of(made, hot.key, at + 1) == ()
    assert steps.edits_of(made, "another", 0) == ()


def test_plans_are_compared_once_however_many_pages_open(
    sensors: Source,
    hot: SavedQuery,
    five_minutes: SavedQuery,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    planned(sensors, timedelta(hours=2))
    for minutes in (12, 11, 10):
        planned(sensors, timedelta(minutes=minutes))
    both = [hot, five_minutes]
    WatchedQuery.all_of(both, NOW_MS, {})
    with django_assert_num_queries(2):
        WatchedQuery.all_of(both, NOW_MS, {})
