"""JSON at column speed says of every message exactly what msgspec says of it."""

import json
import random
from fractions import Fraction

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.formats import FORMATS, FormatOptions
from streaming.formats.json import reader, scan
from streaming.formats.scan.json import scan_json
from streaming.formats.scan.texts import number_texts
from tests.streaming.formats.comparison import contents, one_by_one, verdicts, wrong_of

TYPES = {
    "device": "text",
    "temp": "number",
    "n": "integer",
    "ok": "boolean",
    "a.b": "number",
    "a.c.d": "text",
}


def decode(messages, types=TYPES, options=None):
    values = pa.array(messages, pa.binary())
    return FORMATS["json"](values, types, *([options] if options else []))


def assert_same(messages, types=TYPES):
    expected = one_by_one(messages, types, reader(tuple(types.items())))
    decoded = decode(messages, types)
    assert contents(decoded) == contents(expected)
    assert verdicts(decoded) == verdicts(decode(messages, {}))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    decode([b'{"device": "x"}'])


spaces = st.sampled_from(["", "", "", " ", "\n", "\t \r"])
number_texts_ = (
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.integers(-(2**65), 2**65).map(str)
    | st.floats(-1000, 1000).map(lambda value: f"{value:.3f}")
)
texts = st.builds(json.dumps, st.text(max_size=20), ensure_ascii=st.booleans())
odd_texts = st.sampled_from(
    [r'"\u0041\/\b"', r'"\ud83d\ude00"', r'"\ud83d"', r'"\x"', '"a\x00b"', '"\x7f\x80"']
)
scalars = (
    number_texts_ | texts | odd_texts | st.sampled_from(["null", "true", "false", "NaN", "-", "01", "tru"])
)
keys = (
    st.sampled_from([*TYPES, "a", "b", "c", "d", "c.d", "other"]).map(json.dumps)
    | st.sampled_from([r'"te\u006dp"', '"\xff"', '""'])
    | texts
)


def _list(items, space):
    return f"[{space}" + f"{space},".join(items) + "]"


def _object(items, space):
    return (
        "{"
        + space
        + f"{space},{space}".join(f"{key}{space}:{space}{value}" for key, value in items)
        + space
        + "}"
    )


def _nested(values):
    return st.builds(_list, st.lists(values, max_size=3), spaces) | objects_of(values)


def objects_of(values):
    return st.builds(_object, st.lists(st.tuples(keys, values), max_size=6), spaces)


objects = objects_of(st.recursive(scalars, _nested, max_leaves=8)).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
plain = st.fixed_dictionaries(
    {},
    optional={
        "device": st.none() | st.text(),
        "temp": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "n": st.integers(-(2**60), 2**60),
        "ok": st.none() | st.booleans(),
        "a": st.none()
        | st.integers()
        | st.fixed_dictionaries({}, optional={"b": st.floats(0, 1), "c": st.none()}),
        "a.b": st.floats(0, 1),
        "other": st.lists(st.text() | st.integers(), max_size=3),
    },
).map(lambda item: json.dumps(item).encode())


@settings(max_examples=300, deadline=None)
@given(st.lists(plain | objects, max_size=6), st.sets(st.sampled_from(list(TYPES))))
def test_objects_of_any_kind(messages, needed):
    assert_same(messages * 2, {name: kind for name, kind in TYPES.items() if name in needed})


@st.composite
def damaged(draw):
    message = bytearray(draw(plain | objects))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(message)))
        piece = draw(
            st.binary(max_size=2)
            | st.sampled_from([b'"', b"\\", b",", b"{", b"}", b"[", b"]", b"0", b"\xe9"])
        )
        message[place : place + draw(st.integers(0, 2))] = piece
    return bytes(message[: draw(st.integers(0, len(message)))] if draw(st.booleans()) else message)


@settings(max_examples=300, deadline=None)
@given(st.lists(damaged() | plain, max_size=6))
def test_damaged_objects(messages):
    assert_same(messages)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.binary() | st.binary().map(lambda tail: b'{"temp":' + tail), max_size=4))
def test_any_bytes(messages):
    assert_same(messages)


def test_every_single_byte_in_every_place():
    """All one-byte replacements and cuts of a message with one of everything."""
    message = (
        b'{"device":"d\xc3\xa97","temp":-1.5e3,"n":12,"ok":true,'
        b'"a":{"b":7,"c":{"d":"x"}},"z":[1,{"k":"\\u00e9"}],"y":null}'
    )
    for place in range(len(message)):
        rows = [message[:place] + bytes([byte]) + message[place + 1 :] for byte in range(256)]
        assert_same([*rows, message[:place], message[place:], message])


def test_texts_are_checked_to_be_utf_8():
    bodies = [
        bytes([lead, second, *tail])
        for lead in range(0xC0, 0x100)
        for second in range(0x70, 0x100)
        for tail in ((), (0x80,), (0xBF, 0x80), (0x80, 0xC0))
    ]
    assert_same([b'{"device":"%s"}' % body for body in bodies], {"device": "text"})


def test_the_same_key_at_the_same_place_in_another_object():
    types = {"a.b": "number", "b": "number"}
    messages = [b'{"a":{"x":1,"b":2}}', b'{"a":{"x":1},"b":3}', b'{"a":{"x":1,"b":4}}']
    assert decode(messages, types).table.to_pydict() == {"a.b": [2, None, 4], "b": [None, 3, None]}


def test_numbers_are_the_nearest_floats():
    source = random.Random(7)
    written = []
    for _ in range(30_000):
        digits = str(source.randrange(10 ** source.randint(1, 19)))
        point = source.randint(0, len(digits) - 1)
        number = f"{digits[:point] or '0'}.{digits[point:]}" if source.random() < 0.7 else digits
        if number[0] == "0" and number[1:2] not in ("", "."):
            number = f"0.{number}"
        exponent = f"e{source.randint(-70, 70)}" if source.random() < 0.4 else ""
        written.append(source.choice(("", "-")) + number + exponent)
    # Half way between two floats and its neighbours.
    for _ in range(5_000):
        half = 2 * source.randrange(2**52, 2**53) + 1
        scale = source.randint(0, 20)
        written += [f"{half + step}e{scale}" for step in (-1, 0, 1)]
        written.append(str(half * 2 ** source.randint(0, 9)))
        exact = Fraction(half, 2 ** source.randint(1, 3))
        written.append(f"{exact.numerator * 10**3 // exact.denominator}e-3")
    decoded = decode([b'{"temp":%s}' % text.encode() for text in written], {"temp": "number"})
    expected = np.array([float(text) for text in written])
    whole_zero = np.array([text == "-0" for text in written])  # msgspec drops the sign of a whole zero
    expected[whole_zero] = 0.0
    got = decoded.table["temp"].to_numpy()
    assert np.array_equal(got.view(np.int64), expected.view(np.int64))


def test_what_is_plain_is_not_left_to_msgspec():
    """Otherwise the tests above would compare msgspec with itself."""
    messages = [
        b'{"device":"d\xc3\xa9","ts":1767225600000,"temp":17.687,"ok":true,"a":{"b":1,"z":[{"q":[]}, 1]}}',
        b' { "temp" : 0.12345678901234567e-5 , "skipped" : "\\t \\u00e9 \xff" , "n" : -3 , "ok" : false } ',
        b'{"n":null,"device":null,"other":{"temp":"not this one"},"a.b":2,"e":1e999}',
        b'{"device":"Z\\u00fcrich \\/ \xc3\xa9"}',
        b"{}",
    ]
    assert scan(pa.array(messages * 2, pa.binary()), TYPES).doubtful.tolist() == [False] * 10


@pytest.mark.parametrize(
    ("message", "b", "d"),
    [
        (b'{"a":{"b":1,"c":{"d":"x"}}}', 1.0, "x"),
        (b'{"a.b":2,"a":{"b":1}}', 2.0, None),
        (b'{"a":{"b":1},"a.b":null}', None, None),
        (b'{"a":{"b":1},"a":{}}', None, None),
        (b'{"a":[{"b":1}]}', None, None),
        (b'{"a":7,"a.c.d":"y"}', None, "y"),
        (b'{"a":{"c.d":"not by parts"}}', None, None),
    ],
)
def test_a_dotted_name_is_a_key_or_else_a_path(message, b, d):
    table = decode([message]).table
    assert (table["a.b"].to_pylist(), table["a.c.d"].to_pylist()) == ([b], [d])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b'{"a":{"b":"x"}}', "a.b is text, not a number."),
        (b'{"a":{"c":{"d":1}}}', "a.c.d is a number, not text."),
        (b'{"a":{"b":1e999}}', "a.b is a number out of range."),
    ],
)
def test_reasons_name_the_whole_path(message, reason):
    decoded = decode([message])
    assert decoded.refused == []
    assert wrong_of(decoded) == {reason.split()[0]: [(0, reason)]}


@pytest.mark.parametrize("types", [TYPES, {}, {"x": "number"}])
def test_a_message_may_be_nested_too_deeply(types):
    refused = decode([b'{"x":' + b"[" * 5_000], types).refused
    assert [item.reason for item in refused] == ["Not readable as JSON: it is nested too deeply."]


def test_every_field_of_the_wrong_type_has_no_value_and_the_others_have_theirs():
    messages = [
        b'{"device":"d1","temp":"n/a","n":2,"ok":1,"a":{"b":[]}}',
        b"?",
        b'{"device":{},"temp":3,"ok":true,"a":"?"}',
        b'{"device":"\xff","temp":4}',
        b'{"temp":"n/a","ok":tru}',
    ]
    decoded = decode(messages)
    assert decoded.rows.tolist() == [0, 2, 3]
    assert [item.row for item in decoded.refused] == [1, 4]
    table = decoded.table.select(["device", "temp", "n", "ok", "a.b"]).to_pydict()
    assert table == {
        "device": ["d1", None, None],
        "temp": [None, 3, 4],
        "n": [2, None, None],
        "ok": [None, True, None],
        "a.b": [None, None, None],
    }
    not_utf8 = (
        "device is not readable: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte."
    )
    assert wrong_of(decoded) == {
        "device": [(2, "device is an object, not text."), (3, not_utf8)],
        "temp": [(0, "temp is text, not a number.")],
        "ok": [(0, "ok is a number, not true or false.")],
        "a.b": [(0, "a.b is a list, not a number.")],
    }


def test_a_field_may_be_both_a_value_and_an_object():
    types = {"a": "text", "a.b": "number"}
    decoded = decode([b'{"a":"x"}', b'{"a":{"b":1}}', b'{"a":null}', b'{"a":7}'], types)
    assert decoded.table.to_pydict() == {"a": ["x", None, None, None], "a.b": [None, 1, None, None]}
    assert wrong_of(decoded) == {"a": [(1, "a is an object, not text."), (3, "a is a number, not text.")]}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | st.text(alphabet="ab", max_size=20) | st.text(max_size=3), max_size=30))
def test_dictionaries_hold_the_same_texts_once_each(items):
    messages = [msgspec.json.encode({"device": item}) for item in items]
    types = {"device": "text"}
    column = decode(messages, types, FormatOptions(dictionaries=True)).table["device"].combine_chunks()
    assert column.type == pa.dictionary(pa.int32(), pa.string())
    assert column.to_pylist() == items
    assert len(set(column.dictionary.to_pylist())) == len(column.dictionary)
    column.validate(full=True)


def test_a_text_is_the_same_however_it_is_written():
    written = [r"\u00e9", "é", r"\\u00e9", r"\u005cu00e9", "e", r"\u0065", r"\"\n"]
    messages = [f'{{"device":"{text}"}}'.encode() for text in written]
    column = (
        decode(messages, {"device": "text"}, FormatOptions(dictionaries=True))
        .table["device"]
        .combine_chunks()
    )
    assert column.to_pylist() == ["é", "é", r"\u00e9", r"\u00e9", "e", "e", '"\n']
    codes = column.indices.to_pylist()
    assert codes[0] == codes[1] != codes[2] == codes[3] != codes[4] == codes[5]


def test_texts_of_rows_that_the_scan_gave_up_are_forgotten():
    """There is room for one text a row."""
    messages = [b'{"device":"a%d","device":"b%d"}' % (row, row) for row in range(2_000)]
    column = decode(messages, {"device": "text"}, FormatOptions(dictionaries=True)).table["device"]
    assert column.combine_chunks().dictionary.to_pylist() == [f"b{row}" for row in range(2_000)]


def test_slices_and_other_binary_columns():
    values = pa.array([b"x", b'{"temp":1}', None, b'{"temp":2}', b"y"], pa.binary()).slice(1, 3)
    for column in (values, values.cast(pa.large_binary())):
        decoded = FORMATS["json"](column, {"temp": "number"})
        assert decoded.rows.tolist() == [0, 2]
        assert decoded.table["temp"].to_pylist() == [1.0, 2.0]
    assert len(FORMATS["json"](values.slice(0, 0), TYPES).table) == 0


def test_scans_are_compiled_once_for_all_fields():
    """A second signature would make the first batch of some sources wait for the compiler."""
    assert len(scan_json.signatures) == 1
    assert len(number_texts.signatures) == 1
