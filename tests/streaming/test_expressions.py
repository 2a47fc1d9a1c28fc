"""Filters mean what SQL says, and what is not a condition on known fields is refused in a sentence."""

import pyarrow as pa
import pytest

from streaming.expressions import InvalidExpression, check, fields, keeps

TYPES = {"status": "text", "temp": "number", "ok": "boolean", "n": "integer"}


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("regoin <> 'x'", "No field “regoin” (character 1)."),
        ("status = 'ok' AND statu <> 'b'", "No field “statu” (character 19)."),
        ("temp >", "The filter is not complete or has a slip at character 6."),
        ("status = 'ok", "The filter has a quote that is not closed."),
        ("temp + 1", "The filter is not a condition: compare something, as in temp > 20."),
        ("(SELECT 1) = 1", "A filter cannot use SUBQUERY."),
        ("read_text('/etc/passwd') = 'x'", "A filter cannot use the function read_text."),
        ("getenv('HOME') = 'x'", "A filter cannot use the function getenv."),
        ("temp > 1; DROP TABLE x", "Write one condition, such as status = 'ok'."),
        ("", "Write one condition, such as status = 'ok'."),
        ("(" * 5000 + "ok" + ")" * 5000, "The filter is nested too deeply: write it with fewer brackets."),
        ("NOT " * 5000 + "ok", "The filter is nested too deeply: write it with fewer brackets."),
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
