import pytest

from optimizer.aggregates import AGGREGATES as KNOWN
from optimizer.queries import AGGREGATES, Query
from optimizer.weaving import families, family_key
from tests.optimizer.cases import query

BASE = query("base", 60, 10, "sum", ("device",), "ok = true")


@pytest.mark.parametrize("aggregate", ["count", "sum", "mean"])
def test_count_sum_and_mean_share_their_partials(aggregate: str) -> None:
    other = query("other", 7, 3, aggregate, ("device",), "ok = true")
    assert family_key(other) == family_key(BASE)


@pytest.mark.parametrize(
    "other",
    [
        query("other", 60, 10, "max", ("device",), "ok = true"),
        query("other", 60, 10, "sum", (), "ok = true"),
        query("other", 60, 10, "sum", ("device",), None),
        query("other", 60, 10, "sum", ("device",), "ok = true", field="humidity"),
    ],
    ids=["another aggregate", "another group-by", "another filter", "another field"],
)
def test_queries_that_differ_in_more_than_their_window_stay_apart(other: Query) -> None:
    assert family_key(other) != family_key(BASE)
    assert sorted(len(family) for family in families([BASE, other])) == [1, 1]


def test_min_and_max_do_not_share() -> None:
    assert family_key(query("a", 5, 5, "min")) != family_key(query("b", 5, 5, "max"))


def test_every_aggregate_has_a_family() -> None:
    assert set(AGGREGATES) <= set(KNOWN)
