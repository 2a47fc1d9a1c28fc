"""The plan page: the price of sharing, the trees, and nothing that is not known."""

import json

import pytest
from django.test import Client

from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning.figures import Figures, PlanLoad, together
from dashboard.planning.overview import tree_rows
from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.windows import Window

pytestmark = pytest.mark.django_db


def query(name: str, minutes: int, *, group_by: tuple[str, ...] = ()) -> Query:
    return Query(f"{name}@{minutes}m/10s", name, "max", "temp", Window(minutes * 60_000, 10_000), group_by)


@pytest.fixture
def planned(sensors: Source, hot: SavedQuery) -> PlanVersion:
    plan = optimize(hot.queries(), Statistics(), source="sensors", version=7)
    return PlanVersion.objects.create(
        source=sensors,
        version=7,
        plan=plan.to_json(),
        cause="Ana added “Hot devices”",
        statistics=Statistics().to_json(),
    )


def test_a_stranger_is_asked_to_sign_in(stranger: Client, planned: PlanVersion) -> None:
    for address in ("/plan/", "/plan/sensors/estimates/"):
        assert stranger.get(address).headers["Location"].startswith("/sign-in/")


def test_without_sources_the_page_says_what_to_do(as_ana: Client) -> None:
    assert "No sources yet." in as_ana.get("/plan/").content.decode()


def test_a_source_without_queries_has_no_plan_yet(as_ana: Client, sensors: Source) -> None:
    assert "No plan for sensors yet." in as_ana.get("/plan/").content.decode()


def test_a_plan_whose_last_query_was_deleted_is_no_plan(as_ana: Client, sensors: Source) -> None:
    plan = optimize([], Statistics(), source="sensors", version=2)
    PlanVersion.objects.create(source=sensors, version=2, plan=plan.to_json(), cause="", statistics={})
    assert "No plan for sensors yet." in as_ana.get("/plan/").content.decode()


def test_the_page_tells_version_cause_price_and_trees(as_ana: Client, planned: PlanVersion) -> None:
    page = as_ana.get("/plan/?source=sensors").content.decode()
    for words in ("Plan 7", "Ana added “Hot devices”", "2 windows for the cost of 1.", "Tree 1", "1m, 5m"):
        assert words in page
    assert "headroom, at least, estimated" in page


def test_a_plan_that_kafka_did_not_take_says_so(as_ana: Client, planned: PlanVersion) -> None:
    assert "Not with the job yet." in as_ana.get("/plan/").content.decode()


def test_a_tree_or_source_that_does_not_exist_falls_back_to_the_first(
    as_ana: Client, planned: PlanVersion
) -> None:
    page = as_ana.get("/plan/?source=nowhere&tree=99")
    assert page.status_code == 200
    assert page.context["selected"].tree.id == "1"


def test_estimates_are_told_per_plan_version(as_ana: Client, planned: PlanVersion) -> None:
    answer = json.loads(as_ana.get("/plan/sensors/estimates/").content)
    assert set(answer["estimates"]) == {"7"}
    assert answer["estimates"]["7"] > 0
    assert answer["measured"] is False
    assert as_ana.get("/plan/nowhere/estimates/").status_code == 404


def figures(*queries: Query) -> Figures:
    plan = optimize(list(queries), Statistics(), source="s")
    return together([PlanLoad(plan, Statistics(), None, plan)])


def test_one_query_costs_one_and_a_shared_one_costs_less_than_two() -> None:
    assert figures(query("a", 1)).cost == pytest.approx(1)
    both = figures(query("a", 1), query("b", 5))
    assert both.windows == 2
    assert both.cost < 2
    assert both.load < both.load_alone


def test_shares_of_cost_add_up_to_the_whole() -> None:
    plan = optimize([query("a", 1), query("b", 5, group_by=("device",))], Statistics(), source="s")
    rows = tree_rows(plan, Statistics(), {tree.id: 0.5 for tree in plan.all_trees})
    assert len(rows) == 2
    assert sum(row.share for row in rows) == pytest.approx(1)
    assert {row.subject for row in rows} == {"not grouped", "grouped by device"}


def test_a_timeline_tells_where_slices_end_and_who_closes_there() -> None:
    odd = Query("o@25s/10s", "o", "max", "temp", Window(25_000, 10_000))
    (row,) = tree_rows(optimize([odd], Statistics(), source="s"), Statistics(), {"1": 1.0})
    timeline = row.timeline()
    assert timeline["edges"] == [[10_000, 0], [10_000, 5_000]]
    assert timeline["queries"][0]["end"] == 5_000
