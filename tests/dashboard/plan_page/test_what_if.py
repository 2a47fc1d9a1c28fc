"""What if: strategies compared by a real process, previewed, adopted and let go of again."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning import what_if
from dashboard.planning.figures import PlanLoad
from dashboard.planning.service import newest, replan
from dashboard.planning.what_if import Comparison, Outcome, by_plan, first_ones
from optimizer.strategies import STRATEGIES

pytestmark = pytest.mark.django_db
PATIENCE = 90.0


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


@pytest.fixture
def planned(hot: SavedQuery, sensors: Source) -> PlanVersion:
    return replan(sensors, "Ana added “Hot devices”")


def running_load(version: PlanVersion) -> PlanLoad:
    return PlanLoad.of(version.source, version.value())


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_all_strategies_are_compared_in_the_background_once_for_a_plan(
    as_ana: Client, planned: PlanVersion
) -> None:
    first = as_ana.get("/plan/sensors/strategies/").content.decode()
    assert f"of {len(STRATEGIES)} strategies" in first
    assert "hx-trigger" in first  # it asks again
    comparison = Comparison.of(planned, 1)
    until(lambda: comparison.state == "done")
    outcomes = {one.strategy: one for one in comparison.outcomes(running_load(planned))}
    assert set(outcomes) == set(STRATEGIES)
    assert outcomes["no_share"].total == pytest.approx(2)
    assert outcomes["best"].total is not None
    assert outcomes["best"].total <= outcomes["best_woven"].total + 1e-9
    assert comparison.outcomes(running_load(planned))[0].total == min(
        one.total for one in outcomes.values() if one.total
    )

    panel = as_ana.get("/plan/sensors/strategies/").content.decode()
    assert "Answers are the same under every strategy." in panel
    assert f"Compare all {len(STRATEGIES)}" in panel
    assert "hx-trigger" not in panel
    page = as_ana.get("/plan/sensors/what-if/").content.decode()
    for strategy in STRATEGIES.values():
        assert strategy.label in page
    began = comparison.read("run")
    as_ana.get("/plan/sensors/what-if/")
    assert comparison.read("run") == began  # kept, not computed again


def test_another_number_of_nodes_is_another_comparison_that_can_be_cancelled(
    as_ana: Client, planned: PlanVersion
) -> None:
    as_ana.get("/plan/sensors/what-if/?nodes=2")
    comparison = Comparison.of(planned, 2)
    assert comparison.key != Comparison.of(planned, 1).key
    as_ana.post("/plan/sensors/what-if/compare/", {"nodes": "2", "do": "cancel"})
    until(lambda: comparison.state != "running")
    if comparison.state == "cancelled":  # it may have been quicker
        assert "Cancelled." in as_ana.get("/plan/sensors/what-if/?nodes=2").content.decode()


def test_a_strategy_is_previewed_query_by_query_before_it_is_adopted(
    as_ana: Client, planned: PlanVersion
) -> None:
    page = as_ana.get("/plan/sensors/what-if/no_share/?nodes=1").content.decode()
    for words in ("Adopt No share", "moved from tree 1 to tree", "none is missed", "1 m every 10 s"):
        assert words in page
    assert PlanVersion.objects.count() == 1
    answer = as_ana.post("/plan/sensors/adopt/", {"strategy": "no_share", "nodes": "1"}, follow=True)
    said = answer.content.decode()
    assert "Plan 2 is adopted." in said
    assert "These trees are held." in said
    assert len(newest(planned.source).value().trees) == 2  # type: ignore[union-attr]
    as_ana.post("/plan/sensors/release/")
    assert "These trees are held." not in as_ana.get("/plan/").content.decode()


def test_what_cannot_be_is_refused_in_words(as_ana: Client, planned: PlanVersion) -> None:
    for wrong in ({"strategy": "fastest", "nodes": "1"}, {"strategy": "best", "nodes": "many"}):
        answer = as_ana.post("/plan/sensors/adopt/", wrong)
        assert answer.headers["Location"] == "/plan/sensors/what-if/"
    assert PlanVersion.objects.count() == 1
    assert as_ana.get("/plan/sensors/what-if/fastest/").status_code == 302


def test_others_may_look_but_not_adopt(as_bo: Client, planned: PlanVersion) -> None:
    page = as_bo.get("/plan/sensors/what-if/no_share/").content.decode()
    assert "Only to look at." in page
    assert "Adopt No share" not in page
    for address, sent in (("adopt", {"strategy": "no_share"}), ("release", {})):
        assert as_bo.post(f"/plan/sensors/{address}/", sent).status_code == 403
    assert PlanVersion.objects.count() == 1


def test_a_source_without_a_plan_has_no_what_if(as_ana: Client, sensors: Source) -> None:
    assert as_ana.get("/plan/sensors/what-if/").status_code == 404


def test_only_what_people_would_wait_for_can_be_adopted() -> None:
    assert not Outcome("best", 4.2, seconds=0.4).why_not
    slow = Outcome("best", 4.2, seconds=what_if.QUICK_SECONDS + 1)
    assert slow.why_not == "Planning took over 5\N{NARROW NO-BREAK SPACE}s: too long to wait for."
    assert Outcome("exhaustive", None, refusal="too many").why_not == "No plan to preview."


@pytest.mark.parametrize("address", ["strategies/", "what-if/"])
def test_why_a_strategy_cannot_be_adopted_is_said_where_its_link_would_be(
    as_ana: Client, planned: PlanVersion, address: str
) -> None:
    slow = {"strategy": "local_search", "total": 1.5, "seconds": 7.0}
    known = [slow, {"strategy": "no_share", "total": 2.0, "seconds": 0.1}]
    comparison = Comparison.of(planned, 1)
    comparison.folder.mkdir(parents=True)
    comparison.write("run", {})
    comparison.write("outcomes", {"outcomes": known})
    comparison.write("summary", {"strategies": 2})
    page = as_ana.get(f"/plan/sensors/{address}").content.decode()
    assert "Planning took over 5\N{NARROW NO-BREAK SPACE}s: too long to wait for." in page
    assert "/plan/sensors/what-if/local_search/" not in page
    assert "/plan/sensors/what-if/no_share/" in page


def test_strategies_that_come_to_the_same_plan_are_told_together(
    as_ana: Client, planned: PlanVersion
) -> None:
    as_ana.get("/plan/sensors/what-if/")
    comparison = Comparison.of(planned, 1)
    until(lambda: comparison.state == "done")
    groups = by_plan(comparison.outcomes(running_load(planned)))
    alike = next(group for group in groups if "best" in {one.strategy for one in group})
    assert len(alike) > 5
    assert {one.trees for one in alike} == {1}
    assert "no_share" not in {one.strategy for one in alike}
    page = as_ana.get("/plan/sensors/what-if/").content.decode()
    assert f"{len(alike)} strategies give the same plan" in page


def test_a_plan_that_is_not_known_is_like_no_other() -> None:
    nothing = [Outcome("best", None), Outcome("triweave", None)]
    assert by_plan(nothing) == [[one] for one in nothing]


def test_the_panel_has_the_known_strategies_and_the_one_that_runs() -> None:
    all_of_them = [Outcome(name, 3.0) for name in STRATEGIES] + [Outcome("best", None)]
    shown = {one.strategy for one in first_ones(all_of_them, "g_random")}
    assert shown == {*what_if.SHOWN_FIRST, "g_random"}


def test_a_long_bar_is_broken() -> None:
    assert Outcome("no_share", 37.0).is_broken
    assert Outcome("no_share", 37.0).bar == 100
    assert not Outcome("best", 4.2).is_broken
    assert Outcome("best", 4.2).bar == pytest.approx(42)


def test_bars_of_dear_plans_differ(planned: PlanVersion) -> None:
    """With hundreds of queries every plan costs more than ten of them."""
    comparison = Comparison.of(planned, 1)
    comparison.folder.mkdir(parents=True)
    told = (("best", 100.0), ("all_shared", 160.0), ("no_share", 500.0))
    comparison.write("outcomes", {"outcomes": [{"strategy": name, "total": cost} for name, cost in told]})
    assert [one.bar for one in comparison.outcomes(running_load(planned))] == pytest.approx([50, 80, 100])
    assert [one.is_broken for one in comparison.outcomes(running_load(planned))] == [False, False, True]
