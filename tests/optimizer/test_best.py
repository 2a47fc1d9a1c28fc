"""The strategies of our own: never dearer than any other, optimal for few windows, and balanced."""

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.cost import FamilyCosts
from optimizer.group_costs import group_costs
from optimizer.queries import Query
from optimizer.search.partition import atoms_of, best_partition, optimal_partition
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from optimizer.workload import Workload
from tests.optimizer.cases import query, query_sets, statistics_sets

OTHERS = [name for name in STRATEGIES if name != "best"]
WOVEN = [  # those whose trees all read the events
    name
    for name, strategy in STRATEGIES.items()
    if strategy.kind in ("one node", "many nodes", "exact", "ours") and name not in ("triweave", "best")
]
windows = st.builds(
    lambda slide, overlap, rest: Window((slide * overlap + rest % slide) * 1000, slide * 1000),
    st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15]),
    st.integers(1, 4),
    st.integers(0, 9),
)
statistics = st.one_of(
    statistics_sets,
    st.builds(
        Statistics,
        rate=st.sampled_from([0.5, 20.0, 1e5]),
        groups=st.sampled_from([{}, {("device",): 3}]),
        model=st.just("calibrated"),
    ),
)


@settings(max_examples=60, deadline=None)
@given(queries=query_sets(), known=statistics, nodes=st.integers(1, 3))
def test_best_costs_no_more_than_any_other(queries: list[Query], known: Statistics, nodes: int) -> None:
    least = optimize(queries, known, strategy="best", nodes=nodes).total_cost
    for name in OTHERS:
        other = optimize(queries, known, strategy=name, nodes=nodes).total_cost
        assert least <= other * (1 + 1e-9), name


@settings(max_examples=60, deadline=None)
@given(queries=query_sets(), known=statistics, nodes=st.integers(1, 3))
def test_best_woven_costs_no_more_than_any_other_without_feeds(
    queries: list[Query], known: Statistics, nodes: int
) -> None:
    plan = optimize(queries, known, strategy="best_woven", nodes=nodes)
    assert all(tree.fed_by is None and tree.queries for tree in plan.trees)
    for name in WOVEN:
        other = optimize(queries, known, strategy=name, nodes=nodes).total_cost
        assert plan.total_cost <= other * (1 + 1e-9), name


@settings(max_examples=60, deadline=None)
@given(
    st.lists(windows, min_size=1, max_size=40),
    st.integers(1, 6),
    st.sampled_from([2.0, 50.0]),
    st.sampled_from(["sum", "max"]),
    st.sampled_from([None, "panes"]),
)
def test_best_balanced_leaves_no_dearer_node_than_wg_inserted(
    drawn: list[Window], nodes: int, rate: float, aggregate: str, kernel: str | None
) -> None:
    queries = [Query(f"q{i}", f"q{i}", aggregate, "v", window) for i, window in enumerate(drawn)]
    known = Statistics(rate=rate, kernel=kernel)
    balanced = optimize(queries, known, strategy="best_balanced", nodes=nodes)
    inserted = optimize(queries, known, strategy="wg_inserted", nodes=nodes)
    assert balanced.max_node_cost <= inserted.max_node_cost * (1 + 1e-9)


def partitions(items: list[Window]) -> list[list[list[Window]]]:
    if not items:
        return [[]]
    first, *rest = items
    found = []
    for smaller in partitions(rest):
        found.append([[first], *smaller])
        found += [[*smaller[:i], [first, *part], *smaller[i + 1 :]] for i, part in enumerate(smaller)]
    return found


@settings(max_examples=50, deadline=None)
@given(st.sets(windows, min_size=1, max_size=6), st.sampled_from([0.1, 1.0, 5.0]))
def test_the_optimal_partition_is_the_cheapest_of_all(drawn: set[Window], rate: float) -> None:
    costs = FamilyCosts([query("a", 1, 1, "max")], Statistics(rate=rate))
    found = optimal_partition([frozenset({window}) for window in sorted(drawn)], costs)
    least = min(sum(costs.tree(tree).total for tree in parts) for parts in partitions(sorted(drawn)))
    assert sorted(window for tree in found for window in tree) == sorted(drawn)
    assert sum(costs.tree(tree).total for tree in found) == pytest.approx(least)


@settings(max_examples=30, deadline=None)
@given(st.sets(windows, min_size=13, max_size=40), st.sampled_from([0.3, 3.0]))
def test_a_searched_partition_is_one_and_improves_on_its_starts(drawn: set[Window], rate: float) -> None:
    costs = FamilyCosts([query("a", 1, 1)], Statistics(rate=rate, kernel="panes"))
    starts = [[frozenset(drawn)], atoms_of(drawn)]
    found = best_partition(drawn, costs, starts)
    assert sorted(window for tree in found for window in tree) == sorted(drawn)
    total = sum(costs.tree(tree).total for tree in found)
    for start in starts:
        assert total <= sum(costs.tree(tree).total for tree in start) * (1 + 1e-9)
    for one, other in combinations(found, 2):  # no two trees are cheaper as one
        apart = costs.tree(one).total + costs.tree(other).total
        assert costs.tree(one | other).total >= apart * (1 - 1e-6)


@settings(max_examples=40, deadline=None)
@given(queries=query_sets(), known=statistics)
def test_the_search_reckons_what_the_plan_says(queries: list[Query], known: Statistics) -> None:
    """A feed changes what a tree's input costs and nothing else."""
    assume(queries)
    groups = STRATEGIES["best"].place(Workload(tuple(queries), known))
    plan = optimize(queries, known, strategy="best")
    assert sum(cost.total for cost in group_costs(groups, known)) == pytest.approx(plan.total_cost)
    for tree in plan.trees:
        if tree.fed_by is not None and tree.through is None:
            feeding = plan.tree(tree.fed_by)
            alone = FamilyCosts(tree.queries, known).tree(tree.windows) if tree.queries else None
            if alone and not tree.added_windows:
                saved = known.events_in(tree.key) - feeding.edge_rate * known.groups_in(feeding.key)
                assert alone.total - tree.cost == pytest.approx(known.unit_costs.fold * saved)


def fast(groups: dict[tuple[str, ...], int] | None = None) -> Statistics:
    return Statistics(rate=1e6, groups=groups or {})


def test_a_coarse_window_is_made_of_a_fine_ones_slices() -> None:
    plan = optimize([query("fine", 60, 1), query("coarse", 7200, 60)], fast(), strategy="best")
    fine, coarse = plan.tree_of("fine@60s/1s"), plan.tree_of("coarse@7200s/60s")
    assert (fine.fed_by, coarse.fed_by) == (None, fine.id)
    assert coarse.cost == pytest.approx(fine.edge_rate + coarse.edge_rate * coarse.omega)


def test_slices_that_nobody_asked_for_are_cut_where_several_trees_need_them() -> None:
    sevens = [query(f"a{i}", 70 * i, 7) for i in (1, 2, 3)]
    elevens = [query(f"b{i}", 110 * i, 11) for i in (1, 2, 3)]
    plan = optimize(sevens + elevens, Statistics(rate=5), strategy="best")
    (common,) = [tree for tree in plan.trees if not tree.queries]
    assert {tree.fed_by for tree in plan.trees if tree.queries} == {common.id}
    assert common.omega == 0


def test_two_group_bys_share_a_phantom_where_it_pays() -> None:
    queries = [query("a", 60, 10, group_by=("site",)), query("b", 60, 10, group_by=("kind",))]
    few = optimize(queries, fast({("site",): 10, ("kind",): 10}), strategy="best")
    assert {tree.key.group_by for tree in few.trees if not tree.queries} == {("kind", "site")}
    many = optimize(queries, Statistics(rate=50, groups={("site", "kind"): 10**6}), strategy="best")
    assert all(tree.fed_by is None for tree in many.trees)


def test_a_filter_that_implies_another_is_read_off_its_fragments() -> None:
    queries = [query("hot", 60, 10, where="temp > 30"), query("warm", 60, 10, where="temp > 20")]
    plan = optimize(queries, fast(), strategy="best")
    (fragments,) = [tree for tree in plan.trees if not tree.queries]
    assert (fragments.key.where, fragments.key.fragments) == ("temp > 20", ("temp > 30",))


def test_unrelated_filters_are_told_apart_on_what_either_lets_through() -> None:
    queries = [query("hot", 60, 10, where="temp > 30"), query("east", 60, 10, where="site = 'e'")]
    known = Statistics(rate=1e6, passing={"temp > 30": 0.9, "site = 'e'": 0.9})
    plan = optimize(queries, known, strategy="best")
    (fragments,) = [tree for tree in plan.trees if not tree.queries]
    assert fragments.key.where == "(site = 'e') OR (temp > 30)"
    assert fragments.key.fragments == ("site = 'e'", "temp > 30")
    seldom = Statistics(rate=1e6, passing={"temp > 30": 0.01, "site = 'e'": 0.01})
    assert optimize(queries, seldom, strategy="best").total_cost <= 1e6 * 0.02 + 10


def test_a_filter_on_what_is_grouped_by_picks_groups() -> None:
    queries = [query("all", 60, 10, group_by=("site",)), query("east", 60, 10, where="site = 'e'")]
    plan = optimize(queries, fast({("site",): 10}), strategy="best")
    assert plan.tree_of("east@60s/10s").fed_by == plan.tree_of("all@60s/10s").id


def test_a_count_is_read_off_the_moments_of_a_standard_deviation() -> None:
    queries = [query("spread", 60, 10, "stddev"), query("total", 120, 10, "sum")]
    assert len(optimize(queries, fast(), strategy="best_woven").trees) == 1


def test_abler_nodes_are_given_more() -> None:
    queries = [query(f"q{i}", 7 + i, 7 + i, field=f"f{i}") for i in range(12)]
    for strategy in ("best", "best_woven", "best_balanced"):
        plan = optimize(queries, Statistics(rate=100), strategy=strategy, nodes=[2, 1, 1])
        assert plan.node_costs[0] == pytest.approx(2 * plan.node_costs[1], rel=0.05), strategy
