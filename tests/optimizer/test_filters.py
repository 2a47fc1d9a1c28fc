import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.filters import fields_of, implies

OPERATORS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}
comparisons = st.tuples(st.sampled_from("xy"), st.sampled_from(sorted(OPERATORS)), st.integers(-2, 2))
conjunctions = st.lists(comparisons, min_size=1, max_size=3)


def text(conditions: list[tuple[str, str, int]]) -> str:
    return " AND ".join(f"{field} {sign} {value}" for field, sign, value in conditions)


def passes(conditions: list[tuple[str, str, int]], event: dict[str, float]) -> bool:
    return all(OPERATORS[sign](event[field], value) for field, sign, value in conditions)


@given(conjunctions, conjunctions)
def test_what_is_said_to_follow_holds_for_every_event(
    stronger: list[tuple[str, str, int]], weaker: list[tuple[str, str, int]]
) -> None:
    places = [half / 2 for half in range(-7, 8)]
    if implies(text(stronger), text(weaker)):
        for x in places:
            for y in places:
                event = {"x": x, "y": y}
                assert passes(weaker, event) or not passes(stronger, event)


@given(comparisons, comparisons)
def test_between_two_comparisons_nothing_that_follows_is_missed(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    events = [{"x": x / 2, "y": y / 2} for x in range(-9, 10) for y in range(-9, 10)]
    follows = all(passes([other], event) for event in events if passes([one], event))
    assert implies(text([one]), text([other])) == follows


@pytest.mark.parametrize(
    ("stronger", "weaker", "follows"),
    [
        ("site = 'a' AND temp > 3", "site = 'a'", True),
        ("site = 'a' AND temp > 3", "temp > 3 AND site = 'a'", True),
        ("(temp > 3)", "temp > 3", True),
        ("3 < temp", "temp > 2", True),
        ("site = 'a'", "site = 'b'", False),
        ("site = 'a' OR temp > 3", "temp > 3", False),
        ("temp > 3", "temp > 3 AND site = 'a'", False),
        ("anything at all (", "temp > 3", False),
        ("temp > 3", "", True),
        ("", "temp > 3", False),
    ],
)
def test_conditions_are_compared_whatever_their_order(stronger: str, weaker: str, follows: bool) -> None:
    assert implies(stronger, weaker) is follows


def test_a_filter_says_which_fields_it_reads() -> None:
    assert fields_of("lower(site) = 'a' AND temp + 1 > x") == {"site", "temp", "x"}
    assert fields_of("") == fields_of("((") == frozenset()


def test_paths_that_end_alike_are_different_fields() -> None:
    assert implies("user.temp > 30", '"user".temp > 20')
    assert not implies("user.temp > 30", "order.temp > 20")
    assert fields_of("user.city = 'x' AND a.b.c.d.e > 1") == {"user.city", "a.b.c.d.e"}
