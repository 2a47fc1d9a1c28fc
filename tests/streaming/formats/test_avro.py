"""Avro at column speed: exactly what fastavro reads, and refusals of what does not fit the schema."""

import io
import json
from decimal import Decimal
from itertools import count

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.formats import FORMATS, FormatOptions
from streaming.formats.avro import reader, registry_reader, scan
from streaming.formats.scan.avro import scan_avro
from tests.streaming.formats.comparison import contents, one_by_one, verdicts, wrong_of

PLACE = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}
EVENT = {
    "type": "record",
    "name": "Event",
    "namespace": "shop",
    "fields": [
        {"name": "device", "type": "string"},
        {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}, "default": []},
        {
            "name": "extra",
            "type": {"type": "map", "values": {"type": "map", "values": "double"}},
            "default": {},
        },
        {"name": "temp", "type": ["null", "double", "string"], "default": None},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["ok", "hot"]}},
        {"name": "before", "type": ["null", "State"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "raw", "type": {"type": "fixed", "name": "Raw", "size": 3}},
        {
            "name": "place",
            "type": [
                "null",
                {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]},
            ],
        },
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "ok", "type": "boolean"},
        {"name": "small", "type": "float"},
    ],
}
TYPES = {
    "device": "text",
    "ts": "integer",
    "temp": "number",
    "state": "text",
    "before": "text",
    "price": "number",
    "place.city": "text",
    "day": "integer",
    "ok": "boolean",
    "small": "number",
    "missing": "text",
}
RECORD = {
    "device": "d1é",
    "ts": 1_767_225_600_000,
    "tags": ["a", None],
    "extra": {"x": {"y": 1.5}, "z": {}},
    "temp": 17.687,
    "state": "hot",
    "before": "ok",
    "price": Decimal("-12.34"),
    "raw": b"abc",
    "place": {"city": "Köln"},
    "day": 20_000,
    "ok": True,
    "small": 0.5,
}
TAKEN = {name: RECORD.get(name) for name in TYPES} | {"price": -12.34, "place.city": "Köln"}


def written(schema, record):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, record)
    return out.getvalue()


def options(schema):
    return FormatOptions(avro_schema=json.dumps(schema))


def decode(messages, schema=EVENT, types=TYPES):
    return FORMATS["avro"](pa.array(messages, pa.binary()), types, options(schema))


def assert_same(messages, schema=EVENT, types=TYPES):
    expected = one_by_one(messages, types, reader(json.dumps(schema), tuple(types.items())))
    decoded = decode(messages, schema, types)
    assert contents(decoded) == contents(expected)
    assert verdicts(decoded) == verdicts(decode(messages, schema, {}))


@pytest.fixture(scope="module", autouse=True)
def compiled():
    decode([written(EVENT, RECORD)])


@st.composite
def schemas(draw, numbers, depth=0):
    """A schema, a strategy for its values, and the type that a field of it has."""
    kinds = [
        "long",
        "int",
        "float",
        "double",
        "boolean",
        "string",
        "bytes",
        "null",
        "enum",
        "fixed",
        "decimal",
        "time",
    ]
    kind = draw(st.sampled_from(kinds + ["array", "map", "union", "record"] * (depth < 2)))
    name = f"T{next(numbers)}"
    if kind in ("array", "map"):
        inner, values, _ = draw(schemas(numbers, depth + 1))
        if kind == "array":
            items = {"type": "record", "name": name, "fields": [{"name": "n", "type": "int"}]}
            items["fields"].append({"name": "value", "type": inner})
            item = st.fixed_dictionaries({"n": st.integers(0, 200), "value": values})
            return {"type": kind, "items": items}, st.lists(item, max_size=3), None
        return {"type": kind, "values": inner}, st.dictionaries(st.text(max_size=2), values, max_size=2), None
    if kind == "union":
        inner, values, own = draw(schemas(numbers, 2))
        if inner == "null":
            return inner, values, own
        branches = draw(st.permutations(["null", inner]))
        return branches, st.none() | values, own
    if kind == "record":
        return draw(records(numbers, depth + 1))
    if kind == "enum":
        return {"type": kind, "name": name, "symbols": ["A", "B", "C"]}, st.sampled_from("ABC"), "text"
    if kind == "fixed":
        return {"type": kind, "name": name, "size": 2}, st.binary(min_size=2, max_size=2), None
    if kind == "decimal":
        schema = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}
        return schema, st.decimals(-999_999_999, 999_999_999, places=3), "number"
    if kind == "time":
        return (
            {"type": "long", "logicalType": "timestamp-micros"},
            st.integers(-(2**63), 2**63 - 1),
            "integer",
        )
    values, own = {
        "long": (st.integers(-(2**63), 2**63 - 1), "integer"),
        "int": (st.integers(-(2**31), 2**31 - 1), "number"),
        "float": (st.floats(width=32), "number"),
        "double": (st.floats(), "number"),
        "boolean": (st.booleans(), "boolean"),
        "string": (st.text(max_size=12), "text"),
        "bytes": (st.binary(max_size=4), None),
        "null": (st.none(), "text"),
    }[kind]
    return kind, values, own


@st.composite
def records(draw, numbers, depth=0):
    items = [draw(schemas(numbers, depth)) for _ in range(draw(st.integers(0, 4 if depth == 0 else 2)))]
    fields = [{"name": f"f{place}", "type": item[0]} for place, item in enumerate(items)]
    schema = {"type": "record", "name": f"R{next(numbers)}", "fields": fields}
    values = st.fixed_dictionaries({f"f{place}": item[1] for place, item in enumerate(items)})
    return schema, values, {f"f{place}": item[2] for place, item in enumerate(items)}


def leaves(types, before=""):
    """The fields of a record that can be taken, with their types."""
    for name, kind in types.items():
        if isinstance(kind, dict):
            yield from leaves(kind, f"{before}{name}.")
        elif kind is not None:
            yield f"{before}{name}", kind


def at(record, path):
    for key in path.split("."):
        record = record.get(key) if record is not None else None
    return float(record) if isinstance(record, int | Decimal) and not isinstance(record, bool) else record


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_random_schemas_and_records(data):
    schema, values, kinds = data.draw(records(count()))
    items = data.draw(st.lists(values, max_size=3))
    fields = dict(leaves(kinds))
    chosen = data.draw(st.sets(st.sampled_from(sorted(fields)))) if fields else set()
    types = {name: fields[name] for name in sorted(chosen)}
    messages = [written(schema, item) for item in items]
    decoded = decode(messages, schema, types)
    assert decoded.refused == []
    for name in types:
        assert repr(decoded.table[name].to_pylist()) == repr([at(item, name) for item in items])
    assert_same(messages, schema, types)
    assert_same(
        messages, schema, dict.fromkeys(["f0", "f1", "f2.f0"], data.draw(st.sampled_from(["text", "number"])))
    )
    assert_same([damage(data, message) for message in messages], schema, types)


def damage(data, message):
    message = bytearray(message)
    place = data.draw(st.integers(0, len(message)))
    message[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    return bytes(message)


def test_every_single_byte_in_every_place():
    message = written(EVENT, RECORD)
    for place in range(len(message)):
        rows = [message[:place] + bytes([byte]) + message[place + 1 :] for byte in range(256)]
        assert_same([*rows, message[:place], message[place:], message + message[:place]])


def test_whole_numbers_of_any_length():
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}
    starts = [bytes([byte]) * count for byte in (0x80, 0xD5, 0xFF) for count in range(12)]
    messages = [start + bytes([last]) for start in starts for last in range(256)]
    assert_same(messages, schema, {"n": "integer"})
    values = [-(2**63), -(2**62), -65, -64, -1, 0, 63, 64, 2**55, 2**56, 2**62, 2**63 - 1]
    decoded = decode([written(schema, {"n": value}) for value in values], schema, {"n": "integer"})
    assert decoded.table["n"].to_pylist() == [float(value) for value in values]


@pytest.mark.parametrize(("precision", "scale"), [(3, 1), (9, 2), (18, 0), (30, 25)])
def test_decimals_of_any_length(precision, scale):
    kind = {"logicalType": "decimal", "precision": precision, "scale": scale}
    digits = [
        first + bytes([byte]) * count
        for first in (b"", b"\x7f")
        for byte in range(256)
        for count in range(10)
    ]
    plain = {"type": "record", "name": "R", "fields": [{"name": "d", "type": "bytes"}]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "d", "type": {"type": "bytes", **kind}}]}
    assert_same([written(plain, {"d": item}) for item in digits], schema, {"d": "number"})
    fixed = {"type": "fixed", "name": "F", "size": 3, **kind, "precision": min(precision, 6), "scale": 1}
    schema = {"type": "record", "name": "R", "fields": [{"name": "d", "type": fixed}]}
    assert_same([item for item in digits if len(item) == 3], schema, {"d": "number"})


def test_all_that_a_record_holds():
    assert decode([written(EVENT, RECORD)] * 2).table.to_pylist() == [TAKEN] * 2


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (None, "The message is empty."),
        (b"", "Not readable as Avro: the bytes do not fit the schema."),
        (written(EVENT, RECORD)[:-1], "Not readable as Avro: the bytes do not fit the schema."),
        (written(EVENT, RECORD) + b"xy", "Not readable as Avro: 2 more bytes than the schema has."),
    ],
)
def test_refusals(message, reason):
    decoded = decode([written(EVENT, RECORD), message])
    assert [(item.row, item.reason) for item in decoded.refused] == [(1, reason)]
    assert decoded.table.to_pylist() == [TAKEN]


def test_a_field_of_the_wrong_type_has_no_value():
    decoded = decode([written(EVENT, RECORD), b"", written(EVENT, {**RECORD, "temp": "hot"})])
    assert decoded.table.to_pylist() == [TAKEN, TAKEN | {"temp": None}]
    assert wrong_of(decoded) == {"temp": [(2, "temp is text, not a number.")]}


def test_what_cannot_be_a_field_is_named_when_it_is_asked_for():
    types = {"raw": "text", "tags": "number", "place": "text", "ok": "number", "price": "text"}
    expected = [
        "bytes, not text",
        "a list, not a number",
        "an object, not text",
        "true or false, not a number",
    ]
    for (name, kind), words in zip(types.items(), [*expected, "a number, not text"], strict=True):
        decoded = decode([written(EVENT, RECORD)], types={name: kind})
        assert wrong_of(decoded) == {name: [(0, f"{name} is {words}.")]}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("", "The Avro schema of the source cannot be read."),
        ('{"type": "record"}', "The Avro schema of the source cannot be read."),
        ('{"type": "nonsense"}', "The Avro schema of the source cannot be read."),
        ('"long"', "The Avro schema of the source is not a record."),
        ('["null"]', "The Avro schema of the source is not a record."),
        (
            '{"type": "record", "name": "Link", "fields": [{"name": "next", "type": ["null", "Link"]}]}',
            "In the Avro schema, Link holds itself, which cannot be read.",
        ),
        (
            '{"type": "record", "name": "R", "fields": ['
            '{"name": "a", "type": {"type": "array", "items": "null"}}]}',
            "In the Avro schema, the items of a list are empty, which cannot be read.",
        ),
    ],
)
def test_schemas_that_cannot_be_used(schema, reason):
    decoded = FORMATS["avro"](pa.array([b"\x00"], pa.binary()), TYPES, FormatOptions(avro_schema=schema))
    assert [item.reason for item in decoded.refused] == [reason]


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "fixed", "name": "F", "size": -3},
        {"type": "fixed", "name": "F", "size": "3"},
        {"type": "enum", "name": "E", "symbols": [1]},
        {"type": "array"},
        {"type": "no such type"},
        {},
        None,
        7,
    ],
)
def test_types_that_do_not_exist(kind):
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": kind}, {"name": "n", "type": "int"}],
    }
    refused = decode([b"\x02\x04"], schema, {"n": "number"}).refused
    assert [item.reason for item in refused] == ["The Avro schema of the source cannot be read."]


@pytest.mark.parametrize(
    "details",
    [{}, {"precision": 0}, {"precision": 2, "scale": 5}, {"precision": "2"}, {"precision": 2, "scale": -1}],
)
def test_a_decimal_without_its_digits_is_bytes(details):
    kind = {"type": "bytes", "logicalType": "decimal", **details}
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": kind}]}
    decoded = decode([b"\x02\x04"], schema, {"n": "number"})
    assert wrong_of(decoded) == {"n": [(0, "n is bytes, not a number.")]}


def test_a_type_may_be_wrapped():
    kind = {"type": {"type": ["null", {"type": "string", "avro.java.string": "String"}]}}
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]}
    assert decode([b"\x02\x02x", b"\x00"], schema, {"a": "text"}).table["a"].to_pylist() == ["x", None]


def test_each_message_may_name_its_schema():
    older = {**EVENT, "fields": EVENT["fields"][:2]}
    by_id = {1: json.dumps(older), 70_000: json.dumps(EVENT), 3: "not a schema"}.__getitem__
    messages = [
        b"\x00\x00\x00\x00\x01" + written(older, {"device": "d0", "ts": 5}),
        b"\x00\x00\x01\x11\x70" + written(EVENT, RECORD),
        b"\x00\x00\x00\x00\x02" + written(older, {"device": "d0", "ts": 5}),
        b"\x01\x00\x00\x00\x01" + written(older, {"device": "d0", "ts": 5}),
        b"\x00\x00\x00",
        None,
        b"\x00\x00\x00\x00\x03\x00",
        b"\x00\x00\x00\x00\x01" + written(older, {"device": "d9", "ts": 6}),
    ]
    decoded = FORMATS["avro"](pa.array(messages, pa.binary()), TYPES, FormatOptions(schema_by_id=by_id))
    absent = dict.fromkeys(TYPES)
    assert decoded.table.to_pylist() == [
        absent | {"device": "d0", "ts": 5.0},
        TAKEN,
        absent | {"device": "d9", "ts": 6.0},
    ]
    assert [(item.row, item.reason) for item in decoded.refused] == [
        (2, "There is no schema 2."),
        (3, "The message does not begin with a zero and the id of a schema."),
        (4, "The message does not begin with a zero and the id of a schema."),
        (5, "The message is empty."),
        (6, "The Avro schema of the source cannot be read."),
    ]
    expected = one_by_one(messages, TYPES, registry_reader(by_id, tuple(TYPES.items())))
    assert contents(decoded) == contents(expected)


def test_what_is_plain_is_not_left_to_fastavro():
    messages = [written(EVENT, RECORD), written(EVENT, {**RECORD, "temp": None, "place": None})]
    assert not scan(pa.array(messages, pa.binary()), TYPES, options(EVENT)).doubtful.any()


def test_the_scan_is_compiled_once():
    assert len(scan_avro.signatures) == 1
