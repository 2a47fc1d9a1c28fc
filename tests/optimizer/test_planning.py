import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query
from tests.optimizer.cases import members, query, query_sets, statistics_sets

FAST = Statistics(rate=10_000)
SLOW = Statistics(rate=0.001)  # nothing is worth sharing
A, B, C = query("a", 70, 7), query("b", 110, 11), query("c", 130, 13)
HOT = query("hot", 60, 10, "max")


def plan(queries: list[Query], statistics: Statistics = FAST, previous: Plan | None = None) -> Plan:
    return optimize(queries, statistics, source="s", previous=previous)


def test_no_queries_make_a_plan_without_trees() -> None:
    empty = plan([])
    assert (empty.trees, empty.version, empty.total_cost) == ((), 1, 0)


def test_a_plan_says_its_source_version_and_strategy() -> None:
    made = optimize([A], FAST, source="web", version=42, strategy="no_share")
    assert (made.source, made.version, made.strategy) == ("web", 42, "no_share")


@given(query_sets(), statistics_sets, st.randoms(use_true_random=False))
def test_the_order_of_queries_makes_no_difference(
    queries: list[Query], statistics: Statistics, random: Random
) -> None:
    shuffled = random.sample(queries, len(queries))
    assert plan(shuffled, statistics) == plan(queries, statistics)


@given(query_sets(), statistics_sets)
def test_a_plan_survives_json(queries: list[Query], statistics: Statistics) -> None:
    made = plan(queries, statistics)
    assert Plan.from_json(made.to_json()) == made


@given(query_sets(), statistics_sets, query_sets())
def test_planning_again_keeps_ids_unique_and_unchanged_trees_as_they_are(
    queries: list[Query], statistics: Statistics, earlier: list[Query]
) -> None:
    made = plan(queries, statistics, previous=plan(earlier, statistics))
    assert len({tree.id for tree in made.trees}) == len(made.trees)
    assert all(int(tree.id) < made.next_tree for tree in made.trees)
    assert plan(queries, statistics, previous=made) == made


def test_a_tree_that_gains_a_query_keeps_its_id() -> None:
    before = plan([HOT, A])
    after = plan([HOT, A, B], previous=before)
    assert after.tree_of(A.id).id == before.tree_of(A.id).id
    assert after.tree_of(B.id).id == after.tree_of(A.id).id
    assert after.tree_of(HOT.id) == before.tree_of(HOT.id)


def test_when_a_tree_falls_apart_the_larger_part_keeps_its_id() -> None:
    same = query("d", 70, 7, "mean")
    before = plan([HOT, A, B, same], FAST)
    assert members(before.trees) == {frozenset({HOT.id}), frozenset({A.id, B.id, same.id})}
    after = plan([HOT, A, B, same], SLOW, previous=before)
    assert after.tree_of(A.id).id == after.tree_of(same.id).id == before.tree_of(A.id).id
    assert after.tree_of(B.id).id == "3"


def test_an_id_that_has_gone_is_not_given_out_again() -> None:
    two = plan([A, HOT])
    one = plan([A], previous=two)
    gone = two.tree_of(HOT.id).id
    again = plan([A, query("new", 60, 10, "max")], previous=one)
    assert {tree.id for tree in one.trees} == {"1", "2"} - {gone}
    assert again.tree_of("new@60s/10s").id == "3"


def test_a_gone_id_is_remembered_through_json_and_through_an_empty_plan() -> None:
    empty = plan([], previous=plan([A, HOT]))
    assert plan([A], previous=Plan.from_json(empty.to_json())).trees[0].id == "3"


def test_a_query_edited_into_another_family_does_not_take_its_tree_along() -> None:
    before = plan([A])
    edited = Query(A.id, A.name, "max", A.field, A.window)
    assert plan([edited], previous=before).trees[0].id == "2"


def test_two_queries_with_one_id_are_refused() -> None:
    with pytest.raises(
        ValueError, match="The query id “a@70s/7s” is there 2 times: give each query its own id"
    ):
        plan([A, B, A])


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="No strategy “magic”: use one of no_share, "):
        optimize([A], FAST, source="s", strategy="magic")


def test_a_plan_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="This plan has format 99, not 3"):
        Plan.from_json({**plan([A]).to_json(), "format": 99})


def test_a_query_that_is_not_in_a_plan_is_named() -> None:
    with pytest.raises(LookupError, match="Plan 1 of s has no query “z@1s/1s”"):
        plan([A]).tree_of("z@1s/1s")


def test_a_hundred_mixed_queries_are_planned_well_under_a_second() -> None:
    slides = [1, 2, 5, 7, 10, 12, 15, 20, 30, 45, 60, 90, 120, 300, 900]
    kinds = ["count", "sum", "mean", "min", "max"]
    queries = [
        query(
            f"q{i}",
            slides[i % 15] * (1 + i % 9) + i % 4,
            slides[i % 15],
            kinds[i % 5],
            (("device",), ())[i % 2],
        )
        for i in range(100)
    ]
    started = time.process_time()
    made = plan(queries)
    assert time.process_time() - started < 0.8
    assert sum(len(tree.queries) for tree in made.trees) == 100
