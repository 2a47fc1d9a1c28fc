from typing import Any

import pytest

from optimizer.aggregates import AGGREGATES
from optimizer.queries import InvalidQuery, Query, QuerySpec
from optimizer.windows import Window

HOT: dict[str, Any] = {
    "name": "hot",
    "aggregate": "max",
    "field": "temp",
    "windows": [{"range": "60s", "slide": "10s"}, {"range": "7m", "slide": "2m"}],
    "group_by": ["device"],
    "where": "status = 'ok'",
}


def test_a_query_reads_and_writes_the_same_json() -> None:
    assert QuerySpec.from_json(HOT).to_json() == HOT


def test_a_family_becomes_one_query_for_each_window() -> None:
    queries = QuerySpec.from_json(HOT).queries(key="k7")
    assert [query.id for query in queries] == ["k7@60s/10s", "k7@7m/2m"]
    assert [query.window for query in queries] == [Window(60_000, 10_000), Window(420_000, 120_000)]
    assert {(q.aggregate, q.field, q.group_by, q.where) for q in queries} == {
        ("max", "temp", ("device",), "status = 'ok'")
    }


def test_a_single_window_query_survives_json() -> None:
    query = Query("k@9s/4s", "k", "sum", "x", Window(9_000, 4_000, 500), ("a", "b"), "x > 1")
    assert Query.from_json(query.to_json()) == query


def test_a_window_without_a_slide_is_tumbling() -> None:
    spec = QuerySpec.from_json({**HOT, "windows": [{"range": "5m"}]})
    assert spec.queries()[0].window == Window(300_000, 300_000)


def test_count_needs_no_field() -> None:
    spec = QuerySpec.from_json({"name": "n", "aggregate": "count", "windows": [{"range": "1m"}]})
    assert spec.queries()[0].field is None


@pytest.mark.parametrize(
    ("change", "field", "sentence"),
    [
        ({"name": "  "}, "name", "Give the query a name."),
        ({"aggregate": "mode"}, "aggregate", f"No aggregate “mode”: use one of {', '.join(AGGREGATES)}."),
        ({"field": None}, "field", "Choose the field to compute the max of."),
        ({"field": 7}, "field", "“field” must be a text."),
        ({"windows": []}, "windows", "Give at least one window, such as 1m every 10s."),
        ({"windows": "1m"}, "windows", "“windows” must be a list."),
        (
            {"windows": ["1m"]},
            "windows",
            "A window is an object with a range and a slide, such as 1m and 10s, with a count and an every, "
            "such as 100 and 10, or with a gap, such as 30s.",
        ),
        (
            {"windows": [{"range": "10 apples"}]},
            "windows",
            "“10 apples” is not a duration: write it as 90s, 5m or 1h30m.",
        ),
        (
            {"windows": [{"range": "10s", "slide": "1m", "offset": "soon"}]},
            "windows",
            "“soon” is not a duration: write it as 90s, 5m or 1h30m.",
        ),
        (
            {"windows": [{"range": "60s", "slide": "10s"}, {"range": "1m", "slide": "10s"}]},
            "windows",
            "1m every 10s is there twice.",
        ),
        ({"group_by": ["device", "device"]}, "group_by", "“device” is in the group-by twice."),
        ({"having": "x"}, "query", "A query has no “having”."),
    ],
)
def test_bad_input_is_refused_beside_its_field(change: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        QuerySpec.from_json({**HOT, **change})
    assert (refused.value.field, refused.value.sentence) == (field, sentence)


def test_what_is_no_object_is_no_query() -> None:
    with pytest.raises(InvalidQuery, match="A query is an object with a name, an aggregate and windows"):
        QuerySpec.from_json(["hot"])
