"""Fields in expressions: a path is written as it is, quoted where it has to be, and mended as a whole."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.field_names import unquoted, written
from streaming.expressions import InvalidExpression, check, check_value, fields, keeps, renamed, values

TYPES = {
    "user.city": "text",
    "order.total": "number",
    "a b.c": "number",
    "a.b.c.d.e.f": "number",
    "city": "text",
}
ROWS = pa.table(
    {
        "user.city": ["Oslo", "Rome"],
        "order.total": [10.0, 20.0],
        "a b.c": [1.0, 2.0],
        "a.b.c.d.e.f": [3.0, 4.0],
        "city": ["Rome", "Oslo"],
    }
)


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("user.city = 'Oslo'", [True, False]),
        ("\"user.city\" = 'Oslo'", [True, False]),
        ("\"user\".city = 'Oslo'", [True, False]),
        ("city = 'Oslo'", [False, True]),
        ("order.total * 1.1 > 20", [False, True]),
        ('"a b".c = 1', [True, False]),
        ("a.b.c.d.e.f = 4 AND user.city LIKE 'R%'", [False, True]),
        ("user.city IN ('Rome') OR order.total BETWEEN 9 AND 11", [True, True]),
    ],
)
def test_a_path_is_a_field_in_a_filter(condition, kept):
    check(condition, TYPES)
    assert keeps(condition, ROWS).tolist() == kept


def test_a_path_is_a_field_in_a_computed_field():
    assert check_value('order.total * 1.1 + "a b".c', TYPES) == "number"
    assert values("order.total * 1.5", ROWS).column.to_pylist() == [15.0, 30.0]
    assert fields('order.total * 1.1 > "a b".c') == {"order.total", "a b.c"}
    assert renamed("order.total > 1", {"order.total": "f0"}) == "f0 > 1"


@pytest.mark.parametrize(
    ("condition", "mended"),
    [
        ("user.cty = 'x'", "user.city = 'x'"),
        ("order.total > 1 AND usr.city = 'x'", "order.total > 1 AND user.city = 'x'"),
        ('"a b".cc = 1', '"a b".c = 1'),
        ("a_b.c > 1", '"a b".c > 1'),
    ],
)
def test_a_slip_in_a_path_is_mended_as_a_whole(condition, mended):
    with pytest.raises(InvalidExpression) as refusal:
        check(condition, TYPES)
    start, end = refusal.value.span
    assert condition[:start] + refusal.value.suggestion + condition[end:] == mended
    check(mended, TYPES)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0."), min_size=1, max_size=6)
WORDS = st.sampled_from(
    ["user", "order", "select", "load", "group", "x1", "1x", "not", "date", "a b", 'a"b', "é"]
)


@given(st.lists(NAMES | WORDS, min_size=1, max_size=4))
def test_what_is_written_is_read_as_the_same_field(parts):
    name = ".".join(parts)
    text = written(name)
    assert unquoted(text) == name
    assert fields(f"{text} IS NULL") == {name}
    assert np.array_equal(keeps(f"{text} > 1", pa.table({name: [1.0, 2.0]})), [False, True])


@pytest.mark.parametrize("name", ["user.city", "order.total", "group.name", "x_1", "date.year", "größe"])
def test_nothing_is_quoted_that_need_not_be(name):
    assert written(name) == name or name.startswith("group")
