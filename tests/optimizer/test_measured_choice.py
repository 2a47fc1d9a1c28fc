"""Kernels chosen by the seconds that they were measured to take."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.optimizer.workloads import as_queries
from optimizer import Statistics, optimize
from optimizer.cost import Calibration, FamilyCosts, tree_cost
from optimizer.kernel_costs import KernelCost, KernelCosts
from optimizer.search.partition import optimal_partition
from optimizer.strategies import STRATEGIES
from optimizer.strategies.window_trees import WindowTrees
from optimizer.throughput import load
from optimizer.weaver import weave
from optimizer.windows import Window
from optimizer.workload import Workload
from tests.optimizer.cases import query
from tests.optimizer.measured import drawn_costs, flat_costs
from tests.optimizer.test_best import partitions
from tests.optimizer.test_weave_share import literal_weave, rates, window_sets

few_windows = st.builds(lambda windows: frozenset(sorted(windows)[:5]), window_sets)
aggregates = st.sampled_from(["sum", "max", "count", "stddev"])
seeds = st.integers(0, 1000)


def known(kernels: KernelCosts | None, **more: object) -> Statistics:
    statistics = Statistics(rate=10.0, model="calibrated", calibration=Calibration(kernels=kernels))
    return replace(statistics, **more)  # type: ignore[arg-type]


def chosen(kernels: KernelCosts, *queries: tuple[int, int], aggregate: str = "sum") -> str:
    windows = [query(f"q{number}", *window, aggregate) for number, window in enumerate(queries)]
    kernel = tree_cost(windows, known(kernels)).kernel
    assert kernel is not None
    return kernel.name


def test_the_kernel_with_the_fewest_seconds_is_taken() -> None:
    assert chosen(flat_costs(panes=1e-8, flatfit=2e-8), (60, 1)) == "panes"
    assert chosen(flat_costs(panes=2e-8, flatfit=1e-8), (60, 1)) == "flatfit"
    assert chosen(flat_costs(b_int=2e-8, van_herk=1e-8, daba=3e-8), (60, 1), (30, 1)) == "van_herk"


def test_the_choice_follows_the_window() -> None:
    points = [("panes", 1, 1e-9), ("panes", 1000, 1e-6), ("flatfit", 1, 3e-8)]
    kernels = KernelCosts(tuple(KernelCost(name, "sum", 1, window, 1, s) for name, window, s in points))
    assert chosen(kernels, (5, 1)) == "panes"
    assert chosen(kernels, (500, 1)) == "flatfit"


def test_a_kernel_that_cannot_share_is_taken_for_one_window_only() -> None:
    kernels = flat_costs(two_stacks=1e-9, flatfit=1e-8)
    assert chosen(kernels, (60, 1)) == "two_stacks"
    assert chosen(kernels, (60, 1), (30, 1)) == "flatfit"


def test_no_kernel_is_taken_that_an_aggregate_of_the_tree_does_not_allow() -> None:
    kernels = flat_costs(prefix_difference=1e-9, slickdeque_inv=2e-9, sparse_table=3e-9, flatfit=1e-8)
    assert chosen(kernels, (60, 1), aggregate="count") == "prefix_difference"
    assert chosen(kernels, (60, 1), aggregate="sum") == "slickdeque_inv"
    assert chosen(kernels, (60, 1), aggregate="max") == "sparse_table"
    assert chosen(kernels, (60, 1), aggregate="stddev") == "flatfit"
    mixed = [query("a", 60, 1, "sum"), query("b", 30, 1, "stddev")]
    cost = tree_cost(mixed, known(kernels))
    assert cost.kernel is not None and cost.kernel.name == "flatfit"


def test_where_nothing_is_due_at_most_edges_only_the_standing_work_is_left() -> None:
    kernels = flat_costs(panes=1.5e-8, accumulators=1e-8)
    assert chosen(kernels, (60, 1)) == "accumulators"
    assert chosen(kernels, (61, 30)) == "panes"  # half of the edges end no window


def test_a_tree_costs_the_seconds_that_were_measured() -> None:
    statistics = known(flat_costs(flatfit=5e-8), groups={("device",): 7})
    cost = tree_cost([query("a", 60, 1, group_by=("device",))], statistics)
    assert cost.total == pytest.approx(10 * 0.3e-6 + 7 * 5e-8)
    assert cost.omega == 3
    both = tree_cost([query("a", 60, 1, "range")], statistics)
    assert both.total == pytest.approx(10 * 0.3e-6 + 2 * 5e-8)


def test_kernels_that_were_not_measured_are_counted_by_operations() -> None:
    queries = [query("a", 60, 1), query("b", 30, 1)]
    assert tree_cost(queries, known(flat_costs(two_stacks=1e-9))) == tree_cost(queries, known(None))
    wanted = known(flat_costs(panes=1e-9), kernel="flatfit")
    assert tree_cost(queries, wanted) == tree_cost(queries, known(None, kernel="flatfit"))


def test_the_papers_model_knows_no_seconds() -> None:
    queries = [query("a", 60, 1), query("b", 30, 7)]
    papers = known(flat_costs(panes=1e-12), model="papers")
    assert optimize(queries, papers) == optimize(queries, Statistics(rate=10.0))


def test_measured_costs_travel_with_the_statistics() -> None:
    statistics = known(drawn_costs(3))
    assert Statistics.from_json(statistics.to_json()) == statistics


@settings(max_examples=25)
@given(window_sets, rates, aggregates, seeds)
def test_weaving_merges_as_the_literal_algorithm_does(
    windows: frozenset[Window], rate: float, aggregate: str, seed: int
) -> None:
    ordered = sorted(windows)
    costs = FamilyCosts(as_queries(ordered, aggregate), known(drawn_costs(seed), rate=rate))
    assert set(weave([[window] for window in ordered], costs)) == literal_weave(ordered, costs)


@settings(max_examples=25)
@given(few_windows, rates, aggregates, seeds)
def test_the_best_plans_are_the_cheapest_of_all_partitions(
    windows: frozenset[Window], rate: float, aggregate: str, seed: int
) -> None:
    statistics, ordered = known(drawn_costs(seed), rate=rate), sorted(windows)
    queries = as_queries(ordered, aggregate)
    costs = FamilyCosts(queries, statistics)
    least = min(sum(costs.tree(tree).total for tree in parts) for parts in partitions(ordered))
    found = optimal_partition([frozenset({window}) for window in ordered], costs)
    assert sum(costs.tree(tree).total for tree in found) == pytest.approx(least)
    for strategy in ("exhaustive", "best_woven"):
        assert optimize(queries, statistics, strategy=strategy).total_cost == pytest.approx(least)
    assert optimize(queries, statistics, strategy="best").total_cost <= least * (1 + 1e-9)


@settings(max_examples=25)
@given(few_windows, rates, aggregates, seeds)
def test_bounds_of_trees_hold(windows: frozenset[Window], rate: float, aggregate: str, seed: int) -> None:
    statistics = known(drawn_costs(seed), rate=rate)
    trees = WindowTrees(as_queries(sorted(windows), aggregate), Workload((), statistics))
    everything = frozenset(range(len(trees.units)))
    for unit in everything:
        rest, alone = everything - {unit}, frozenset({unit})
        freed = trees.cost(everything) - trees.cost(rest)
        assert trees.freed_at_most(everything, unit) >= freed - 1e-9 * trees.cost(everything)
        if rest:
            assert trees.merged_cost_at_least(rest, alone) <= trees.cost(everything) * (1 + 1e-9)
        assert trees.cost_at_least(alone, trees.edge_rate(alone)) <= trees.cost(everything) * (1 + 1e-9)


@settings(max_examples=15)
@given(few_windows, aggregates, seeds, st.sampled_from(sorted(STRATEGIES)))
def test_every_strategy_plans_with_measured_kernels(
    windows: frozenset[Window], aggregate: str, seed: int, strategy: str
) -> None:
    statistics = known(drawn_costs(seed))
    queries = as_queries(sorted(windows), aggregate)
    plan = optimize(queries, statistics, strategy=strategy)
    assert sorted(one.id for one in plan.queries) == sorted(one.id for one in queries)


@settings(max_examples=25)
@given(few_windows, aggregates, seeds)
def test_the_cost_of_a_plan_is_its_load_besides_decoding(
    windows: frozenset[Window], aggregate: str, seed: int
) -> None:
    statistics = known(drawn_costs(seed))
    plan = optimize(as_queries(sorted(windows), aggregate), statistics, strategy="best_woven")
    calibration = statistics.calibration
    busy = statistics.rate * calibration.seconds_per_event + plan.total_cost
    assert load(plan, statistics) == pytest.approx(busy / calibration.cores)
