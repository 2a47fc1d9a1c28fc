"""What Verify calls equal is equal, and what it lets pass says how far off it is."""

import math
from decimal import Decimal
from typing import Any

import pytest

from optimizer.queries import Query
from optimizer.windows import Window
from streaming.aggregates import AGGREGATES
from streaming.likeness import alike, error_words, judged
from streaming.verify import Comparison, Difference

CUT = {"items": list(range(1_000)), "cut": True}


@pytest.mark.parametrize(
    ("aggregate", "ours", "theirs", "likeness", "difference"),
    [
        ("sum", 1.0, 1.0, "equal", 0),
        ("sum", 1.0, 1.0 + 1e-12, "within", 1e-12),
        ("sum", 1.0, 1.0 + 1e-6, "different", 1e-6),
        ("sum", None, 0.0, "different", None),
        ("sum", 0.0, None, "different", None),
        ("sum", 0.0, math.nan, "different", None),
        ("sum", None, None, "equal", None),
        ("sum", None, math.nan, "equal", None),
        ("sum", 1.0, math.nan, "different", None),
        ("sum", math.inf, math.inf, "equal", 0),
        ("sum", math.inf, 1.0, "different", math.inf),
        ("max", 0.0, None, "different", None),
        ("max", -math.inf, None, "different", None),
        ("max", 1.0, 1.0 + 1e-12, "different", 1e-12),
        ("any", False, None, "different", None),
        ("any", None, None, "equal", None),
        ("variance", 1.0, 1.0 + 1e-7, "within", 1e-7),
        ("count", None, 0, "equal", None),
        ("count", 0, None, "equal", None),
        ("count", 1, None, "different", None),
        ("count", 3.0, 4, "different", 1),
        ("distinct_count", 0, None, "equal", None),
        ("exact_sum", str(2**70), 2**70, "equal", 0),
        ("exact_sum", str(2**70), 2**70 + 1, "different", 1),
        ("exact_sum", 3.33, Decimal("3.33"), "equal", 0),
        ("exact_sum(2)", 3.33, Decimal("3.34"), "different", 0.01),
        ("exact_sum(2)", "12345678901234567.89", Decimal("12345678901234567.89"), "equal", 0),
        ("exact_sum(2)", 0, None, "different", None),
        ("text_max", "a", "b", "different", None),
        ("collect", {"items": [1, 2], "cut": False}, [1, 2], "equal", None),
        ("collect", {"items": [1, 2], "cut": True}, [1, 2], "different", None),
        ("collect", CUT, list(range(1_001)), "equal", None),
        ("collect", {**CUT, "cut": False}, list(range(1_001)), "different", None),
        ("collect_distinct", {"items": [2, 1], "cut": False}, [2, 1, 2], "equal", None),
        ("concat", {"items": "x" * 10_000, "cut": True}, "x" * 10_001, "equal", None),
        ("top_k(2)", [3.0, 2.0], [3.0, 2.0], "equal", None),
        ("top_k(2)", [3.0, 2.0], [3.0, 1.0], "different", None),
        ("p95", 5.0, [400, 5.0, 4.0, 6.0], "equal", 0),
        ("p95", 5.5, [400, 5.0, 4.0, 6.0], "different", 0.5),
        ("p95", 5.5, [401, 5.0, 4.0, 6.0], "within", 0.5),
        ("p95", 174.83, [3480, 171.11, 170.0, 175.0], "within", 3.72),
        ("percentile(0.99)", 6.5, [401, 5.0, 4.0, 6.0], "different", 1.5),
        ("p95", None, None, "equal", None),
        ("approx_distinct_count", 10_000, 10_000, "equal", 0),
        ("approx_distinct_count", 10_400, 10_000, "within", 400),
        ("approx_distinct_count", 11_000, 10_000, "different", 1_000),
        ("approx_distinct_count", 9, 10, "different", 1),
        ("approx_distinct_count", 1, None, "different", None),
    ],
)
def test_two_answers(aggregate: str, ours: Any, theirs: Any, likeness: str, difference: float | None) -> None:
    found = judged(aggregate, ours, theirs)
    assert found.likeness.value == likeness
    assert found.difference == (difference if difference is None else pytest.approx(difference, rel=1e-3))
    assert alike(aggregate, ours, theirs) is (likeness != "different")


def test_rows_within_the_error_are_counted_apart_and_the_largest_difference_is_told() -> None:
    comparison = Comparison(Query("q", "q", "p95", "v", Window(10, 10)))
    exact = [3480, 171.11, 170.0, 175.0]
    likenesses = [
        comparison.take(Difference(10, (), (ours, events), (exact, 3480))).value
        for ours, events in [(171.11, 3480), (174.83, 3480), (169.0, 3480), (171.11, 3479)]
    ]
    assert likenesses == ["equal", "within", "different", "different"]
    assert (comparison.rows, comparison.equal, comparison.within, comparison.different) == (4, 1, 1, 2)
    assert comparison.largest == pytest.approx(3.72)


def test_what_is_not_to_be_equal_says_so() -> None:
    assert error_words("max") == error_words("exact_sum(2)") == error_words("top_k(5)") == ""
    assert error_words("percentile(0.9)") == f"approximate: {AGGREGATES['p95'].error}"
    assert error_words("mean").startswith("rounded: ")
