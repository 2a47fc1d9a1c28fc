"""What people choose of a plan: adopted trees are held through edits, released, and there is a way back."""

import pytest
from django.contrib.auth.models import User

from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning import service
from dashboard.queries import actions
from optimizer.queries import QuerySpec, WindowSpec
from optimizer.strategies import DEFAULT_STRATEGY

pytestmark = pytest.mark.django_db


def spec(name: str, size: str) -> QuerySpec:
    return QuerySpec.single(name, "max", "temp", (WindowSpec(size, "10s"),), group_by=("device",))


def trees(version: PlanVersion) -> set[frozenset[str]]:
    return {frozenset(query.id for query in tree.queries) for tree in version.value().trees}


def test_an_adopted_strategy_makes_the_next_version_and_says_who_chose(
    hot: SavedQuery, sensors: Source, ana: User
) -> None:
    service.replan(sensors, "Ana added “Hot devices”")
    made = service.adopt(sensors, "no_share", 2, ana)
    assert (made.version, made.held, made.cause) == (2, True, "Ana adopted No share on 2 nodes")
    plan = made.value()
    assert len(plan.trees) == 2
    assert (plan.strategy, plan.nodes) == ("no_share", (1.0, 1.0))


def test_later_edits_leave_held_trees_alone(hot: SavedQuery, sensors: Source, ana: User) -> None:
    service.replan(sensors, "one")
    apart = trees(service.adopt(sensors, "no_share", 1, ana))
    _, edited = actions.add_query(sensors, spec("More", "2m"), ana)
    assert edited.held
    assert len(apart & trees(edited)) >= 1  # the new one goes where it adds least; the rest stays
    assert len(trees(edited)) >= 2
    assert edited.value().strategy == "no_share"


def test_without_a_choice_the_optimizer_settles_as_it_did(
    hot: SavedQuery, sensors: Source, ana: User
) -> None:
    service.replan(sensors, "one")
    service.adopt(sensors, "no_share", 1, ana)
    released = service.release(sensors, ana)
    assert not released.held
    assert released.value().strategy == DEFAULT_STRATEGY
    assert len(trees(released)) == 1


def test_the_way_back_brings_the_trees_back_and_holds_them(
    hot: SavedQuery, sensors: Source, ana: User
) -> None:
    first = service.replan(sensors, "one")
    service.adopt(sensors, "no_share", 1, ana)
    back = service.go_back(sensors, first, ana)
    assert trees(back) == trees(first)
    assert (back.version, back.held, back.cause) == (3, True, "Ana went back to plan 1")


def test_what_would_be_planned_is_what_is_planned_and_writes_nothing(
    hot: SavedQuery, sensors: Source, ana: User
) -> None:
    service.replan(sensors, "one")
    previewed = service.planned_by(sensors, "no_share", 2)
    assert PlanVersion.objects.count() == 1
    assert service.adopt(sensors, "no_share", 2, ana).value() == previewed


@pytest.mark.parametrize(
    ("strategy", "nodes", "sentence"),
    [("fastest", 1, "No strategy “fastest”"), ("best", 0, "1 to 64 nodes"), ("best", 65, "1 to 64 nodes")],
)
def test_what_cannot_be_adopted_is_refused_in_a_sentence(
    hot: SavedQuery, sensors: Source, ana: User, strategy: str, nodes: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        service.adopt(sensors, strategy, nodes, ana)
    assert not PlanVersion.objects.exists()


def test_a_query_that_comes_while_a_strategy_is_at_work_is_in_the_plan(
    hot: SavedQuery, sensors: Source, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.replan(sensors, "one")
    really = service._by_strategy

    def slow(strategy: str, nodes: int) -> service.Planner:
        plan, calls = really(strategy, nodes), []

        def planned(*known: object) -> object:
            if not calls:
                calls.append(1)
                actions.add_query(sensors, spec("Meanwhile", "3m"), ana)
            return plan(*known)  # type: ignore[arg-type]

        return planned  # type: ignore[return-value]

    monkeypatch.setattr(service, "_by_strategy", slow)
    made = service.adopt(sensors, "all_shared", 1, ana)
    assert made.version == 3
    assert {query.name for query in made.value().queries} == {"Hot devices", "Meanwhile"}
