"""Filters mean what SQL says, and what is not a condition on known fields is refused in a sentence."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from streaming.expressions import InvalidExpression, check, check_value, decided, fields, keeps, values

TYPES = {"status": "text", "temp": "number", "ok": "boolean", "n": "integer"}


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("regoin <> 'x'", "No field “regoin” (character 1)."),
        ("status = 'ok' AND statu <> 'b'", "No field “statu” (character 19)."),
        ("temp >", "The filter is not complete or has a syntax error at character 6."),
        ("status = 'ok", "The filter has a quote that is not closed."),
        ("temp + 1", "The filter is not a condition: compare something, as in temp > 20."),
        ("(SELECT 1) = 1", "A filter cannot use “(SELECT 1)”."),
        ("read_text('/etc/passwd') = 'x'", "A filter cannot use the function read_text."),
        ("getenv('HOME') = 'x'", "A filter cannot use the function getenv."),
        ("temp > 1; DROP TABLE x", "Write one condition, such as status = 'ok'."),
        ("", "Write one condition, such as status = 'ok'."),
        ("(" * 5000 + "ok" + ")" * 5000, "The filter is nested too deeply: write it with fewer brackets."),
        ("NOT " * 4000 + "ok", "The filter is nested too deeply: write it with fewer brackets."),
    ],
)
def test_what_cannot_be_a_filter_is_refused_in_a_sentence(expression, sentence):
    with pytest.raises(InvalidExpression) as refusal:
        check(expression, TYPES)
    assert refusal.value.sentence == sentence


def test_a_slip_in_a_field_name_suggests_the_right_one():
    with pytest.raises(InvalidExpression) as refusal:
        check("statsu = 'ok'", TYPES)
    assert refusal.value.suggestion == "status"


@pytest.mark.parametrize("expression", ["status > 3", "temp = 'abc'", "ok > 'x'"])
def test_a_comparison_that_does_not_fit_the_types_is_refused(expression):
    with pytest.raises(InvalidExpression, match="does not fit the fields"):
        check(expression, TYPES)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("n >> 2 = 1", "A filter cannot use “n >> 2”."),
        ("n[ 1] = 2", "A filter cannot use “n[ 1]”."),
        ("n // 10 = 2", "A filter cannot use “n // 10”."),
        ("status -> 'b' = 'x'", "A filter cannot use ->."),
        ("Regexp_Matches(status, 'a')", "A filter cannot use the function Regexp_Matches."),
        ("extract(hour FROM n) = 1", "A filter cannot use “extract(hour FROM n)”."),
        ("status > 3", "The filter does not fit the fields: a text cannot be compared with a number."),
        ("temp = 'abc'", "The filter does not fit the fields: “abc” is not a number."),
        ("ok > 'x'", "The filter does not fit the fields: “x” is not true or false."),
        ("lower(n) = 'a'", "The filter does not fit the fields: lower does not take a number."),
    ],
)
def test_what_is_refused_is_said_in_the_writers_own_characters(expression: str, said: str) -> None:
    with pytest.raises(InvalidExpression) as refusal:
        check(expression, TYPES)
    assert refusal.value.sentence.startswith(said)


PARSER_WORDS = {name.upper() for name in dir(exp) if name[:1].isupper()} | {"VARCHAR", "INTEGER_LITERAL"}
PARTS = ["n", "status", "ok", "1", "'a'", "(n)", "lower(status)", "[1]", "{'a': 1}", "*", "INTERVAL 1 DAY"]
SIGNS = [
    ">>",
    "<<",
    "&",
    "|",
    "^",
    "//",
    "->",
    "||",
    "=",
    ">",
    "IS DISTINCT FROM",
    "SIMILAR TO",
    "~",
    "COLLATE",
]


@settings(deadline=None)  # the machine may be busy
@given(one=st.sampled_from(PARTS), sign=st.sampled_from(SIGNS), other=st.sampled_from(PARTS))
def test_no_word_of_the_parser_reaches_people(one: str, sign: str, other: str) -> None:
    """But for those that its writer has used."""
    written = f"{one} {sign} {other}"
    try:
        check(written, TYPES)
    except InvalidExpression as refusal:
        said = set(re.findall(r"\b[A-Z_]{3,}\b", refusal.sentence))
        own = set(re.findall(r"[A-Z_]{3,}", written.upper()))
        assert not (said & PARSER_WORDS) - own - {"CAST", "DOUBLE"}, (written, refusal.sentence)


@pytest.mark.parametrize("expression", ["CAST(status AS INT) >= 500", "ln(temp) > 1", "status::DOUBLE > n"])
def test_what_fails_on_some_values_alone_is_no_slip(expression):
    check(expression, TYPES)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("(temp, 1)", "several values"),
        ("TRY_CAST(status AS DATE)", "a date"),
        ("CAST('2026-01-01' AS TIMESTAMP)", "an instant"),
        ("NULL", "NULL"),
    ],
)
def test_a_computed_field_of_another_kind_is_refused_in_a_sentence(expression, found):
    with pytest.raises(InvalidExpression) as refusal:
        check_value(expression, TYPES)
    expected = f"A computed field is a number, a text, or true or false; this one is {found}."
    assert refusal.value.sentence == expected


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("temp * 2", "number"),
        ("length(status)", "number"),
        ("CAST(status AS INT)", "number"),
        ("ln(temp)", "number"),
        ("1", "number"),
        ("1.5", "decimal(1)"),  # as SQL has it
        *((f"CAST(n AS {name})", "number") for name in ("TINYINT", "UINTEGER", "BIGINT", "HUGEINT", "FLOAT")),
        ("temp > 2", "boolean"),
        ("upper(status)", "text"),
    ],
)
def test_a_computed_field_has_a_type(expression, kind):
    assert check_value(expression, TYPES) == kind


@pytest.mark.parametrize(
    ("expression", "kept"),
    [
        ("status = 'ok'", [0]),
        ("status <> 'ok'", [1]),  # unknown is not kept
        ("status IS NULL OR temp > 2", [2]),
        ("NOT ok AND n % 2 = 0", [1]),
        ("lower(status) IN ('ok', 'bad') AND temp IS NULL", [1]),
        ("temp / 0 > 1", [0, 2]),
    ],
)
def test_filters_have_the_meaning_of_sql(expression, kept):
    table = pa.table(
        {
            "status": ["ok", "bad", None],
            "temp": [1.0, None, 3.0],
            "ok": [True, False, None],
            "n": [1.0, 2.0, 3.0],
        }
    )
    check(expression, TYPES)
    assert keeps(expression, table).nonzero()[0].tolist() == kept


def test_a_filter_names_the_fields_it_reads():
    assert fields("status = 'temp' AND abs(temp) > n") == {"status", "temp", "n"}


def test_fields_whose_names_differ_in_case_only_are_told_apart():
    """SQL would not, and a table has the fields of everybody's queries."""
    table = pa.table({"Temp": [1.0, 9.0], "temp": [9.0, 1.0]})
    assert keeps("temp > 5", table).tolist() == [True, False]
    assert keeps("Temp > 5", table).tolist() == [False, True]
    assert values("temp * 2", table).column.to_pylist() == [18.0, 2.0]


def test_an_expression_without_fields_has_an_answer_for_every_row():
    table = pa.table({"temp": [1.0, 2.0, None]})
    assert keeps("1 < 2", table).tolist() == [True, True, True]
    assert values("6 * 7", table).column.to_pylist() == [42, 42, 42]


WORDS = st.one_of(st.none(), st.sampled_from(["n/a", ""]), st.floats(-4, 4).map(str))


@given(st.lists(WORDS, max_size=40), st.integers(1, 300))
def test_a_computed_field_says_where_it_fails_and_where_there_is_nothing_to_compute(words, times):
    """Over more rows than DuckDB takes at a time, too."""
    words = words * times
    expression = "CASE WHEN word LIKE '-%' THEN NULL ELSE CAST(word AS DOUBLE) END"
    computed = values(expression, pa.table({"word": pa.array(words, pa.string())}))
    fails = [word in ("n/a", "") for word in words]
    made = [
        None if bad or word is None or word.startswith("-") else float(word)
        for word, bad in zip(words, fails, strict=True)
    ]
    assert computed.column.to_pylist() == made
    failed = np.zeros(len(words), np.bool_) if computed.failed is None else computed.failed
    assert failed.tolist() == fails
    assert bool(computed.why) == any(fails)


def test_what_an_expression_has_twice_fails_where_it_fails_and_nowhere_else():
    """DuckDB would work it out once for all rows, and outside of what holds the error."""
    table = pa.table({"word": ["2", "n/a", "7"]})
    assert keeps("CAST(word AS DOUBLE) > 1 AND CAST(word AS DOUBLE) < 5", table).tolist() == [
        True,
        False,
        False,
    ]
    assert keeps("CAST(word AS DOUBLE) > 5 OR NOT CAST(word AS DOUBLE) > 5", table).tolist() == [
        True,
        False,
        True,
    ]
    assert values("CAST(word AS DOUBLE) * CAST(word AS DOUBLE)", table).column.to_pylist() == [
        4.0,
        None,
        49.0,
    ]
    assert values("CAST(word AS DOUBLE) * CAST(word AS DOUBLE)", table).failures()[0] == 1


@pytest.mark.parametrize(
    ("filter_", "kept", "fails"),
    [
        ("CAST(word AS DOUBLE) > 1", [0, 3], 1),
        ("ok OR CAST(word AS DOUBLE) > 1", [0, 1, 3], 0),
        ("NOT ok AND CAST(word AS DOUBLE) > 1", [3], 0),  # what is sure to be false is decided, too
        ("ok AND CAST(word AS DOUBLE) > 1", [0], 1),
        ("NOT (ok AND CAST(word AS DOUBLE) > 1)", [2, 3], 1),
    ],
)
def test_a_condition_that_fails_is_unknown(filter_, kept, fails):
    table = pa.table({"word": ["2", "n/a", "0", "7"], "ok": [True, True, False, False]})
    computed = decided(filter_, table)
    assert computed.holds.nonzero()[0].tolist() == kept
    assert computed.failures()[0] == fails
    assert bool(computed.why) == (computed.failed is not None)


def test_names_that_differ_in_case_alone_are_different_fields():
    table = pa.table({"a": ["x", "y", "x"], "A": [1.0, 2.0, 3.0]})
    check("A > 1 AND a = 'x'", {"a": "text", "A": "number"})
    assert check_value("A * 2", {"a": "text", "A": "number"}) == "number"
    assert keeps("A > 1 AND a = 'x'", table).tolist() == [False, False, True]
    assert values("A * 2", table).column.to_pylist() == [2.0, 4.0, 6.0]
    failing = decided("CAST(a AS INT) = A OR A = 2", table)
    assert failing.holds.tolist() == [False, True, False] and failing.failures()[0] == 2


def test_what_is_no_number_is_no_value():
    table = pa.table({"x": [0.0, 1.0, None], "t": ["1", "x", "1"]})
    assert values("x / x", table).column.to_pylist() == [None, 1.0, None]
    computed = values("CAST(t AS INT) * x / x", table)  # fails on the second
    assert computed.column.to_pylist() == [None, None, None]
    assert computed.failures()[0] == 1
