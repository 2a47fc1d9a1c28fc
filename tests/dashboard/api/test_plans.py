"""Plans over the API: looked at, previewed, adopted, gone back to, with the pages' rights and sentences."""

import fcntl
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.models import CalibrationRecord, PlanVersion, SavedQuery, Source, ThroughputSample
from dashboard.planning.identity import tree_identity
from dashboard.planning.service import replan
from dashboard.planning.verifying import Verifying
from dashboard.planning.what_if import Comparison
from tests.dashboard.api.conftest import Ask

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path


@pytest.fixture
def planned(hot: SavedQuery, sensors: Source) -> PlanVersion:
    return replan(sensors, "Ana added “Hot devices”")


def test_a_strategy_is_previewed_adopted_and_taken_back(ask: Ask, planned: PlanVersion) -> None:
    choice = {"strategy": "no_share", "nodes": 2}
    seen = ask("post", "sources/sensors/plan/preview", choice).json()
    assert seen["cost_after"] == pytest.approx(2)
    assert seen["cost_before"] < 2
    assert len(seen["effects"]) == 2
    assert PlanVersion.objects.count() == 1

    adopted = ask("post", "sources/sensors/plan/adopt", choice).json()
    assert (adopted["version"], adopted["held"], adopted["trees"], adopted["nodes"]) == (2, True, 2, 2)
    back = ask("post", "sources/sensors/plans/1/back").json()
    assert (back["version"], back["trees"], back["held"]) == (3, 1, True)
    assert ask("post", "sources/sensors/plan/release").json()["held"] is False

    listed = ask("get", "sources/sensors/plans").json()
    assert [one["version"] for one in listed["items"]] == [4, 3, 2, 1]
    whole = ask("get", "sources/sensors/plans/2").json()
    assert "The trees run on 2 nodes, before on 1." in whole["changes"]
    assert whole["plan"]["strategy"] == "no_share"


def test_samples_and_calibrations_are_listed(ask: Ask, planned: PlanVersion) -> None:
    now = timezone.now()
    ThroughputSample.objects.create(source=planned.source, at=now, plan=1, estimated=2.0, actual=3.0)
    (sample,) = ask("get", "sources/sensors/throughput").json()["items"]
    assert (sample["plan"], sample["estimated"], sample["actual"]) == (1, 2.0, 3.0)
    (tree,) = planned.value().trees
    assert ask("get", f"sources/sensors/throughput?tree={tree.id}").json() == {"items": [], "count": 0}
    ThroughputSample.objects.update(trees={tree_identity(tree): [20, 30]})
    (own,) = ask("get", f"sources/sensors/throughput?tree={tree.id}").json()["items"]
    assert (own["plan"], own["estimated"], own["actual"]) == (1, 20.0, 30.0)
    unknown = ask("get", "sources/sensors/throughput?tree=99").json()
    assert unknown == {"problem": "There is no tree 99 in the plan of “sensors”."}
    CalibrationRecord.objects.create(
        source=planned.source, plan=1, statistics={}, measured={"total": 1e-6}, automatic=True
    )
    (kept,) = ask("get", "sources/sensors/calibrations").json()["items"]
    assert (kept["by"], kept["seconds_per_event"]) == (None, {"total": 1e-6})


def test_what_cannot_be_is_refused_in_the_pages_words(ask: Ask, planned: PlanVersion) -> None:
    answer = ask("post", "sources/sensors/plan/adopt", {"strategy": "fastest"})
    assert answer.status_code == 422
    assert answer.json()["problems"]["strategy"].startswith("No strategy “fastest”")
    assert ask("get", "sources/sensors/plans/9").json() == {"problem": "There is no plan 9 of “sensors”."}
    assert ask("post", "sources/sensors/calibrations").status_code == 422
    verify = ask("post", "sources/sensors/verify", {"query": "nobody"})
    assert verify.json()["problems"] == {"query": "There is no query “nobody”."}
    assert ask("get", "sources/sensors/verify/0000000000000000").status_code == 404


def test_strategies_are_compared_on_as_many_nodes_as_are_asked_for(ask: Ask, planned: PlanVersion) -> None:
    for nodes in (0, 65):
        answer = ask("get", f"sources/sensors/strategies?nodes={nodes}")
        assert answer.json() == {"problems": {"nodes": f"A plan runs on 1 to 64 nodes, not on {nodes}."}}
    on_three = Comparison.of(planned, 3)
    on_three.folder.mkdir(parents=True)
    done = {"strategy": "no_share", "total": 2.0, "max_node": 1.0, "trees": 2, "seconds": 0.1, "refusal": ""}
    on_three.write("outcomes", {"outcomes": [done]})
    on_three.write("summary", {})
    (outcome,) = ask("get", "sources/sensors/strategies?nodes=3").json()["outcomes"]
    assert (outcome["strategy"], outcome["max_node_cost"]) == ("no_share", 1.0)


def test_a_verification_is_cancelled_by_who_started_it(
    ask: Ask, ask_as_bo: Ask, hot: SavedQuery, ana: User, settings: Any
) -> None:
    task = Verifying(settings.VAR_DIR / "verifying" / "0123456789abcdef")
    task.folder.mkdir(parents=True)
    task.write("asked", {"person": ana.pk, "query": hot.key, "minutes": 5})
    address = f"sources/sensors/verify/{task.key}"
    with (task.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as its process holds it
        assert ask_as_bo("post", f"{address}/cancel").status_code == 403
        assert not task.is_cancelled
        assert ask("post", f"{address}/cancel").json()["state"] == "running"
    assert ask("get", address).json()["state"] == "cancelled"


def test_others_look_but_change_nothing(ask_as_bo: Ask, planned: PlanVersion) -> None:
    assert ask_as_bo("get", "sources/sensors/plans").json()["count"] == 1
    for address in ("plan/adopt", "plan/release", "plans/1/back", "calibrations"):
        answer = ask_as_bo(
            "post", f"sources/sensors/{address}", {"strategy": "best"} if "adopt" in address else None
        )
        assert answer.status_code == 403, address
    assert PlanVersion.objects.count() == 1


def test_a_source_without_queries_has_no_plan_to_change(ask: Ask, sensors: Source) -> None:
    assert ask("get", "sources/sensors/strategies").status_code == 404
    assert ask("post", "sources/sensors/plan/preview", {"strategy": "best"}).status_code == 404
    assert ask("get", "sources/sensors/throughput").json() == {"items": [], "count": 0}
    assert ask("get", "sources/sensors/calibrations").json() == {"items": [], "count": 0}
