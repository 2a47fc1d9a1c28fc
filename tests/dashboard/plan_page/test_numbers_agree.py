"""At one instant, every page, the API and the socket tell the same of the same: read all, and compare."""

import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from dashboard.accounts.tokens import make_token
from dashboard.live.feed import WatchedQuery, state_message
from dashboard.live.hub import Arrivals, process_hub
from dashboard.live.meters import process_meters
from dashboard.live.rows import rows_message
from dashboard.management.commands.whatif import Costs
from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning.figures import PlanLoad, estimated_load, together, without_sharing
from dashboard.planning.service import replan
from dashboard.planning.what_if import _as_of_now
from dashboard.templatetags.plan_words import percent, rounded
from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from tests.dashboard.api.conftest import asks_with
from tests.dashboard.live.messages import meter, status
from tests.dashboard.places import source_at

pytestmark = pytest.mark.django_db
SHARING_STRATEGIES = ("all_shared", "best_woven", "no_share", "triweave", "weave_share")


@pytest.fixture
def web(ana: User) -> Source:
    source = source_at(
        key="web", name="web", topic="web", schema=[["ts", "integer"], ["ms", "number"]], event_time="ts"
    )
    SavedQuery.objects.create(
        source=source,
        name="Latency",
        computations=[{"aggregate": "max", "field": "ms"}, {"aggregate": "mean", "field": "ms"}],
        windows=[{"range": "1m", "slide": "10s"}, {"range": "5m", "slide": "10s"}],
        owner=ana,
    )
    return source


@pytest.fixture
def heard(hot: SavedQuery, web: Source) -> Iterator[int]:
    """Half a minute of both sources' batches, as the relay hands them on; the instant of the newest."""
    replan(hot.source, "Ana added “Hot devices”")
    replan(web, "Ana added “Latency”")
    now = int(time.time() * 1000)
    for source, rate, busy in (("sensors", 2_000, 0.03), ("web", 500, 0.05)):
        plan = PlanVersion.objects.get(source__key=source).value()
        for second in range(31):
            told = _told(plan, second)
            message = meter(
                second,
                clock=now - 30_000 + second * 1_000,
                source=source,
                events=rate,
                map_seconds=busy,
                **told,
            )
            process_hub.take(Arrivals(meters=[message]))  # type: ignore[list-item]
    running = {key: {"state": "running", "since": 0, "error": None} for key in ("sensors", "web")}
    process_hub.take(Arrivals(status=[status(now, **running)]))  # type: ignore[list-item]
    yield now
    process_meters.keep_only(set())


def _told(plan: Any, second: int) -> dict[str, Any]:
    work = {"partials": 10, "kernel_steps": 20, "groups": 5, "slices": 1, "results": 5}
    trees = {tree.id: {**work, "seconds": 0.001 * int(tree.id)} for tree in plan.all_trees}
    queries = {
        query.id: {"tree": tree.id, "windows": 1, "results": 5}
        for tree in plan.all_trees
        for query in tree.queries
    }
    return {"trees": trees, "queries": queries, "plan": plan.version}


def facts(page: str) -> list[str]:
    return [fact.strip() for fact in re.findall(r'class="plan-fact"><b[^>]*>([^<]*)</b>', page)]


def test_load_headroom_and_cost_are_the_same_everywhere(
    as_ana: Client, ana: User, heard: int, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    ask = asks_with(make_token(ana, "script", None)[1])
    told = state_message(process_hub, heard)["load"]
    assert told["rate"] == pytest.approx(2_500)
    assert told["share"] == pytest.approx((0.04 + 0.06) / 2)  # with shard_seconds, of two cores
    headroom = told["rate"] / told["share"] - told["rate"]
    load_words, headroom_words = percent(told["share"]), f"{rounded(headroom)} events/s"

    home, plan = (as_ana.get(address).content.decode() for address in ("/", "/plan/?source=sensors"))
    for page in (home, plan):
        load, alone, left = facts(page)
        assert (load, left) == (load_words, headroom_words)
        windows, cost = re.search(r"(\d+) windows for the cost of ([\d.]+)", page).groups()  # type: ignore[union-attr]
        assert int(windows) == 6  # of two queries: 2, and 2 measures of 2
        exact = as_ana.get("/").context["headline"].figures
        assert float(cost) == pytest.approx(exact.windows * exact.load / exact.load_alone, abs=0.051)
        assert alone == percent(exact.load_alone)

    seen = as_ana.get("/plan/sensors/what-if/no_share/")
    assert seen.context["now"].load == pytest.approx(told["share"])
    assert seen.context["now"].headroom == pytest.approx(headroom)
    assert seen.context["then"].cost == pytest.approx(2)
    assert f"now {rounded(headroom)}" in seen.content.decode()
    moved = seen.context["effects"]
    assert sum(one.load_before for one in moved) == pytest.approx(0.04 / 2)  # this source's part

    asked = ask("post", "sources/sensors/plan/preview", {"strategy": "no_share", "nodes": 1}).json()
    assert asked["load_before"] == pytest.approx(told["share"])
    assert asked["headroom_before"] == pytest.approx(headroom)
    assert asked["load_after"] == pytest.approx(seen.context["then"].load)

    new = {
        "source": "web",
        "computations": [{"aggregate": "count"}],
        "windows": [{"range": "1m", "slide": "1m"}],
    }
    card = ask("post", "queries/preview", new).json()
    assert card["load_before"] == pytest.approx(told["share"])
    assert card["load_after"] >= card["load_before"]

    assert [
        ask("get", f"sources/{key}/plans").json()["items"][0]["queries"] for key in ("sensors", "web")
    ] == [1, 1]
    assert [
        ask("get", f"sources/{key}/plans").json()["items"][0]["windows"] for key in ("sensors", "web")
    ] == [2, 4]


def test_shares_of_the_cost_are_one_together_in_list_and_socket(as_ana: Client, heard: int) -> None:
    listed = {row["query"].key: row["share"] for row in as_ana.get("/queries/").context["rows"]}
    assert sum(listed.values()) == pytest.approx(1)
    watched = [WatchedQuery.listed(query) for query in SavedQuery.objects.select_related("source")]
    rows = rows_message(process_hub, watched, heard, {})["rows"]
    assert {key: row["share"] for key, row in rows.items()} == pytest.approx(listed)
    assert all(share > 0 for share in listed.values())


def test_before_anything_is_measured_shares_are_estimates_that_are_one_together(
    as_ana: Client, hot: SavedQuery, web: Source
) -> None:
    for source in (hot.source, web):
        replan(source, "one")
    page = as_ana.get("/queries/")
    assert sum(row["share"] for row in page.context["rows"]) == pytest.approx(1)
    headline = as_ana.get("/").context["headline"].figures
    assert not headline.is_measured
    assert "load, estimated" in as_ana.get("/").content.decode()


def test_tree_shares_are_of_core_time_and_one_together(as_ana: Client, heard: int) -> None:
    rows = as_ana.get("/plan/?source=web").context["rows"]
    assert sum(row.share for row in rows) == pytest.approx(1)


def test_a_source_that_is_not_read_any_more_loads_nothing(as_ana: Client, heard: int) -> None:
    later = heard + 120_000
    assert process_meters.load("web", heard) is not None
    assert process_meters.load("web", later) is None
    assert state_message(process_hub, later)["load"] is None


@st.composite
def some_queries(draw: st.DrawFn) -> list[Query]:
    slides = draw(st.lists(st.sampled_from([1_000, 5_000, 10_000, 15_000, 60_000]), min_size=1, max_size=8))
    return [
        Query(
            f"q{number}@x",
            f"q{number}",
            draw(st.sampled_from(["max", "sum", "mean"])),
            "temp",
            Window(slide * draw(st.integers(1, 12)), slide),
            draw(st.sampled_from([(), ("device",)])),
        )
        for number, slide in enumerate(slides)
    ]


@bounds(deadline=None)  # the machine may be busy
@given(queries=some_queries(), rate=st.sampled_from([3.0, 2_168.0, 500_000.0]))
def test_what_is_called_cheaper_leaves_more_headroom(queries: list[Query], rate: float) -> None:
    known = Statistics(rate=rate)
    plans = [optimize(queries, known, source="s", strategy=name) for name in SHARING_STRATEGIES]
    running = PlanLoad(plans[0], known, None, plans[0])
    figures = [together([running.under(plan)]) for plan in plans]
    costs = Costs(known, estimated_load(without_sharing(plans[0], known), known))
    for one, plan in zip(figures, plans, strict=True):
        assert costs.of(plan) == pytest.approx(one.cost)  # the list of strategies, and the preview
        assert one.cost == pytest.approx(one.windows * one.load / one.load_alone)
        assert one.headroom == pytest.approx(max(0.0, rate / one.load - rate))
    for cheaper, dearer in pairwise(sorted(figures, key=lambda one: one.cost)):
        assert cheaper.load <= dearer.load * (1 + 1e-9)
        assert cheaper.headroom >= dearer.headroom * (1 - 1e-9)


def test_strategies_of_the_test_are_there() -> None:
    assert set(SHARING_STRATEGIES) <= set(STRATEGIES)


def test_the_capacity_does_not_grow_with_queries(hot: SavedQuery, sensors: Source) -> None:
    """870 k with one query and 13.1 M with five: two ways to count."""
    first = replan(sensors, "one")
    assert first.estimated_throughput
    for number in range(4):
        SavedQuery.objects.create(
            source=sensors,
            name=f"Query {number}",
            computations=[{"aggregate": "mean", "field": "temp"}],
            windows=[{"range": f"{number + 2}m", "slide": "10s"}],
            owner=hot.owner,
        )
    assert (replan(sensors, "five").estimated_throughput or 0) < first.estimated_throughput


def test_strategies_are_told_beside_what_the_running_plan_costs_now() -> None:
    told = [{"strategy": "best", "total": 4.0, "max_node": 2.0}, {"strategy": "no_share", "total": 9.0}]
    now = _as_of_now([*told, {"strategy": "weave_share", "total": None}], then=5.0, now=6.0, alone=9)
    assert [one["total"] for one in now] == [pytest.approx(5.25), 9.0, None]
    assert now[0]["max_node"] == pytest.approx(5.25 / 2)
    assert [one["total"] for one in _as_of_now([{"total": 5.0}], 5.0, 6.0, 9)] == [6.0]  # the running one
    assert _as_of_now(told, then=None, now=6.0, alone=9) == told
