"""JSON messages become columns; what cannot be read is left out with a reason, and stops nothing else."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.formats import FORMATS
from tests.streaming.formats.comparison import wrong_of

TYPES = {"device": "text", "temp": "number", "n": "integer", "ok": "boolean"}


def decode(*messages: bytes | None):
    return FORMATS["json"](pa.array(messages, pa.binary()), TYPES)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "The message is empty."),
        (b"", "Not readable as JSON: Input data was truncated."),
        (b"[1]", "The message is a list, not an object."),
        (b'{"temp": "hot"', "Not readable as JSON: Input data was truncated."),
    ],
)
def test_a_bad_message_is_refused_with_its_reason_and_the_others_are_read(message, reason):
    decoded = decode(b'{"temp": 1}', message, b'{"temp": 2.5}')
    assert [(item.row, item.reason) for item in decoded.refused] == [(1, reason)]
    assert decoded.rows.tolist() == [0, 2]
    assert decoded.table["temp"].to_pylist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"temp": "hot"}, "temp is text, not a number."),
        ({"temp": [1]}, "temp is a list, not a number."),
        ({"device": 7}, "device is a number, not text."),
        ({"n": True}, "n is true or false, not a number."),
        ({"ok": "yes"}, "ok is text, not true or false."),
    ],
)
def test_a_value_of_the_wrong_type_is_none_with_a_reason_and_all_else_is_read(value, reason):
    whole = {"device": "d7", "temp": 2.5, "n": 3.0, "ok": True}
    decoded = decode(b'{"temp": 1}', b"", json.dumps(whole | value).encode())
    [name] = value
    assert decoded.table.to_pylist()[1] == whole | {name: None}
    assert wrong_of(decoded) == {name: [(2, reason)]}


def test_a_number_out_of_range_is_a_wrong_value():
    decoded = decode(b'{"temp": 1e999, "n": 1}')
    assert decoded.table.to_pylist() == [{"device": None, "temp": None, "n": 1.0, "ok": None}]
    assert wrong_of(decoded) == {"temp": [(0, "temp is a number out of range.")]}


values = st.fixed_dictionaries(
    {},
    optional={
        "device": st.none() | st.text(),
        "temp": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "n": st.none() | st.integers(-(2**53), 2**53),
        "ok": st.none() | st.booleans(),
        "other": st.recursive(st.none() | st.text() | st.integers(), st.lists),
    },
)


@settings(deadline=None)
@given(st.lists(values, max_size=5), st.booleans())
def test_whatever_json_holds_comes_out_as_it_went_in(items, escaped):
    decoded = decode(
        *(json.dumps(item, ensure_ascii=escaped).encode("utf-8", "surrogatepass") for item in items)
    )
    kept = [items[row] for row in decoded.rows]
    assert len(kept) + len(decoded.refused) == len(items)
    for row, _ in wrong_of(decoded).get("device", ()):
        assert not is_utf8(items[row].pop("device"))
    for name in TYPES:
        assert decoded.table[name].to_pylist() == [item.get(name) for item in kept]


def is_utf8(text: str) -> bool:
    """Whether a text has no half of a surrogate pair."""
    return text == text.encode("utf-8", "ignore").decode()


def test_messages_of_which_no_field_is_needed_still_count():
    decoded = FORMATS["json"](pa.array([b"{}", b'{"a": 1}', b"x"]), {})
    assert len(decoded.table) == 2
