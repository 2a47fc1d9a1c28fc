"""The picture's data: all costs are in it once; among many, few trees and owners are told apart."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.levels import NOTHING
from dashboard.models import SavedQuery, Source
from dashboard.planning.overview import SourcePlan, running_plans
from dashboard.planning.picture import MOST_TREES, picture
from dashboard.planning.service import adopt, replan
from tests.dashboard.places import source_at

pytestmark = pytest.mark.django_db


def many(source: Source, owner: User, count: int) -> None:
    SavedQuery.objects.bulk_create(
        SavedQuery(
            source=source,
            name=f"Query {number}",
            computations=[{"aggregate": "max", "field": "temp"}],
            windows=[{"range": f"{number + 1}m", "slide": "10s"}],
            group_by=["device"] if number % 2 else [],
            owner=owner,
        )
        for number in range(count)
    )


def test_few_queries_are_named_with_their_windows(hot: SavedQuery, sensors: Source, ana: User) -> None:
    replan(sensors, "one")
    told = picture(running_plans(Source.objects.all()), ("sensors", "1"))
    (source,) = told["sources"]
    (tree,) = source["trees"]
    assert tree["queries"] == [{"label": "Hot devices, 1 m 5 m", "count": 2}]
    assert (tree["label"], tree["node"], tree["count"]) == ("Tree 1", 1, 2)
    assert tree["address"] == "/plan/?source=sensors&tree=1"
    assert (told["byOwner"], told["measured"], source["rate"]) == (False, False, None)


def test_many_trees_are_told_together_and_the_selected_one_apart(sensors: Source, ana: User) -> None:
    many(sensors, ana, 50)
    replan(sensors, "fifty")
    adopt(sensors, "no_share", 1, ana)
    plan = SourcePlan.of(sensors)
    assert plan is not None
    cheapest = min(plan.rows, key=lambda row: plan.cost_of(row.tree.id)).tree.id
    (source,) = picture([plan], ("sensors", cheapest))["sources"]
    bands = source["trees"]
    assert len(bands) <= MOST_TREES + 1
    assert cheapest in {band["id"] for band in bands}
    assert bands[-1]["label"].endswith("more trees")
    assert sum(band["count"] for band in bands) == 50
    assert sum(band["cost"] for band in bands) == pytest.approx(
        sum(plan.cost_of(row.tree.id) for row in plan.rows)
    )


def test_over_sixty_queries_are_by_owner(sensors: Source, ana: User, bo: User) -> None:
    many(sensors, ana, 40)
    many(sensors, bo, 30)
    replan(sensors, "seventy")
    told = picture(running_plans(Source.objects.all()), ("sensors", "1"))
    labels = {query["label"] for band in told["sources"][0]["trees"] for query in band["queries"]}
    assert told["byOwner"]
    assert all(label.startswith(("Ana, ", "Bo, ")) for label in labels)


@pytest.mark.parametrize("count", [1, 70])
def test_queries_and_owners_are_named_to_who_may_see_them(
    as_bo: Client, as_ana: Client, sensors: Source, ana: User, bo: User, count: int
) -> None:
    """By name and, of many, by owner: in picture and table nothing of a source that is hidden."""
    own = source_at(key="own", name="own", topic="own", schema=[["temp", "number"], ["device", "text"]])
    many(own, bo, 70)
    SavedQuery.objects.filter(source=own).update(name="Mine")
    many(sensors, ana, count)
    for source in (own, sensors):
        replan(source, "some")
    Source.objects.exclude(pk=own.pk).update(for_all=NOTHING)
    for address in ("/plan/?source=sensors&tree=1", "/plan/picture/"):
        assert "Bo" in as_bo.get(address).content.decode()
        assert not [name for name in ("Ana", "Query 0") if name in as_bo.get(address).content.decode()]
        assert "Ana" in as_ana.get(address).content.decode()
    assert as_bo.get("/plan/sensors/trees/1/").status_code == 403


def test_all_sources_are_on_the_page_and_one_of_them_is_chosen(
    as_ana: Client, hot: SavedQuery, sensors: Source, ana: User
) -> None:
    web = source_at(
        key="web",
        name="web",
        topic="web.requests",
        schema=[["ts", "integer"]],
        event_time="ts",
        created_by=ana,
    )
    SavedQuery.objects.create(
        source=web,
        name="Requests",
        computations=[{"aggregate": "count", "field": None}],
        windows=[{"range": "1m", "slide": "1m"}],
        owner=ana,
    )
    replan(sensors, "one")
    replan(web, "two")
    page = as_ana.get("/plan/?source=web")
    assert page.context["source"] == web
    assert "3 windows for the cost of" in page.content.decode()
    assert "One pass over each topic, 2 trees on 1 node." in page.content.decode()
    told = as_ana.get("/plan/picture/?source=web&tree=1").json()
    assert [source["name"] for source in told["sources"]] == ["sensors", "web.requests"]


def test_a_tree_is_shown_with_owners_and_why(as_ana: Client, hot: SavedQuery, sensors: Source) -> None:
    replan(sensors, "one")
    part = as_ana.get("/plan/sensors/trees/1/").content.decode()
    for words in (
        "Why this kernel.",
        "SlickDeque",
        "Ana",
        "max of temp",
        "5 m every 10 s",
        "partials a window",
    ):
        assert words in part
    assert "<html" not in part
    assert as_ana.get("/plan/sensors/trees/9/").status_code == 404
