import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.cost import Calibration, tree_cost
from optimizer.queries import Query
from optimizer.throughput import estimated_throughput, load
from optimizer.weaving import FamilyKey
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


COUNTED = Statistics(groups={("a",): 10, ("b",): 20, ("b", "a"): 50, ("a", "b", "c", "d"): 400, ("e",): 3})


def test_counts_hold_in_any_order_of_fields() -> None:
    assert COUNTED.groups_of(("a", "b")) == 50


def test_independent_fields_multiply_from_the_largest_counted_part() -> None:
    assert COUNTED.groups_of(("a", "b", "e")) == 150


def test_a_part_has_no_more_groups_than_the_whole() -> None:
    assert COUNTED.groups_of(("a", "b", "c")) == 400


def test_a_field_that_was_never_counted_has_a_hundred_values() -> None:
    assert COUNTED.groups_of(("x",)) == 100
    assert COUNTED.groups_of(("x", "e")) == 300


def test_no_fields_make_one_group() -> None:
    assert COUNTED.groups_of(()) == Statistics().groups_of(()) == 1


@given(
    st.dictionaries(st.frozensets(st.sampled_from("abcd"), min_size=1), st.integers(1, 1000), max_size=6),
    st.frozensets(st.sampled_from("abcd"), min_size=1),
)
def test_an_estimate_is_never_below_a_counted_part(
    counted: dict[frozenset[str], int], fields: frozenset[str]
) -> None:
    known = Statistics(groups={tuple(sorted(names)): count for names, count in counted.items()})
    parts = [count for part, count in counted.items() if part < fields]
    if fields not in counted:
        assert known.groups_of(fields) >= max(parts, default=1)


def test_every_combination_of_filters_is_a_partial_of_its_own() -> None:
    key = FamilyKey("v", "additive", ("a",), "x > 1", ("x > 5",))
    assert COUNTED.groups_in(key) == 20


def test_a_tree_of_fragments_folds_what_passes_any_of_them() -> None:
    known = Statistics(rate=100.0, passing={"p": 0.2, "q": 0.3, "r": 0.9})
    either = FamilyKey("v", "additive", (), "(p) OR (q)", ("p", "q"))
    assert known.events_in(either) == pytest.approx(50)
    assert known.events_in(either._replace(fragments=("p", "q", "r"))) == 100
    assert known.events_in(FamilyKey("v", "additive", (), "p")) == pytest.approx(20)
    assert known.events_in(FamilyKey("v", "additive", (), "unknown")) == 100


def test_the_calibrated_model_counts_rows_and_results_besides_steps() -> None:
    calibration = Calibration(
        seconds_per_partial=1e-6, seconds_per_row=2e-6, seconds_per_step=3e-6, seconds_per_result=4e-6
    )
    statistics = Statistics(rate=10.0, groups={("device",): 5}, calibration=calibration, model="calibrated")
    cost = tree_cost([query("a", 12, 4, group_by=("device",))], statistics)
    edges, omega = 0.25, 2
    assert cost.total == pytest.approx(10 * 1e-6 + 5 * edges * (2e-6 + 3e-6 * omega) + 5 * 0.25 * 4e-6)


def test_the_calibrated_cost_of_a_plan_is_its_load_besides_decoding() -> None:
    queries = [query("a", 12, 9, "sum"), query("b", 10, 6, "max", group_by=("device",)), query("c", 8, 4)]
    statistics = Statistics(rate=1e5, groups={("device",): 50}, model="calibrated")
    for strategy in ("no_share", "weave_share", "triweave", "best"):
        plan = optimize(queries, statistics, strategy=strategy)
        calibration = statistics.calibration
        busy = statistics.rate * calibration.seconds_per_event + plan.total_cost
        assert load(plan, statistics) == pytest.approx(busy / calibration.cores), strategy


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({"model": "guesses"}, "No cost model “guesses”: use one of papers, calibrated"),
        ({"passing": {"p": 1.5}}, "pass “p” must be from 0 to 1, not 1.5"),
    ],
)
def test_statistics_that_cannot_be_are_refused(known: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Statistics(**known)


def test_statistics_of_an_earlier_version_are_read() -> None:
    old = {"rate": 5.0, "groups": [], "calibration": {"seconds_per_event": 1e-6, "cores": 2}}
    assert Statistics.from_json(old).model == "papers"
