import pytest
from hypothesis import given

from optimizer import Statistics, optimize
from optimizer.cost import load
from optimizer.explain import Joining, cost_line, describe, joining
from optimizer.queries import Query
from tests.optimizer.cases import query, query_sets, statistics_sets

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
