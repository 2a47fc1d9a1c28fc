"""Loads and highest rates: per plan, tree and query, from measured times."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.cost import Calibration
from optimizer.estimates import one_more, plan_estimate, query_estimates, tree_estimates
from optimizer.plan import Plan
from optimizer.planning import planned
from optimizer.queries import Query
from optimizer.throughput import load
from optimizer.windows import Window
from optimizer.workload import Group, Workload
from tests.optimizer.cases import query, query_sets

A, B = query("a", 60, 10), query("b", 50, 20)
MEASURED = Calibration(
    seconds_per_event=1e-6,
    seconds_per_partial=2e-7,
    seconds_per_row=5e-6,
    seconds_per_step=1e-6,
    seconds_per_result=3e-5,
    cores=2,
)
STATISTICS = Statistics(rate=10_000.0, calibration=MEASURED, model="calibrated")

calibrated = st.builds(
    Statistics,
    rate=st.sampled_from([0.0, 3.0, 1000.0, 1e6]),
    groups=st.sampled_from([{}, {("device",): 5000}]),
    calibration=st.sampled_from([MEASURED, Calibration()]),
    model=st.sampled_from(["papers", "calibrated"]),
)


def test_loads_of_a_shared_tree_written_out() -> None:
    plan = optimize([A, B], STATISTICS, source="s")
    # Edges at every ten seconds; two ranges take two steps each; answers every ten and every twenty seconds.
    read, folded = 10_000 * 1e-6, 10_000 * 2e-7
    edges = 0.1 * (5e-6 + 4 * 1e-6)
    answers = {A.id: 0.1 * 3e-5, B.id: 0.05 * 3e-5}
    tree = folded + edges + sum(answers.values())
    assert plan_estimate(plan, STATISTICS).load == pytest.approx((read + tree) / 2)
    assert tree_estimates(plan, STATISTICS)["1"].load == pytest.approx(tree / 2)
    shares = query_estimates(plan, STATISTICS)
    for query_id, own in answers.items():
        assert shares[query_id].load == pytest.approx(((read + folded + edges) / 2 + own) / 2)


def test_queries_with_one_window_share_its_answers() -> None:
    twin = query("twin", 60, 10, "mean")
    plan = optimize([A, B, twin], STATISTICS, source="s")
    shares = query_estimates(plan, STATISTICS)
    common = 10_000 * (1e-6 + 2e-7) + 0.1 * (5e-6 + 4 * 1e-6)
    assert shares[A.id] == shares[twin.id]
    assert shares[A.id].load == pytest.approx((common / 3 + 0.1 * 3e-5 / 2) / 2)
    assert shares[B.id].load == pytest.approx((common / 3 + 0.05 * 3e-5) / 2)


@given(query_sets(), calibrated)
def test_loads_of_queries_add_up_to_the_plans(queries: list[Query], statistics: Statistics) -> None:
    plan = optimize(queries, statistics, source="s")
    if queries:
        loads = [estimate.load for estimate in query_estimates(plan, statistics).values()]
        assert len(loads) == len(queries)
        assert sum(loads) == pytest.approx(load(plan, statistics))


@given(query_sets(), calibrated)
def test_loads_of_trees_and_of_reading_add_up_to_the_plans(
    queries: list[Query], statistics: Statistics
) -> None:
    plan = optimize(queries, statistics, source="s")
    reading = statistics.rate * statistics.calibration.seconds_per_event / statistics.calibration.cores
    trees = sum(estimate.load for estimate in tree_estimates(plan, statistics).values())
    assert reading + trees == pytest.approx(load(plan, statistics))


@given(query_sets(), calibrated)
def test_at_the_highest_rate_the_cores_are_just_busy(queries: list[Query], statistics: Statistics) -> None:
    plan = optimize(queries, statistics, source="s")
    estimate = plan_estimate(plan, statistics)
    if estimate.highest_rate:
        assert load(plan, replace(statistics, rate=estimate.highest_rate)) == pytest.approx(1)
    for part in (*tree_estimates(plan, statistics).values(), *query_estimates(plan, statistics).values()):
        assert part.highest_rate >= estimate.highest_rate * (1 - 1e-9)


def fed_plan() -> Plan:
    feeding = Group((), Group.of([A]).key, added_windows=(Window(10_000, 10_000),))
    groups = [feeding, Group((A,), feeding.key, feed=0), Group((B, query("c", 40, 20)), feeding.key, feed=0)]
    return planned(
        groups, Workload((A, B), STATISTICS), source="s", version=1, strategy="triweave", previous=None
    )


def test_what_feeds_several_trees_is_borne_by_the_queries_of_all() -> None:
    plan = fed_plan()
    loads = {query_id: each.load for query_id, each in query_estimates(plan, STATISTICS).items()}
    trees = {tree_id: each.load for tree_id, each in tree_estimates(plan, STATISTICS).items()}
    feeding = next(tree.id for tree in plan.trees if not tree.queries)
    reading = 10_000 * 1e-6 / 2
    assert sum(loads.values()) == pytest.approx(load(plan, STATISTICS))
    assert loads[A.id] == pytest.approx((reading + trees[feeding]) / 3 + trees[plan.tree_of(A.id).id])


def test_the_highest_rate_of_a_fed_tree_counts_what_feeds_it() -> None:
    plan = fed_plan()
    feeding = next(tree.id for tree in plan.trees if not tree.queries)
    rates = {tree_id: each.highest_rate for tree_id, each in tree_estimates(plan, STATISTICS).items()}
    assert rates[plan.tree_of(A.id).id] < rates[feeding]
    assert rates[feeding] == pytest.approx((2 - 0.1 * 5e-6) / (1e-6 + 2e-7))


def test_one_more_query_says_where_it_goes_and_what_it_adds() -> None:
    plan = optimize([A], STATISTICS, source="s")
    joined = one_more(plan, B, STATISTICS)
    assert (joined.tree, joined.is_new) == ("1", False)
    # A second range takes two more steps at each edge, and B's own answers.
    added = 0.1 * 2 * 1e-6 + 0.05 * 3e-5
    assert joined.load == pytest.approx(added / 2)
    assert joined.cost == pytest.approx(added)
    apart = one_more(plan, query("m", 60, 10, "max"), STATISTICS)
    assert (apart.tree, apart.is_new) == ("2", True)
    assert apart.load > joined.load
    assert apart.highest_rate < joined.highest_rate < plan_estimate(plan, STATISTICS).highest_rate
