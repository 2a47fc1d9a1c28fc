"""A running plan follows edits: every query is placed once, and trees that an edit does not touch stay."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.group_costs import group_costs
from optimizer.incremental import MOST_CLASSES, adapt
from optimizer.plan import Plan, Tree
from optimizer.plan_edit import as_groups
from optimizer.planning import planned
from optimizer.queries import Query
from optimizer.windows import Window
from optimizer.workload import Group, Workload
from tests.optimizer.cases import SLIDES, cost_by_enumeration, query, statistics_sets

A, B = query("a", 60, 10), query("b", 50, 10)
MANY = Statistics(rate=1000.0)  # sharing pays
FEW = Statistics(rate=0.01)  # folding an event costs next to nothing


def running(queries: list[Query], statistics: Statistics, nodes: int = 1) -> Plan:
    return optimize(queries, statistics, source="s", version=7, nodes=nodes)


def test_a_new_query_joins_the_tree_where_it_adds_least() -> None:
    plan = running([A, query("seven", 7, 7)], FEW)
    adapted = adapt(plan, [*plan.queries, B], FEW)
    assert adapted.plan.tree_of(B.id).id == plan.tree_of(A.id).id
    assert adapted.changed_trees == (plan.tree_of(A.id).id,)
    assert adapted.plan.version == 8
    assert adapted.plan.tree_of("seven@7s/7s") is plan.tree_of("seven@7s/7s")


def test_a_new_query_that_is_cheaper_alone_gets_a_tree_with_a_new_id() -> None:
    plan = running([A], FEW)
    adapted = adapt(plan, [A, query("seven", 7, 7)], FEW)
    assert adapted.plan.tree_of("seven@7s/7s").id == "2"
    assert adapted.changed_trees == ("2",)
    assert adapted.plan.next_tree == 3


def test_a_tree_of_its_own_goes_to_the_node_with_most_room() -> None:
    plan = replace(running([A], FEW), nodes=(1.0, 1.0, 8.0))
    new = [query("eleven", 11, 11), query("seven", 7, 7), query("thirteen", 13, 13)]
    adapted = adapt(plan, [A, *new], FEW)
    assert [adapted.plan.tree_of(each.id).node for each in new] == [1, 2, 2]


def test_a_removed_query_leaves_its_tree_and_an_emptied_tree_goes() -> None:
    plan = running([A, B, query("seven", 7, 7)], FEW)
    adapted = adapt(plan, [A], FEW)
    assert [tree.queries for tree in adapted.plan.trees] == [(A,)]
    assert adapted.plan.tree_of(A.id).id == plan.tree_of(A.id).id
    assert adapted.changed_trees == tuple(tree.id for tree in plan.trees)
    assert adapted.plan.next_tree == plan.next_tree  # ids that have gone are not given out again


def test_queries_that_shared_only_for_one_that_went_part() -> None:
    one, two, bridge = query("one", 6, 6), query("two", 10, 10), query("bridge", 60, 2)
    statistics = Statistics(rate=0.3)
    workload = Workload((bridge, one, two), statistics)
    plan = planned(
        [Group.of(workload.queries)], workload, source="s", version=1, strategy="weave_share", previous=None
    )
    adapted = adapt(plan, [one, two], statistics)
    assert cost_by_enumeration([one, two], statistics) > sum(
        cost_by_enumeration([each], statistics) for each in (one, two)
    )
    assert [len(tree.queries) for tree in adapted.plan.trees] == [1, 1]
    assert [tree.id for tree in adapted.plan.trees] == ["1", "2"]


def test_an_edited_query_keeps_its_tree_where_it_still_fits() -> None:
    plan = running([A], FEW)
    longer = replace(A, window=Window(70_000, 7_000))
    adapted = adapt(plan, [longer], FEW)
    assert [(tree.id, tree.queries) for tree in adapted.plan.trees] == [("1", (longer,))]
    other_family = replace(A, aggregate="max")
    assert [tree.id for tree in adapt(plan, [other_family], FEW).plan.trees] == ["2"]


def test_a_new_name_changes_nothing_but_the_name() -> None:
    plan = running([A, B], MANY)
    renamed = replace(A, name="another")
    adapted = adapt(plan, [renamed, B], MANY)
    [tree], [before] = adapted.plan.trees, plan.trees
    assert tree == replace(before, queries=(B, renamed))


def test_without_an_edit_every_tree_is_the_same_object() -> None:
    plan = running([A, B, query("max", 60, 10, "max")], MANY)
    adapted = adapt(plan, plan.queries, MANY)
    assert adapted.changed_trees == ()
    assert all(new is old for new, old in zip(adapted.plan.trees, plan.trees, strict=True))


def test_it_says_what_optimizing_everything_would_gain_and_does_so_above_the_threshold() -> None:
    plan = optimize([A, B], MANY, source="s", version=7, strategy="no_share")
    plan = replace(plan, strategy="weave_share")  # two trees run that weaving would make one of
    adapted = adapt(plan, [A, B, query("c", 30, 10)], MANY)
    assert [len(tree.queries) for tree in adapted.plan.trees] == [2, 1]
    full = cost_by_enumeration([A, B, query("c", 30, 10)], MANY)
    assert adapted.gain_of_full == pytest.approx(1 - full / adapted.plan.total_cost)
    assert [len(tree.queries) for tree in adapted.settled().trees] == [3]
    assert adapted.settled().version == 8
    patient = adapt(plan, [A, B, query("c", 30, 10)], MANY, threshold=0.9)
    assert patient.settled() is patient.plan


def test_a_changed_rate_counts_when_gains_are_worked_out() -> None:
    plan = running([A, query("seven", 7, 7)], FEW)
    adapted = adapt(plan, plan.queries, MANY)
    apart = sum(cost_by_enumeration([each], MANY) for each in plan.queries)
    assert adapted.changed_trees == ()
    assert adapted.gain_of_full == pytest.approx(1 - cost_by_enumeration(plan.queries, MANY) / apart)


def fed_plan(*groups_of_queries: list[Query], strategy: str = "weave_share") -> Plan:
    """Slices of 10 s for trees that are made of them."""
    key = Group.of(groups_of_queries[0]).key
    feeding = Group((), key, added_windows=(Window(10_000, 10_000),))
    groups = [feeding, *(Group(tuple(queries), key, feed=0) for queries in groups_of_queries)]
    return planned(groups, Workload((), MANY), source="s", version=1, strategy=strategy, previous=None)


def test_a_query_leaves_a_fed_tree_and_the_others_stay() -> None:
    c = query("c", 30, 10)
    plan = fed_plan([A], [B, c])
    adapted = adapt(plan, [A, B], MANY)
    assert adapted.changed_trees == (plan.tree_of(B.id).id,)
    tree = adapted.plan.tree_of(B.id)
    assert (tree.fed_by, tree.cost) == (plan.tree_of(B.id).fed_by, pytest.approx(0.1 + 0.1 * 2))


def test_what_feeds_a_single_tree_is_given_up_where_that_tree_is_cheaper_alone() -> None:
    adapted = adapt(fed_plan([A], [B]), [A], MANY)
    [tree] = adapted.plan.trees
    assert (tree.id, tree.fed_by, tree.cost) == ("3", None, pytest.approx(1000 + 0.1 * 2))
    assert adapted.changed_trees == ("1", "2", "3")
    assert adapt(fed_plan([A], [B]), [], MANY).plan.trees == ()


def test_a_tree_that_was_there_for_one_query_alone_goes_with_it() -> None:
    c, key = query("c", 40, 20), Group.of([A]).key
    groups = [
        Group((), key, added_windows=(Window(10_000, 10_000),)),
        Group((A,), key, feed=0),
        Group((B,), key, feed=0),
        Group((), key, feed=0, added_windows=(Window(20_000, 20_000),)),
        Group((c,), key, feed=3),
    ]
    plan = planned(groups, Workload((), MANY), source="s", version=1, strategy="weave_share", previous=None)
    adapted = adapt(plan, [A, B], MANY)
    assert set(adapted.changed_trees) == {plan.tree_of(c.id).id, plan.tree_of(c.id).fed_by}
    assert [tree.queries for tree in adapted.plan.trees] == [(), (B,), (A,)]


def test_a_tree_keeps_the_slices_that_others_are_made_of_when_its_query_goes() -> None:
    c = query("c", 20, 20)
    groups = [Group.of([A]), Group((B,), Group.of([A]).key, feed=0), Group((c,), Group.of([A]).key, feed=0)]
    plan = planned(groups, Workload((), MANY), source="s", version=1, strategy="weave_share", previous=None)
    adapted = adapt(plan, [B, c], MANY)
    feeding = adapted.plan.tree(plan.tree_of(A.id).id)
    assert (feeding.queries, feeding.kernel, feeding.added_windows) == ((), "", (A.window,))
    assert feeding.cost == pytest.approx(1000)
    assert adapted.changed_trees == (feeding.id,)


def test_the_last_of_linked_trees_needs_only_what_its_queries_ask_for() -> None:
    c = query("c", 20, 20)
    groups = [
        Group((c,), Group.of([c]).key, added_windows=(A.window,)),
        Group((A,), Group.of([A]).key, feed=0),
    ]
    plan = planned(groups, Workload((), MANY), source="s", version=1, strategy="weave_share", previous=None)
    [tree] = adapt(plan, [c], MANY).plan.trees
    assert (tree.added_windows, tree.edge_rate) == ((), 0.05)


def test_a_new_query_is_made_of_slices_that_are_there_already() -> None:
    plan = fed_plan([A], [B])
    adapted = adapt(plan, [A, B, query("c", 30, 10)], MANY)
    tree = adapted.plan.tree_of("c@30s/10s")
    assert (tree.fed_by, tree.cost) == ("1", pytest.approx(0.1 + 0.1 * 2))
    assert adapted.plan.trees[:3] == plan.trees
    assert adapted.changed_trees == (tree.id,)


def test_a_new_query_with_a_window_that_a_linked_tree_answers_joins_it() -> None:
    plan = fed_plan([A], [B])
    twin = query("twin", 60, 10, "mean")
    adapted = adapt(plan, [A, B, twin], MANY)
    assert adapted.plan.tree_of(twin.id).queries == (A, twin)
    assert adapted.plan.total_cost == pytest.approx(plan.total_cost)


def test_a_new_query_whose_edges_no_linked_tree_has_stands_alone() -> None:
    plan = fed_plan([A], [B])
    half = query("half", 15, 10)  # of its two edges in ten seconds the slices have one
    assert adapt(plan, [A, B, half], MANY).plan.tree_of(half.id).fed_by is None
    adapted = adapt(plan, [A, B, query("seven", 7, 7)], MANY)
    assert adapted.plan.tree_of("seven@7s/7s").fed_by is None
    # Now: what feeds, two trees that fold its partials, the new one; in full: 16 edges in 70 s, three ranges.
    now = 1000 + 2 * (0.1 + 0.1 * 2) + (1000 + 2 / 7)
    assert adapted.gain_of_full == pytest.approx(1 - (1000 + 16 / 70 * 6) / now)


def test_an_edit_that_changes_what_linked_trees_pass_on_optimizes_everything_and_says_so() -> None:
    spread = query("spread", 60, 10, "stddev")
    plan = fed_plan([spread, A], [query("d", 30, 10, "stddev")])
    adapted = adapt(plan, [A, query("d", 30, 10, "stddev")], MANY)
    assert adapted.note.endswith("everything was optimized anew.")
    assert adapted.plan == optimize(adapted.plan.queries, MANY, source="s", version=2, previous=plan)
    assert adapted.gain_of_full == 0
    assert adapted.settled() is adapted.plan


def test_a_tree_that_keeps_other_partials_than_before_is_another_tree() -> None:
    plan = running([A], MANY)
    richer = adapt(plan, [A, query("spread", 60, 10, "stddev")], MANY)
    assert [tree.id for tree in richer.plan.trees] == ["2"]
    assert richer.changed_trees == ("1", "2")
    poorer = adapt(richer.plan, [A], MANY)
    assert [(tree.id, tree.queries) for tree in poorer.plan.trees] == [("3", (A,))]


def test_two_queries_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="same id"):
        adapt(running([A], MANY), [A, replace(A, name="b")], MANY)


@st.composite
def edits(draw: st.DrawFn) -> list[list[Query]]:
    """The queries of a source after each of a few edits: some come, go or change."""
    queries: dict[str, Query] = {}
    states = []
    for number in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from([*queries, f"q{number}"])) if queries else f"q{number}"
        if name in queries and draw(st.booleans()):
            del queries[name]
        else:
            slide = draw(st.sampled_from(SLIDES))
            made = query(
                name,
                slide + draw(st.integers(0, 60)),
                slide,
                draw(st.sampled_from(["sum", "count", "min", "max"])),
                draw(st.sampled_from([(), ("device",)])),
            )
            queries[name] = replace(made, id=name)
        if draw(st.booleans()):
            states.append(list(queries.values()))
    return [*states, list(queries.values())]


@given(edits(), statistics_sets, st.sampled_from([1, 3]))
def test_any_edits_leave_every_query_placed_once_at_the_right_cost(
    states: list[list[Query]], statistics: Statistics, nodes: int
) -> None:
    plan = running([], statistics, nodes)
    for queries in states:
        before, adapted = plan, adapt(plan, queries, statistics)
        plan = adapted.plan
        assert sorted(plan.queries, key=lambda q: q.id) == sorted(queries, key=lambda q: q.id)
        costs = [cost_by_enumeration(tree.queries, statistics) for tree in plan.trees]
        assert [tree.cost for tree in plan.trees] == pytest.approx(costs)
        again = [cost.total for cost in group_costs(as_groups(plan.trees), statistics)]
        assert [tree.cost for tree in plan.trees] == pytest.approx(again)
        known = {tree.id: tree for tree in before.trees}
        changed = [tree for tree in plan.trees if tree.id in adapted.changed_trees]
        assert all(tree is known[tree.id] for tree in plan.trees if tree not in changed)
        assert {tree.id for tree in plan.trees} - set(known) <= set(
            map(str, range(before.next_tree, plan.next_tree))
        )
        for tree in changed:
            apart = sum(cost_by_enumeration([each], statistics) for each in tree.queries)
            assert tree.cost <= apart + 1e-6


@given(edits(), statistics_sets)
def test_a_query_keeps_its_tree_unless_it_or_its_company_changes(
    states: list[list[Query]], statistics: Statistics
) -> None:
    plan = running([], statistics)
    for queries in states:
        before, plan = plan, adapt(plan, queries, statistics).plan
        kept = {(q.id, q) for q in queries} & {(q.id, q) for q in before.queries}
        touched = {before.tree_of(q.id).id for q in before.queries if (q.id, q) not in kept}
        for query_id, _ in kept:
            tree = before.tree_of(query_id).id
            assert plan.tree_of(query_id).id == tree or tree in touched


@given(edits(), edits(), statistics_sets, st.sampled_from(["best", "triweave", "factor_covered", "phantoms"]))
def test_linked_trees_follow_any_edits_at_the_right_cost(
    first: list[list[Query]], states: list[list[Query]], statistics: Statistics, strategy: str
) -> None:
    plan = optimize(first[-1], statistics, source="s", strategy=strategy)
    for queries in states:
        before, adapted = plan, adapt(plan, queries, statistics)
        plan = adapted.plan
        assert sorted(plan.queries, key=lambda q: q.id) == sorted(queries, key=lambda q: q.id)
        costs = [cost.total for cost in group_costs(as_groups(plan.trees), statistics)]
        assert [tree.cost for tree in plan.trees] == pytest.approx(costs)
        known = {tree.id: tree for tree in before.trees}
        assert all(tree is known[tree.id] for tree in plan.trees if tree.id not in adapted.changed_trees)
        for tree in plan.trees:
            assert tree.queries or any(other.fed_by == tree.id for other in plan.trees)
            if tree.fed_by is not None:
                assert is_made_of(tree, plan.tree(tree.fed_by))


def is_made_of(tree: Tree, feeding: Tree) -> bool:
    """Whether the feeding tree keeps the window, or ends slices at all edges of the fed one."""
    if tree.through is not None:
        return tree.through in feeding.windows
    return edges_within_two_minutes(tree) <= edges_within_two_minutes(feeding)


def edges_within_two_minutes(tree: Tree) -> set[int]:
    return {
        instant % 120
        for window in tree.windows
        for start in range(0, 120, window.slide // 1000)
        for instant in (start, start + window.range // 1000)
    }


def test_among_very_many_different_edges_an_edit_does_not_wait_for_the_full_optimization() -> None:
    many = [query(f"q{i}", 2 * i + 200, i + 100, field=f"f{i}") for i in range(MOST_CLASSES + 1)]
    running = optimize(many[:-1], Statistics(rate=10), source="s")
    adapted = adapt(running, many, Statistics(rate=10))
    assert adapted.settled() is adapted.plan
    assert "full_plan" not in vars(adapted)
    few = adapt(running, many[: MOST_CLASSES // 2], Statistics(rate=10))
    few.settled()
    assert "full_plan" in vars(few)
