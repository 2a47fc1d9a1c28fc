"""JSON messages become columns; what cannot be read is refused with a reason, and stops nothing else."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.formats import FORMATS

TYPES = {"device": "text", "temp": "number", "n": "integer", "ok": "boolean"}


def decode(*messages: bytes | None):
    return FORMATS["json"](pa.array(messages, pa.binary()), TYPES)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "The message is empty."),
        (b"", "Not readable as JSON: Input data was truncated."),
        (b"[1]", "The message is a list, not an object."),
        (b'{"temp": "hot"}', "temp is text, not a number."),
        (b'{"device": 7}', "device is a number, not text."),
        (b'{"ok": "yes"}', "ok is text, not true or false."),
        (b'{"temp": 1e999}', "Not readable as JSON: Number out of range - at $.temp."),
    ],
)
def test_a_bad_message_is_refused_with_its_reason_and_the_others_are_read(message, reason):
    decoded = decode(b'{"temp": 1}', message, b'{"temp": 2.5}')
    assert [(item.row, item.reason) for item in decoded.refused] == [(1, reason)]
    assert decoded.rows.tolist() == [0, 2]
    assert decoded.table["temp"].to_pylist() == [1.0, 2.5]


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
    for name in TYPES:
        assert decoded.table[name].to_pylist() == [item.get(name) for item in kept]


def test_messages_of_which_no_field_is_needed_still_count():
    decoded = FORMATS["json"](pa.array([b"{}", b'{"a": 1}', b"x"]), {})
    assert len(decoded.table) == 2
