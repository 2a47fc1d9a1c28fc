import math

import pytest
from hypothesis import given

from optimizer import Statistics, optimize
from optimizer.cost import Calibration, estimated_throughput, load, tree_cost
from optimizer.queries import Query
from tests.optimizer.cases import cost_by_enumeration, query, query_sets, statistics_sets

FAST = Calibration(seconds_per_event=1e-3, seconds_per_partial=1e-4, seconds_per_step=1e-5, cores=4)


def test_a_tree_costs_its_events_and_its_operations_per_edge() -> None:
    cost = tree_cost([query("a", 12, 9), query("b", 10, 6)], Statistics(rate=5.0))
    assert (cost.edge_rate, cost.omega) == (pytest.approx(8 / 18), 4)
    assert cost.total == pytest.approx(5 + 8 / 18 * 4)


def test_a_grouped_tree_does_its_operations_for_every_group() -> None:
    grouped = [query("a", 10, 5, group_by=("device",))]
    assert tree_cost(grouped, Statistics(rate=5.0)).total == pytest.approx(5 + 0.2 * 2 * 100)
    counted = Statistics(rate=5.0, groups={("device",): 7})
    assert tree_cost(grouped, counted).total == pytest.approx(5 + 0.2 * 2 * 7)


def test_queries_with_the_same_window_are_answered_once() -> None:
    one = tree_cost([query("a", 12, 9, "sum")], Statistics())
    assert tree_cost([query("a", 12, 9, "sum"), query("b", 12, 9, "mean")], Statistics()) == one


@given(query_sets(), statistics_sets)
def test_costs_agree_with_edges_enumerated_one_by_one(queries: list[Query], statistics: Statistics) -> None:
    for strategy in ("no_share", "weave_share"):
        plan = optimize(queries, statistics, source="s", strategy=strategy)
        expected = [cost_by_enumeration(tree.queries, statistics) for tree in plan.trees]
        assert [tree.cost for tree in plan.trees] == pytest.approx(expected)
        assert plan.total_cost == pytest.approx(sum(expected))


def test_load_counts_reading_once_and_folding_and_kernels_for_each_tree() -> None:
    queries = [query("a", 10, 5, "sum"), query("b", 10, 5, "max", group_by=("device",))]
    statistics = Statistics(rate=100.0, groups={("device",): 50}, calibration=FAST)
    plan = optimize(queries, statistics, source="s")
    assert len(plan.trees) == 2
    reading, folding = 100 * 1e-3, 100 * 2 * 1e-4
    kernels = (0.2 * 2 * 1 + 0.2 * 3 * 50) * 1e-5
    assert load(plan, statistics) == pytest.approx((reading + folding + kernels) / 4)


def test_the_estimated_throughput_is_the_rate_at_which_the_load_is_full() -> None:
    queries = [query("a", 10, 5, "sum"), query("b", 7, 3, "max")]
    statistics = Statistics(rate=100.0, calibration=FAST)
    plan = optimize(queries, statistics, source="s")
    full = Statistics(rate=estimated_throughput(plan, statistics), calibration=FAST)
    assert full.rate > 100
    assert load(plan, full) == pytest.approx(1)


def test_a_plan_whose_kernels_alone_are_too_much_keeps_up_with_nothing() -> None:
    statistics = Statistics(groups={("device",): 10**9})
    plan = optimize([query("a", 10, 1, group_by=("device",))], statistics, source="s")
    assert estimated_throughput(plan, statistics) == 0
    assert load(plan, statistics) > 1


def test_a_plan_without_trees_still_reads_its_source() -> None:
    empty = optimize([], Statistics(), source="s")
    assert estimated_throughput(empty, Statistics(calibration=FAST)) == pytest.approx(4 / 1e-3)


def test_statistics_survive_json() -> None:
    statistics = Statistics(rate=12.5, groups={("device",): 7, ("a", "b"): 9}, calibration=FAST)
    assert Statistics.from_json(statistics.to_json()) == statistics


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_a_rate_that_is_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="The rate must be a number of events per second"):
        Statistics(rate=rate)


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        ({"seconds_per_step": -1.0}, "seconds_per_step must be a number not below zero, not -1.0"),
        ({"seconds_per_partial": math.nan}, "seconds_per_partial must be a number not below zero, not nan"),
        ({"seconds_per_event": 0.0}, "needs seconds_per_event and cores above zero"),
        ({"cores": 0}, "needs seconds_per_event and cores above zero"),
    ],
)
def test_a_calibration_that_cannot_be_is_refused(measured: dict[str, float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Calibration(**measured)  # type: ignore[arg-type]
