"""Delimited records at column speed: exactly what Python's csv module reads, and clear refusals."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.formats import FORMATS, FormatOptions
from streaming.formats.csv import reader, scan
from streaming.formats.scan.csv import scan_records
from tests.streaming.formats.comparison import contents, one_by_one, verdicts, wrong_of

COLUMNS = ("device", "skipped", "temp", "ok", "note")
TYPES = {"temp": "number", "device": "text", "ok": "boolean"}
OPTIONS = FormatOptions(columns=COLUMNS)
DELIMITERS = {"csv": ",", "tsv": "\t"}


def decode(messages, name="csv", types=TYPES):
    return FORMATS[name](pa.array(messages, pa.binary()), types, OPTIONS)


def assert_same(messages, name="csv"):
    expected = one_by_one(messages, TYPES, reader(COLUMNS, tuple(TYPES.items()), DELIMITERS[name]))
    decoded = decode(messages, name)
    assert contents(decoded) == contents(expected)
    assert verdicts(decoded) == verdicts(decode(messages, name, {}))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    decode([b"d,,1,true,"])


def written(record, delimiter, quoting, end):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerow(record)
    return (out.getvalue().removesuffix("\r\n") + end).encode()


formats = st.sampled_from(["csv", "tsv"])
records = st.tuples(
    st.none() | st.text(max_size=12),
    st.none() | st.text(alphabet='a,"\t\n é', max_size=6),
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    st.none() | st.booleans(),
    st.text(max_size=12),
)
quotings = st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
ends = st.sampled_from(["", "\n", "\r\n"])


@settings(max_examples=200, deadline=None)
@given(st.lists(records, max_size=5), formats, quotings, ends)
def test_what_was_written_comes_out(items, name, quoting, end):
    items = [item for item in items if not any("\x00" in text for text in item if isinstance(text, str))]
    messages = [written(item, DELIMITERS[name], quoting, end) for item in items]
    decoded = decode(messages, name)
    assert decoded.refused == []
    for field, column in (("device", 0), ("temp", 2), ("ok", 3)):
        expected = [None if item[column] == "" else item[column] for item in items]
        assert decoded.table[field].to_pylist() == expected
    assert_same(messages, name)


VALUES = ["", "a", "é", "1", "-1.5e3", "-0", "-0.0", "007", ".5", "5.", "+1", " 2 ", "1e999", "nan", "1_0"]
VALUES += [
    "true",
    "FALSE",
    "TRUE ",
    "tru",
    "falsely",
    '"',
    '""',
    '"1"',
    '"true"',
    '"a""b"',
    "12345678901234567890",
]
pieces = st.sampled_from(VALUES)
fields = pieces | pieces.map(lambda text: f'"{text}"') | st.text(alphabet='a1",\t\r\n\x00é', max_size=4)
lines = st.builds(
    lambda items, delimiter, end: (delimiter.join(items) + end).encode(),
    st.lists(fields, max_size=7),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["", "\n", "\r\n", "\r", "\n\n", "\n\r"]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.none() | lines | st.binary(max_size=12), max_size=6), formats)
def test_unusual_and_damaged_records(messages, name):
    assert_same(messages, name)


def test_every_value_in_every_column():
    for template in ("{0},,{1},,{0}", "{0},{1},,{1},"):
        assert_same([template.format(one, other).encode() for one in VALUES for other in VALUES])


def test_every_single_byte_in_every_place():
    message = b'd\xc3\xa97,"x,y",-1.5e3,true,"last"\r\n'
    for place in range(len(message)):
        rows = [message[:place] + bytes([byte]) + message[place + 1 :] for byte in range(256)]
        assert_same([*rows, message[:place], message[place:], message])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "The message is empty."),
        (b"", "The message is empty."),
        (b"\r\n", "The message is empty."),
        (b"d,,1", "The message has 3 columns, not 5."),
        (b"d", "The message has 1 column, not 5."),
        (b"d,,1,true,\nd,,1,true,", "The message has 2 records, not one."),
        (b'"d,,1,true,', "Not readable as CSV: unexpected end of data."),
    ],
)
def test_refusals(message, reason):
    decoded = decode([b"d,,1,true,", message, b"d,,2.5,,x"])
    assert [(item.row, item.reason) for item in decoded.refused] == [(1, reason)]
    assert decoded.table["temp"].to_pylist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("message", "name", "reason"),
    [
        (b"d7,,hot,true,", "temp", "temp is text, not a number."),
        (b"d7,,1e999,true,", "temp", "temp is a number out of range."),
        (b"d7,,1,yes,", "ok", "ok is text, not true or false."),
    ],
)
def test_a_field_of_the_wrong_type_has_no_value(message, name, reason):
    decoded = decode([b"d,,1,true,", b"d", message])
    assert [item.row for item in decoded.refused] == [1]
    assert wrong_of(decoded) == {name: [(2, reason)]}
    expected = {"temp": 1.0, "device": "d7", "ok": True} | {name: None}
    assert decoded.table.to_pylist()[1] == expected


def test_without_a_list_of_columns_the_needed_fields_are_the_columns():
    decoded = FORMATS["csv"](pa.array([b"1.5,d,"], pa.binary()), TYPES)
    assert decoded.table.to_pylist() == [{"temp": 1.5, "device": "d", "ok": None}]


def test_what_is_plain_is_not_left_to_the_csv_module():
    messages = [b"d1,x,17.687,true,", b'"d, 2",,-3,False,\xc3\xa9\r\n', b",,,,"]
    assert scan(pa.array(messages, pa.binary()), TYPES, OPTIONS, ",").doubtful.tolist() == [False] * 3


def test_the_scan_is_compiled_once():
    assert len(scan_records.signatures) == 1
