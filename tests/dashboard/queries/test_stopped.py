"""A query that takes too much time or memory is paused with the reason; whoever owns it may resume it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.past.following import _take_meter
from dashboard.planning.service import replan
from dashboard.queries.actions import resume_queries
from tests.dashboard.live.messages import meter

pytestmark = pytest.mark.django_db
WHERE = "status = 'ok'"
WHY = "It was stopped after 5 s for 1,000 messages."


@pytest.fixture
def queries(sensors: Source, ana: User) -> list[SavedQuery]:
    made = [
        SavedQuery.objects.create(
            source=sensors,
            owner=ana,
            name=f"Query {where} {field}",
            computations=[{"aggregate": "sum", "field": field}],
            windows=[{"range": "1m", "slide": "10s"}],
            where=where,
        )
        for where, field in ((WHERE, "temp"), (None, "temp * 2"), (None, "temp"))
    ]
    replan(sensors, "Ana added three")
    return made


def told(plan: int, stopped: dict[str, str], source: str) -> None:
    _take_meter(meter(1, clock=1_800_000_000_000, source=source, plan=plan, stopped=stopped))  # type: ignore[arg-type]


def paused() -> list[bool]:
    return [query.paused_at is not None for query in SavedQuery.objects.order_by("pk")]


@pytest.mark.parametrize(("stopped", "which"), [(WHERE, 0), ("temp * 2", 1)])
def test_the_query_is_paused_with_the_reason_and_no_other(
    queries: list[SavedQuery], sensors: Source, as_ana: Client, stopped: str, which: int
) -> None:
    told(1, {stopped: WHY}, sensors.key)
    assert paused() == [at == which for at in range(3)]
    newest = PlanVersion.objects.get(source=sensors, version=2)
    assert newest.cause == f"Millrace paused “{queries[which].name}”"
    assert not any(query.id.startswith(queries[which].key) for query in newest.value().all_queries)
    words = f"by Millrace: “{stopped}” takes too much. {WHY}"
    page = as_ana.get(queries[which].get_absolute_url()).content.decode()
    assert words.replace("'", "&#x27;") in page
    told_by_api = as_ana.get(f"/api/queries/{queries[which].key}").json()
    assert told_by_api["paused_why"] == words.removeprefix("by Millrace: ")


def test_what_an_older_plan_said_pauses_nothing(
    queries: list[SavedQuery], sensors: Source, ana: User
) -> None:
    told(1, {WHERE: WHY}, sensors.key)
    query = SavedQuery.objects.get(pk=queries[0].pk)
    resume_queries([query], ana)
    told(1, {WHERE: WHY}, sensors.key)
    told(2, {WHERE: WHY}, sensors.key)
    assert paused() == [False, False, False]
    assert SavedQuery.objects.get(pk=query.pk).paused_why == ""
    told(3, {WHERE: WHY}, sensors.key)
    assert paused() == [True, False, False]
