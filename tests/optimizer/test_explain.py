import pytest
from hypothesis import given

from optimizer import Statistics, optimize
from optimizer.explain import Difference, Explainer, Joining, cost_line, describe, explanation, joining
from optimizer.plan import Plan
from optimizer.planning import planned
from optimizer.queries import Query
from optimizer.throughput import load
from optimizer.windows import Window
from optimizer.workload import Group, Workload
from tests.optimizer.cases import cost_by_enumeration, query, query_sets, statistics_sets

EMPTY = optimize([], Statistics(), source="s")
A, B = query("a", 60, 10), query("b", 50, 10, "mean")
HOT = query("hot", 60, 10, "max", ("device",), "status = 'ok'")


def joined(**changes: object) -> Joining:
    usual = {
        "tree": "3",
        "is_new": False,
        "shares_with": 8,
        "load_before": 0.31,
        "load_after": 0.33,
        "cost_alone": 100.0,
        "cost_added": 29.0,
        "saving": 0.71,
    }
    return Joining(**{**usual, **changes})  # type: ignore[arg-type]


def plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_a_query_that_joins_a_tree_adds_its_operations_alone() -> None:
    statistics = Statistics(rate=100.0)
    before = optimize([A], statistics, source="s")
    after = optimize([A, B], statistics, source="s", previous=before)
    [found] = joining(before, after, [B.id], statistics)
    assert (found.tree, found.is_new, found.shares_with) == ("1", False, 1)
    assert found.cost_alone == pytest.approx(100 + 0.1 * 2)
    assert found.cost_added == pytest.approx(0.1 * 2)
    assert found.saving == pytest.approx(1 - 0.2 / 100.2)
    assert (found.load_before, found.load_after) == (load(before, statistics), load(after, statistics))


def test_a_first_query_starts_a_tree_and_saves_nothing() -> None:
    after = optimize([A], Statistics(), source="s", previous=EMPTY)
    [found] = joining(EMPTY, after, [A.id], Statistics())
    assert (found.tree, found.is_new, found.shares_with, found.saving) == ("1", True, 0, 0)
    assert found.cost_added == found.cost_alone == after.total_cost


def test_a_family_that_joins_two_trees_is_told_tree_by_tree() -> None:
    before = optimize([A], Statistics(), source="s")
    after = optimize([A, B, HOT], Statistics(), source="s", previous=before)
    found = joining(before, after, {B.id, HOT.id}, Statistics())
    assert [(part.tree, part.is_new, part.shares_with) for part in found] == [("1", False, 1), ("2", True, 0)]


def test_a_query_that_would_be_cheaper_alone_saves_nothing() -> None:
    shared_by_force = optimize([query("c", 70, 7), query("d", 110, 11)], Statistics(), source="s")
    [found] = joining(EMPTY, shared_by_force, ["d@110s/11s"], Statistics(rate=0.001))
    assert (found.shares_with, found.saving) == (1, 0)


@given(query_sets(), statistics_sets)
def test_savings_are_shares_and_no_query_makes_a_tree_cheaper(
    queries: list[Query], statistics: Statistics
) -> None:
    for new in queries:
        before = optimize([q for q in queries if q.id != new.id], statistics, source="s")
        after = optimize(queries, statistics, source="s", previous=before)
        [found] = joining(before, after, [new.id], statistics)
        assert 0 <= found.saving <= 1 + 1e-9
        assert found.cost_added >= -1e-9


@pytest.mark.parametrize(
    ("joinings", "line"),
    [
        ([joined()], "joins tree 3 · +2 % load · 71 % cheaper than alone"),
        (
            [joined(tree="6", is_new=True, shares_with=0, saving=0.0, load_after=0.40)],
            "starts tree 6 · +9 % load · shares with nothing yet",
        ),
        (
            [joined(), joined(tree="4"), joined(tree="7", is_new=True, shares_with=0, saving=0.0)],
            "joins trees 3 and 4 and starts tree 7 · +2 % load · 47 % cheaper than alone",
        ),
        ([joined(load_after=0.3123)], "joins tree 3 · +0.2 % load · 71 % cheaper than alone"),
        ([joined(load_after=0.31001)], "joins tree 3 · +0 % load · 71 % cheaper than alone"),
        ([joined(load_after=0.29)], "joins tree 3 · −2 % load · 71 % cheaper than alone"),
        ([joined(saving=0.9999)], "joins tree 3 · +2 % load · 99 % cheaper than alone"),
        ([joined(saving=1.0)], "joins tree 3 · +2 % load · 100 % cheaper than alone"),
    ],
)
def test_the_cost_line_says_what_is_joined_added_and_saved(joinings: list[Joining], line: str) -> None:
    assert plain(cost_line(joinings)) == line


def test_a_query_is_described_in_one_sentence() -> None:
    made = optimize([HOT, A, B], Statistics(), source="s")
    assert describe(made, A.id) == (
        "“a” (sum of temp over 1m every 10s) runs in tree 1 with 1 other query, "
        "on 0.1 slices a second with 4 operations each in SlickDeque (Inv)."
    )
    assert describe(made, HOT.id) == (
        "“hot” (max of temp over 1m every 10s by device where status = 'ok') runs in tree 2 alone, "
        "on 0.1 slices a second with 3 operations each in FlatFIT."
    )


def test_an_explanation_says_what_a_query_shares_saves_and_keeps_apart_from() -> None:
    statistics = Statistics(rate=0.01)
    seven = query("seven", 7, 7)
    made = optimize([A, B, seven, HOT], statistics, source="s")
    found = explanation(made, A.id, statistics)
    assert [other.name for other in found.shares_with] == ["b"]
    assert found.cost_alone == pytest.approx(0.01 + 0.1 * 2)
    assert found.cost_added == pytest.approx(0.1 * 2)
    # Both as one tree: 16 edges in 70 s with three ranges; apart 7 edges with two, and 10 with one.
    together = 0.01 + 16 / 70 * 6
    apart = (0.01 + 0.1 * 4) + (0.01 + 2 / 7)
    assert [merge.cost_more for merge in found.merges] == [pytest.approx(together - apart)]
    assert found.differences == (Difference((made.tree_of(HOT.id).id,), ("filter", "group-by", "aggregate")),)
    assert [plain(line) for line in found.lines()] == [
        "a: sum of temp over 1m every 10s",
        "  runs in tree 2 with b (50s every 10s)",
        "  adds 0.2 operations/s, 4 % cheaper than 0.21 operations/s alone",
        "  not with tree 1: as one tree the two would cost 0.676 operations/s more",
        "  not with tree 3: another filter, another group-by and another aggregate",
    ]


def test_a_query_alone_is_told_what_a_merge_would_save() -> None:
    made = optimize([A, B], Statistics(rate=100.0), source="s", strategy="no_share")
    alone, merge = explanation(made, A.id, Statistics(rate=100.0)).lines()[-2:]
    assert alone == "  costs 100 operations/s"
    assert merge == "  not with tree 1: as one tree the two would cost 100 operations/s less"


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        (query("o", 60, 10, field="load"), ("field",)),
        (query("o", 60, 10, where="status = 'ok'"), ("filter",)),
        (query("o", 60, 10, group_by=("device",)), ("group-by",)),
        (query("o", 60, 10, "max"), ("aggregate",)),
        (query("o", 60, 10, "min", ("device",), field="load"), ("field", "group-by", "aggregate")),
    ],
)
def test_what_keeps_queries_of_other_families_apart_is_named(other: Query, parts: tuple[str, ...]) -> None:
    made = optimize([A, other], Statistics(), source="s")
    [difference] = explanation(made, A.id, Statistics()).differences
    assert (difference.trees, difference.parts) == ((made.tree_of(other.id).id,), parts)


def test_only_the_nearest_of_many_trees_are_spoken_of() -> None:
    queries = [query(f"q{slide}", slide, slide) for slide in (7, 11, 13, 17, 22, 44)]
    made = optimize(queries, Statistics(rate=0.0), source="s", strategy="no_share")
    found = explanation(made, "q22@22s/22s", Statistics(rate=0.0))
    nearest = {made.tree(merge.tree).queries[0].name for merge in found.merges}
    assert len(found.merges) == 3
    assert {"q11", "q44"} < nearest
    assert [merge.cost_more for merge in found.merges] == sorted(merge.cost_more for merge in found.merges)


def fed_plan(statistics: Statistics) -> Plan:
    """Slices of 10 s that two trees are made of, and a tree of another family."""
    tumbling = Group((), Group.of([A]).key, added_windows=(Window(10_000, 10_000),))
    groups = [
        tumbling,
        Group((A, B), Group.of([A]).key, feed=0),
        Group.of([HOT]),
        Group((query("c", 20, 20),), Group.of([A]).key, feed=0),
    ]
    workload = Workload((A, B, HOT), statistics)
    return planned(groups, workload, source="s", version=1, strategy="triweave", previous=None)


def test_trees_made_of_another_are_explained_with_it() -> None:
    made = fed_plan(Statistics(rate=100.0))
    feeding = next(tree.id for tree in made.trees if not tree.queries)
    tree_c = made.tree_of("c@20s/20s").id
    found = explanation(made, A.id, Statistics(rate=100.0))
    assert (found.fed_by, found.fed_beside, found.merges) == (feeding, (tree_c,), ())
    assert found.cost_added == pytest.approx(0.1 * 2)  # its slices come from the feeding tree either way
    assert f"  is made of what tree {feeding} keeps, as tree {tree_c} also" in found.lines()
    # Without c its tree would go: a partial every ten seconds folded, and an edge every twenty.
    alone_in_tree = explanation(made, "c@20s/20s", Statistics(rate=100.0))
    assert alone_in_tree.cost_added == pytest.approx(0.1 + 0.05 * 2)


def test_a_query_that_feeds_others_leaves_them_its_slices() -> None:
    statistics = Statistics(rate=100.0)
    seven = query("seven", 7, 7)
    groups = [Group.of([seven, A]), Group((query("c", 20, 20),), Group.of([A]).key, feed=0)]
    workload = Workload((), statistics)
    made = planned(groups, workload, source="s", version=1, strategy="triweave", previous=None)
    found = explanation(made, A.id, statistics)
    assert found.feeds == (made.tree_of("c@20s/20s").id,)
    assert f"  feeds tree {found.feeds[0]}" in found.lines()
    assert found.cost_added == pytest.approx(16 / 70 * 2)  # one range less, and all edges stay for c


def test_a_query_that_is_not_there_is_named() -> None:
    with pytest.raises(LookupError, match="no query “nobody”"):
        explanation(EMPTY, "nobody", Statistics())


@given(query_sets(), statistics_sets)
def test_explanations_agree_with_costs_worked_out_again(queries: list[Query], statistics: Statistics) -> None:
    made = optimize(queries, statistics, source="s")
    explainer = Explainer(made, statistics)
    for asked in queries:
        found = explainer.explanation(asked.id)
        members = list(made.tree(found.tree).queries)
        assert sorted([asked.id, *(other.id for other in found.shares_with)]) == sorted(q.id for q in members)
        rest = cost_by_enumeration(found.shares_with, statistics) if found.shares_with else 0.0
        added = cost_by_enumeration(members, statistics) - rest
        assert found.cost_added == pytest.approx(added, abs=1e-6)
        assert found.cost_alone == pytest.approx(cost_by_enumeration([asked], statistics))
        for merge in found.merges:
            others = made.tree(merge.tree).queries
            together = cost_by_enumeration([*members, *others], statistics)
            apart = cost_by_enumeration(members, statistics) + cost_by_enumeration(others, statistics)
            assert merge.cost_more == pytest.approx(together - apart, abs=1e-6)
            assert merge.cost_more >= -1e-9  # WeaveShare leaves no merge that saves
