from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES, Strategy
from optimizer.weaving import families, family_key
from optimizer.workload import Workload
from tests.optimizer.cases import (
    cost_by_enumeration,
    plan_cost_by_enumeration,
    query,
    query_sets,
    statistics_sets,
)

all_strategies = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)


def placed(strategy: str, queries: list[Query], statistics: Statistics) -> list[list[Query]]:
    groups = STRATEGIES[strategy].place(Workload(tuple(queries), statistics))
    return [list(group.queries) for group in groups]


def no_share(queries: list[Query], statistics: Statistics) -> list[list[Query]]:
    return placed("no_share", queries, statistics)


def weave_share(queries: list[Query], statistics: Statistics) -> list[list[Query]]:
    return placed("weave_share", queries, statistics)


def total(groups: list[list[Query]], statistics: Statistics) -> float:
    return sum(cost_by_enumeration(group, statistics) for group in groups)


@all_strategies
@given(queries=query_sets(), statistics=statistics_sets)
def test_every_query_is_in_exactly_one_group_of_its_family(
    strategy: Strategy, queries: list[Query], statistics: Statistics
) -> None:
    groups = placed(strategy.name, queries, statistics)
    assert Counter(query.id for group in groups for query in group) == Counter(q.id for q in queries)
    assert all(len(families(group)) == 1 for group in groups if group)


@all_strategies
@settings(max_examples=25, deadline=None)
@given(queries=query_sets(), statistics=statistics_sets, nodes=st.integers(1, 3))
def test_costs_agree_with_edges_enumerated_one_by_one(
    strategy: Strategy, queries: list[Query], statistics: Statistics, nodes: int
) -> None:
    plan = optimize(queries, statistics, strategy=strategy.name, nodes=nodes)
    assert [tree.cost for tree in plan.trees] == pytest.approx(plan_cost_by_enumeration(plan, statistics))
    assert plan.total_cost == pytest.approx(sum(plan.node_costs))


@all_strategies
@settings(max_examples=15, deadline=None)
@given(queries=query_sets(), statistics=statistics_sets, random=st.randoms(use_true_random=False))
def test_a_seed_decides_all_whatever_the_order_of_queries(
    strategy: Strategy, queries: list[Query], statistics: Statistics, random: Random
) -> None:
    shuffled = random.sample(queries, len(queries))
    first, again = (
        optimize(given_queries, statistics, strategy=strategy.name, nodes=2, seed=7)
        for given_queries in (queries, shuffled)
    )
    assert first == again
    assert Plan.from_json(first.to_json()) == first


@given(query_sets(), statistics_sets)
def test_weaving_never_costs_more_than_not_sharing(queries: list[Query], statistics: Statistics) -> None:
    woven = total(weave_share(queries, statistics), statistics)
    assert woven <= total(no_share(queries, statistics), statistics) + 1e-6


@given(query_sets(), statistics_sets)
def test_weaving_stops_only_when_no_two_trees_are_cheaper_as_one(
    queries: list[Query], statistics: Statistics
) -> None:
    groups = weave_share(queries, statistics)
    for one, other in combinations(groups, 2):
        if family_key(one[0]) == family_key(other[0]):
            apart = total([one, other], statistics)
            assert cost_by_enumeration(one + other, statistics) >= apart - 1e-6


def test_a_fast_stream_is_worth_sharing_and_a_slow_one_is_not() -> None:
    coprime = [query("a", 70, 7), query("b", 110, 11), query("c", 130, 13)]
    assert len(weave_share(coprime, Statistics(rate=1000))) == 1
    assert len(weave_share(coprime, Statistics(rate=0.01))) == 3


def test_windows_that_close_on_the_same_edges_are_woven_before_others() -> None:
    queries = [query("a", 20, 10), query("b", 60, 20), query("c", 21, 7), query("d", 42, 14)]
    groups = weave_share(queries, Statistics(rate=0.15))
    assert {frozenset(query.name for query in group) for group in groups} == {
        frozenset({"a", "b"}),
        frozenset({"c", "d"}),
    }


def test_many_groups_make_sharing_dearer() -> None:
    queries = [query("a", 70, 7, group_by=("device",)), query("b", 110, 11, group_by=("device",))]
    few, many = ({("device",): groups} for groups in (10, 100_000))
    assert len(weave_share(queries, Statistics(rate=1000, groups=few))) == 1
    assert len(weave_share(queries, Statistics(rate=1000, groups=many))) == 2


def test_two_people_who_ask_for_the_same_window_share_it_at_any_rate() -> None:
    queries = [query("ana", 60, 10, "sum"), query("ben", 60, 10, "mean")]
    assert weave_share(queries, Statistics(rate=0.0)) == [queries]
