from typing import Any

import pytest

from optimizer.aggregates import AGGREGATES
from optimizer.queries import (
    Computation,
    InvalidQuery,
    Query,
    QuerySpec,
    SessionSpec,
    WindowSpec,
    refuse_absurd,
)
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
        ({"groupby": ["x"]}, "query", "A query has no “groupby”."),
        (
            {"windows": [{"range": "1m", "slid": "10s"}]},
            "windows",
            "A window with a “range” has no “slid”. Did you mean “slide”?",
        ),
        (
            {"windows": [{"range": "1m", "every": "10s"}]},
            "windows",
            "A window with a “range” has no “every”.",
        ),
        (
            {"windows": [{"count": 10, "evry": 5}]},
            "windows",
            "A window with a “count” has no “evry”. Did you mean “every”?",
        ),
    ],
)
def test_bad_input_is_refused_beside_its_field(change: dict[str, Any], field: str, sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        QuerySpec.from_json({**HOT, **change})
    assert (refused.value.field, refused.value.sentence) == (field, sentence)


def test_a_misspelt_key_is_told_with_the_one_that_is_missing() -> None:
    with pytest.raises(InvalidQuery) as refused:
        minute = [{"range": "1m"}]
        QuerySpec.from_json({"name": "q", "aggregate": "count", "groupby": ["x"], "windows": minute})
    assert refused.value.sentence == "A query has no “groupby”. Did you mean “group_by”?"


def test_windows_that_overlap_beyond_reason_are_refused_where_they_are_written() -> None:
    """And read where they are kept."""
    kept = {**HOT, "windows": [{"range": "3650d", "slide": "1ms"}]}
    assert QuerySpec.from_json(kept).to_json() == kept
    refuse_absurd([WindowSpec("1000s", "1ms"), WindowSpec("3650d", "10m"), SessionSpec("1s")])
    for window, overlap in (
        (WindowSpec("1000001ms", "1ms"), "1,000,001"),
        (WindowSpec("3650d", "1ms"), "315,360,000,000"),
        (WindowSpec("2000001ms", "2ms", "1ms"), "1,000,001"),
    ):
        with pytest.raises(InvalidQuery) as refused:
            refuse_absurd([window])
        why = f"each event would be in {overlap} windows, more than 1,000,000: slide less often."
        assert refused.value.sentence == f"{window.words}: {why}"


def test_what_is_no_object_is_no_query() -> None:
    with pytest.raises(InvalidQuery, match="A query is an object with a name, an aggregate and windows"):
        QuerySpec.from_json(["hot"])


def test_a_family_of_computations_has_every_window_of_each() -> None:
    spec = QuerySpec(
        "q",
        (Computation("max", "temp"), Computation("p95", "temp / 2"), Computation("count")),
        (WindowSpec("1m", "10s"), SessionSpec("30s")),
    )
    assert [(query.id, query.aggregate, query.field) for query in spec.queries("k")] == [
        ("k@1m/10s", "max", "temp"),
        ("k@gap 30s", "max", "temp"),
        ("k@1m/10s p95(temp / 2)", "p95", "temp / 2"),
        ("k@gap 30s p95(temp / 2)", "p95", "temp / 2"),
        ("k@1m/10s count(*)", "count", None),
        ("k@gap 30s count(*)", "count", None),
    ]
    assert QuerySpec.from_json(spec.to_json()) == spec


def test_one_computation_is_written_plainly_and_read_either_way() -> None:
    spec = QuerySpec.single("q", "max", "temp", (WindowSpec("1m", "10s"),))
    plain = spec.to_json()
    assert (plain["aggregate"], plain["field"]) == ("max", "temp")
    assert "computations" not in plain
    listed = {key: value for key, value in plain.items() if key not in ("aggregate", "field")}
    assert QuerySpec.from_json(plain) == spec
    assert QuerySpec.from_json({**listed, "computations": [{"aggregate": "max", "field": "temp"}]}) == spec


@pytest.mark.parametrize(
    ("computations", "sentence"),
    [
        ([], "Say what to compute, such as the count or the mean of a field."),
        (["max"], "A computation is an object with an aggregate and a field."),
        ([{"aggregate": "count"}, {"aggregate": "count", "field": None}], "“count” is there twice."),
        (
            [{"aggregate": "percentile", "field": "x", "fractoin": 0.9}],
            "A computation has no “fractoin”. Did you mean “fraction”?",
        ),
        ([{"aggregate": "max", "field": "x", "where": "y"}], "A computation has no “where”."),
        ([{"aggregate": "max", "field": "x", "k": 3}], "The max has no “k”: only top_k has one."),
        (
            [{"aggregate": "top_k", "field": "x", "fraction": 0.5}],
            "The top_k has no “fraction”: only percentile has one.",
        ),
        ([{"aggregate": "top_k", "field": "x", "k": "5"}], "“k” must be a number."),
    ],
)
def test_bad_computations_are_refused(computations: list, sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        QuerySpec.from_json({"name": "q", "computations": computations, "windows": [{"range": "1m"}]})
    assert (refusal.value.field, refusal.value.sentence) == ("computations", sentence)


@pytest.mark.parametrize(
    ("aggregate", "key", "value", "name", "written"),
    [
        ("percentile", "fraction", 0.99, "percentile(0.99)", "percentile(x, 0.99)"),
        ("percentile", "fraction", 1, "percentile(1.0)", "percentile(x, 1.0)"),
        ("top_k", "k", 5, "top_k(5)", "top_k(x, 5)"),
    ],
)
def test_a_percentile_takes_its_fraction_and_top_k_its_k(aggregate, key, value, name, written) -> None:
    asked = {"name": "q", "aggregate": aggregate, "field": "x", key: value, "windows": [{"range": "1m"}]}
    spec = QuerySpec.from_json(asked)
    assert spec.queries()[0].aggregate == name
    assert spec.computations[0].written == written
    assert spec.to_json()[key] == value
    assert QuerySpec.from_json(spec.to_json()) == spec
    assert AGGREGATES[name] == AGGREGATES[aggregate]


@pytest.mark.parametrize(
    ("aggregate", "key", "value", "sentence"),
    [
        ("percentile", "fraction", 99, "a number from 0 to 1, such as 0.99, not 99.0."),
        ("percentile", "fraction", float("nan"), "a number from 0 to 1, such as 0.99, not nan."),
        ("top_k", "k", 0, "a whole number from 1 to 1,000, such as 5, not 0."),
        ("top_k", "k", 2.5, "a whole number from 1 to 1,000, such as 5, not 2.5."),
        ("top_k", "k", True, "a whole number from 1 to 1,000, such as 5, not True."),
    ],
)
def test_what_does_not_fit_an_aggregate_is_refused(aggregate, key, value, sentence) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        QuerySpec.from_json(
            {"name": "q", "aggregate": aggregate, "field": "x", key: value, "windows": [{"range": "1m"}]}
        )
    assert refusal.value.sentence == f"The {key} of a {aggregate} is {sentence}"


def test_the_median_is_p50_in_json_too() -> None:
    asked = {"name": "q", "aggregate": "median", "field": "x", "windows": [{"range": "1m"}]}
    assert QuerySpec.from_json(asked).computations == (Computation("p50", "x"),)
