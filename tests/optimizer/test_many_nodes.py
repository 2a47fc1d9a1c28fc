from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.cost import Statistics, tree_cost
from optimizer.planning import group_costs
from optimizer.queries import Query
from optimizer.strategies import many_nodes
from optimizer.strategies.many_nodes import (
    g_random,
    g_round_robin,
    g_to_lowest,
    w_inserted,
    w_random,
    w_round_robin,
    w_to_lowest,
    w_to_nodes,
    wg_inserted,
    wg_random,
    wg_round_robin,
    wg_to_lowest,
    wg_to_nodes,
)
from optimizer.strategies.placement import Loom, Placement
from optimizer.strategies.weave_share import weave_share
from optimizer.weaving import families, family_key
from optimizer.workload import Group, Workload
from tests.optimizer.cases import (
    SLIDES,
    cost_by_enumeration,
    edges_per_second,
    query,
    query_sets,
    statistics_sets,
)

Place = Callable[[Workload], list[Group]]
Nodes = list[list[list[Query]]]  # by node, the queries of each tree

ALL: list[Place] = [getattr(many_nodes, name) for name in many_nodes.__all__]
GROUP_ONLY: list[Place] = [g_random, g_round_robin, g_to_lowest]
WEAVE_ONLY: list[Place] = [w_random, w_round_robin, w_to_lowest, w_to_nodes, w_inserted]
few_examples = settings(max_examples=25)  # for each of the strategies
capacity_lists = st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=12)

# Tumbling windows under Panes, for costs by hand: 1/10, 1/20, 1/7 and 1/14 edges a second.
A, B, C, D = (query(name, slide, slide) for name, slide in (("a", 10), ("b", 20), ("c", 7), ("d", 14)))
FAST = Statistics(rate=1, kernel="panes")  # a fold costs more than any weaving
SLOW = Statistics(rate=0.01, kernel="panes")  # no weaving saves: even a and b take 0.2 steps instead of 0.15


def named(groups: list[Group]) -> dict[int, set[str]]:
    """The trees of each node, written as the names of their queries."""
    nodes: dict[int, set[str]] = {}
    for group in groups:
        nodes.setdefault(group.node, set()).add("".join(sorted(query.name for query in group.queries)))
    return nodes


def placed(
    place: Place, statistics: Statistics, nodes: tuple[float, ...] = (1.0, 1.0)
) -> dict[int, set[str]]:
    return named(place(Workload((A, B, C, D), statistics, tuple(nodes))))


def node_costs(groups: list[Group], workload: Workload) -> list[float]:
    costs = [0.0 for _ in workload.nodes]
    for group in groups:
        costs[group.node] += cost_by_enumeration(group.queries, workload.statistics)
    return costs


# What holds for all of them


@pytest.mark.parametrize("place", ALL)
@few_examples
@given(
    queries=query_sets(),
    statistics=statistics_sets,
    nodes=capacity_lists,
    seed=st.integers(0, 9),
    together=st.booleans(),
)
def test_every_query_is_in_one_tree_of_its_family_on_a_node_that_exists(
    place: Place,
    queries: list[Query],
    statistics: Statistics,
    nodes: list[float],
    seed: int,
    together: bool,
) -> None:
    groups = place(Workload(tuple(queries), statistics, tuple(nodes), seed, together))
    assert Counter(query.id for group in groups for query in group.queries) == Counter(q.id for q in queries)
    assert all(len(families(group.queries)) == 1 for group in groups)
    assert all(0 <= group.node < len(nodes) for group in groups)
    for group, cost in zip(groups, group_costs(groups, statistics), strict=True):
        assert cost.total == pytest.approx(cost_by_enumeration(group.queries, statistics))


@pytest.mark.parametrize("place", GROUP_ONLY)
@few_examples
@given(queries=query_sets(), nodes=capacity_lists)
def test_grouping_only_leaves_every_query_a_tree_of_its_own(
    place: Place, queries: list[Query], nodes: list[float]
) -> None:
    groups = place(Workload(tuple(queries), Statistics(), tuple(nodes)))
    assert all(len(group.queries) == 1 for group in groups)


@pytest.mark.parametrize("place", WEAVE_ONLY)
@few_examples
@given(queries=query_sets(), statistics=statistics_sets, nodes=capacity_lists)
def test_weaving_only_has_at_most_one_tree_of_a_family_on_a_node(
    place: Place, queries: list[Query], statistics: Statistics, nodes: list[float]
) -> None:
    groups = place(Workload(tuple(queries), statistics, tuple(nodes)))
    trees = Counter((group.key, group.node) for group in groups)
    assert set(trees.values()) <= {1}


@pytest.mark.parametrize("place", ALL)
@few_examples
@given(queries=query_sets(), nodes=capacity_lists, seed=st.integers(0, 9))
def test_queries_with_the_same_edges_start_out_together_on_demand(
    place: Place, queries: list[Query], nodes: list[float], seed: int
) -> None:
    never_woven = Statistics(rate=0.0)
    groups = place(Workload(tuple(queries), never_woven, tuple(nodes), seed, same_slides_together=True))
    tree_of = {query.id: position for position, group in enumerate(groups) for query in group.queries}
    for one, other in combinations(queries, 2):
        if family_key(one) == family_key(other) and one.window.edge_classes == other.window.edge_classes:
            assert tree_of[one.id] == tree_of[other.id]


@pytest.mark.parametrize("place", ALL)
def test_a_seed_always_gives_the_same_plan(place: Place) -> None:
    workload = Workload(one_family(Random(3), 40), Statistics(rate=3.7), (1.0,) * 5, seed=11)
    assert place(workload) == place(workload)


@pytest.mark.parametrize("place", [g_random, w_random, wg_random, w_inserted, wg_inserted])
def test_another_seed_draws_other_lots(place: Place) -> None:
    workload = Workload(one_family(Random(3), 40), Statistics(rate=3.7), (1.0,) * 5, seed=11)
    assert place(workload) != place(replace(workload, seed=12))


@pytest.mark.parametrize("place", ALL)
def test_no_queries_make_no_trees(place: Place) -> None:
    assert place(Workload((), Statistics(), (1.0, 1.0))) == []


@pytest.mark.parametrize(
    "place", [g_round_robin, g_to_lowest, w_to_nodes, wg_to_nodes, w_inserted, wg_inserted]
)
def test_with_more_nodes_than_queries_each_has_a_node_and_the_others_stay_empty(place: Place) -> None:
    groups = place(Workload((A, B), FAST, (1.0,) * 5))
    assert len({group.node for group in groups}) == 2


# Examples by hand


def test_round_robin_takes_nodes_in_turn() -> None:
    assert placed(g_round_robin, FAST) == {0: {"a", "c"}, 1: {"b", "d"}}
    assert placed(w_round_robin, FAST) == {0: {"ac"}, 1: {"bd"}}


def test_weaving_and_grouping_by_turns_adds_a_tree_and_weaves_into_the_next() -> None:
    assert placed(wg_round_robin, FAST, nodes=(1.0,)) == {0: {"ab", "cd"}}


def test_to_lowest_places_the_dearest_first() -> None:
    # Costs 1 + 1/7 (c), 1 + 1/10 (a), 1 + 1/14 (d), 1 + 1/20 (b): d joins a, then b joins c.
    assert placed(g_to_lowest, FAST) == {0: {"b", "c"}, 1: {"a", "d"}}
    assert placed(w_to_lowest, FAST) == {0: {"bc"}, 1: {"ad"}}


def test_to_lowest_weaves_only_where_that_adds_less() -> None:
    # d into a: E = 1/10 + 1/14 − 1/70, two steps each: 0.214 more, against λ + 1/14 for a tree of its own.
    assert placed(wg_to_lowest, FAST) == {0: {"bc"}, 1: {"ad"}}
    assert placed(wg_to_lowest, SLOW) == {0: {"b", "c"}, 1: {"a", "d"}}


def test_to_nodes_weaves_what_saves_most_until_each_node_has_a_tree() -> None:
    # As one, a and b take 2/10 steps (0.05 more than apart), c and d 2/7 (0.071 more); all else is dearer.
    assert placed(w_to_nodes, FAST) == {0: {"cd"}, 1: {"ab"}}
    assert placed(wg_to_nodes, FAST) == {0: {"cd"}, 1: {"ab"}}
    assert placed(w_to_nodes, FAST, nodes=(1.0,) * 3) == {0: {"ab"}, 1: {"c"}, 2: {"d"}}


def test_to_nodes_weaves_at_a_loss_or_groups_what_weave_share_leaves() -> None:
    assert placed(w_to_nodes, SLOW) == {0: {"cd"}, 1: {"ab"}}
    assert placed(wg_to_nodes, SLOW) == {0: {"b", "c"}, 1: {"a", "d"}}


def test_an_inserted_query_goes_where_the_least_load_results() -> None:
    # 30 s every 10 s costs 1.3; with d 1 + 0.157·4 = 1.63, with c 1.91, while c with d is 1 + 2/7 = 1.29.
    # Lots decide which two of them come first.
    a = query("a", 30, 10)
    outcomes = set()
    for seed in range(20):
        nodes = named(w_inserted(Workload((a, C, D), FAST, (1.0, 1.0), seed)))
        outcomes.add(frozenset(tree for trees in nodes.values() for tree in trees))
    assert outcomes == {frozenset({"a", "cd"}), frozenset({"ad", "c"})}


def test_an_inserted_query_is_a_tree_of_its_own_where_weaving_adds_more() -> None:
    for seed in range(6):
        nodes = named(wg_inserted(Workload((A, B, C, D), SLOW, (1.0, 1.0), seed)))
        assert sorted(tree for trees in nodes.values() for tree in trees) == ["a", "b", "c", "d"]


# Against the algorithms written out, on sets without ties


def one_family(draws: Random, count: int) -> tuple[Query, ...]:
    """Different windows of one family."""
    windows = set()
    while len(windows) < count:
        slide = draws.choice(SLIDES)
        windows.add((slide + draws.randint(0, 60), slide))
    return tuple(query(f"q{i:02}", length, slide, "max") for i, (length, slide) in enumerate(sorted(windows)))


CASES = [
    (seed, rate, nodes) for seed, rate in enumerate([0.037, 0.37, 1.13, 3.7, 41.0]) for nodes in (2, 3, 7)
]
without_ties = pytest.mark.parametrize(("seed", "rate", "nodes"), CASES)


def drawn(seed: int, rate: float, nodes: int) -> Workload:
    return Workload(one_family(Random(seed), 14), Statistics(rate=rate, kernel="panes"), (1.0,) * nodes, seed)


def trees_of(groups: list[Group]) -> set[frozenset[Query]]:
    return {frozenset(group.queries) for group in groups}


def nodes_of(groups: list[Group]) -> set[frozenset[frozenset[Query]]]:
    return {frozenset(trees_of([g for g in groups if g.node == node])) for node in {g.node for g in groups}}


def as_sets(nodes: Nodes) -> set[frozenset[frozenset[Query]]]:
    return {frozenset(frozenset(tree) for tree in trees) for trees in nodes if trees}


def load(trees: Sequence[Sequence[Query]], workload: Workload) -> float:
    """λ + E·Ω of each tree under Panes, whose Ω differs wherever windows do."""
    return sum(
        workload.statistics.rate
        + edges_per_second({query.window for query in tree})
        * sum(query.window.range / query.window.slide for query in tree)
        for tree in trees
    )


def with_query(trees: Sequence[list[Query]], position: int, added: list[Query]) -> list[list[Query]]:
    return [tree + added if place == position else tree for place, tree in enumerate(trees)]


def literal_to_lowest(workload: Workload, category: str, trees: Sequence[list[Query]]) -> Nodes:
    nodes: Nodes = [[] for _ in workload.nodes]
    for tree in sorted(trees, key=lambda tree: -load([tree], workload)):
        lowest = min(range(len(nodes)), key=lambda node: load(nodes[node], workload))
        there = nodes[lowest]
        grouped = [*there, tree]
        if not there or category == "g":
            nodes[lowest] = grouped
            continue
        cheapest = min(range(len(there)), key=lambda position: load([there[position]], workload))
        woven = with_query(there, cheapest, tree)
        apart = category == "wg" and load(grouped, workload) < load(woven, workload)
        nodes[lowest] = grouped if apart else woven
    return nodes


def literal_inserted(workload: Workload, category: str) -> Nodes:
    first = Random(workload.seed).sample(range(len(workload.queries)), len(workload.nodes))
    nodes: Nodes = [[[workload.queries[number]]] for number in first]
    for number, inserted in enumerate(workload.queries):
        if number in first:
            continue
        options = [
            (load(woven, workload), node, woven)
            for node, trees in enumerate(nodes)
            for woven in (with_query(trees, position, [inserted]) for position in range(len(trees)))
        ]
        least, node, woven = min(options, key=lambda option: option[0])
        lowest = min(range(len(nodes)), key=lambda node: load(nodes[node], workload))
        if category == "wg" and load([[inserted]], workload) < least - load(nodes[node], workload):
            nodes[lowest] = [*nodes[lowest], [inserted]]
        else:
            nodes[node] = woven
    return nodes


def literal_to_nodes(workload: Workload, category: str) -> list[list[Query]]:
    trees = [[query] for query in workload.queries]
    while len(trees) > len(workload.nodes):
        savings = {
            (one, other): load([trees[one], trees[other]], workload)
            - load([trees[one] + trees[other]], workload)
            for one, other in combinations(range(len(trees)), 2)
        }
        one, other = max(savings, key=lambda pair: savings[pair])
        if category == "wg" and savings[one, other] <= 0:
            break
        merged = trees[one] + trees[other]
        trees = [tree for number, tree in enumerate(trees) if number not in (one, other)] + [merged]
    return trees


@without_ties
@pytest.mark.parametrize("place", [g_to_lowest, w_to_lowest, wg_to_lowest])
def test_to_lowest_places_as_algorithm_4_does(place: Place, seed: int, rate: float, nodes: int) -> None:
    workload = drawn(seed, rate, nodes)
    category = place.__name__.partition("_")[0]
    literal = literal_to_lowest(workload, category, [[query] for query in workload.queries])
    assert nodes_of(place(workload)) == as_sets(literal)


@without_ties
def test_to_nodes_weaves_as_algorithm_5_does(seed: int, rate: float, nodes: int) -> None:
    workload = drawn(seed, rate, nodes)
    woven = literal_to_nodes(workload, "w")
    assert trees_of(w_to_nodes(workload)) == {frozenset(tree) for tree in woven}
    spread = literal_to_lowest(workload, "g", literal_to_nodes(workload, "wg"))
    assert nodes_of(wg_to_nodes(workload)) == as_sets(spread)


@without_ties
@pytest.mark.parametrize("place", [w_inserted, wg_inserted])
def test_queries_are_inserted_as_the_text_of_algorithm_6_says(
    place: Place, seed: int, rate: float, nodes: int
) -> None:
    workload = drawn(seed, rate, nodes)
    assert nodes_of(place(workload)) == as_sets(literal_inserted(workload, place.__name__.partition("_")[0]))


# Families, capacities, costs


@given(query_sets(), statistics_sets, st.integers(1, 12))
def test_to_nodes_groups_the_trees_of_weave_share_where_they_outnumber_the_nodes(
    queries: list[Query], statistics: Statistics, nodes: int
) -> None:
    workload = Workload(tuple(queries), statistics, (1.0,) * nodes)
    woven, placed_trees = weave_share(workload), wg_to_nodes(workload)
    if len(woven) >= nodes:
        assert trees_of(placed_trees) == trees_of(woven)
    else:
        assert len(woven) <= len(placed_trees) <= nodes


def test_families_share_the_nodes_that_weaving_would_leave_empty() -> None:
    dear = [query(f"dear{slide}", 10 * slide, slide) for slide in (1, 2, 4, 8)]
    cheap = [query(f"cheap{slide}", slide, slide, "max") for slide in (5, 10, 20)]
    statistics = Statistics(rate=20, kernel="panes")  # one tree each costs 20 + 0.2·3 and 20 + 1·40
    groups = wg_to_nodes(Workload((*cheap, *dear), statistics, (1.0,) * 4))
    assert Counter(group.key.family for group in groups) == {"additive": 3, "max": 1}


def test_a_node_that_can_do_twice_as_much_gets_twice_the_cost() -> None:
    workload = Workload(one_family(Random(5), 60), Statistics(rate=3.7), (1.0, 2.0, 1.0))
    for place in (g_to_lowest, wg_to_lowest, wg_inserted):
        one, two, other = node_costs(place(workload), workload)
        assert two == pytest.approx(one + other, rel=0.15), place.__name__


def test_the_dearest_tree_goes_to_the_ablest_node() -> None:
    assert placed(w_to_nodes, FAST, nodes=(1.0, 3.0)) == {0: {"ab"}, 1: {"cd"}}


@given(query_sets(), statistics_sets, st.randoms(use_true_random=False))
def test_a_tree_that_was_woven_step_by_step_costs_what_its_queries_do(
    queries: list[Query], statistics: Statistics, draws: Random
) -> None:
    draws.shuffle(queries)
    loom = Loom(queries, statistics)
    for family in families(queries):
        tree = loom.tree_of(family[:1])
        for added in family[1:]:
            expected = loom.cost(tree, loom.tree_of([added]))
            tree = loom.woven(tree, loom.tree_of([added]))
            assert tree.cost == expected
        assert tree.cost == pytest.approx(cost_by_enumeration(family, statistics))
        assert set(tree.queries) == set(family)


def test_a_richer_aggregate_takes_a_poorer_one_in_and_both_cost_what_they_do_together() -> None:
    statistics = Statistics(rate=2)
    for rich, poor in (("stddev", "sum"), ("range", "max")):
        queries = [query("poor", 20, 10, poor), query("rich", 60, 10, rich)]
        loom = Loom(queries, statistics)
        tree, added = (loom.tree_of([one]) for one in queries)
        woven = loom.woven(tree, added)
        assert woven.cost == loom.cost(tree, added) == tree_cost(queries, statistics).total
        assert woven.key == loom.tree_of(queries).key


def test_only_trees_of_one_family_are_woven_and_a_range_makes_one_of_minima_and_maxima() -> None:
    low, high, both = query("low", 10, 10, "min"), query("high", 10, 10, "max"), query("both", 70, 7, "range")
    apart = Workload((high, low), FAST, (1.0,))
    joined = Workload((both, high, low), FAST, (1.0,))
    for place in (w_random, w_round_robin, w_to_lowest, w_to_nodes, w_inserted):
        assert named(place(apart)) == {0: {"high", "low"}}
        assert len(place(joined)) == 1
    slow = replace(joined, statistics=SLOW)
    for place in ALL:
        groups = place(slow)
        assert sum(len(group.queries) for group in groups) == 3
        assert [cost.total for cost in group_costs(groups, SLOW)] == [
            tree_cost(group.queries, SLOW).total for group in groups
        ]


def test_a_node_keeps_count_of_what_its_trees_cost() -> None:
    placement = Placement(Workload((A, B, C, D), FAST, (1.0, 4.0)))
    a, b, c = (placement.loom.tree_of([one]) for one in (A, B, C))
    placement.add(a, 1)
    placement.weave(b, 1, 0)
    placement.add(c, 1)
    assert placement.load(1) == pytest.approx((1.2 + 1 + 1 / 7) / 4)
    assert placement.load(0) == 0
    assert placement.lowest() == 0
