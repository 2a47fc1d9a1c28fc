"""Schemas from samples."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.formats import FormatOptions
from streaming.formats.avro import records
from streaming.inference import INEXACT, ODD_NAME, guess_time_unit, infer, infer_objects
from tests.avro import LOGICAL, LOGICAL_RECORD, written


def encoded(*objects: object) -> list[bytes]:
    return [json.dumps(item).encode() for item in objects]


def types(*objects: object) -> dict[str, str | None]:
    return {field.name: field.type for field in infer(encoded(*objects)).fields}


def test_each_kind_of_value_has_its_type() -> None:
    found = types({"a": "x", "b": 1, "c": 1.5, "d": True, "e": {"x": 1}, "f": [1], "g": None})
    assert found == {
        "a": "text",
        "b": "integer",
        "c": "number",
        "d": "boolean",
        "e.x": "integer",
        "f": None,
        "g": None,
    }


def test_whole_numbers_and_fractions_together_are_numbers() -> None:
    assert types({"a": 1}, {"a": 2.5}, {"a": 3}) == {"a": "number"}


def test_true_and_false_are_not_numbers() -> None:
    assert types({"a": True}, {"a": False}) == {"a": "boolean"}


def test_the_most_frequent_kind_wins_and_the_rest_is_noted() -> None:
    field = infer(encoded({"a": 1}, {"a": 2}, {"a": "x"}, {"a": 4})).fields[0]
    assert field.type == "integer"
    assert field.note == "25 % of the messages hold something else, which counts as no value."


def test_whole_numbers_that_floats_do_not_tell_apart_are_noted() -> None:
    values = {"a": -(2**53) - 1, "b": 2**53, "ts": 1_767_225_600_000_000_000, "id": 1_767_225_600_000_000_123}
    fields = infer(encoded(values, {"a": 1, "b": 2})).fields
    assert [field.name for field in fields if field.note == INEXACT] == ["a", "id"]


def test_absent_and_null_values_count_as_missing() -> None:
    fields = {
        field.name: field
        for field in infer(encoded({"a": 1, "b": 2}, {"a": None}, {"b": 3}, {"b": 4})).fields
    }
    assert fields["a"].missing == 0.75
    assert fields["b"].missing == 0.25


def test_keys_that_json_writes_otherwise_than_they_are_cannot_be_used() -> None:
    fields = infer(encoded({'5"': 1, "a\\b": 2, "c": {'d"': 3, "ä é": 4}})).fields
    assert {field.name: field.type for field in fields} == {
        '5"': None,
        "a\\b": None,
        'c.d"': None,
        "c.ä é": "integer",
    }
    assert {field.note for field in fields if field.type is None} == {ODD_NAME}


def test_nested_fields_are_found_by_path_and_lists_are_left_out_with_a_note() -> None:
    inferred = infer(encoded({"a": {"x": 1, "y": {"z": "t"}}, "b": [1]}, {"a": {"x": 2}}, {"a": None}))
    assert inferred.schema == [("a.x", "integer"), ("a.y.z", "text")]
    assert [round(field.missing, 2) for field in inferred.fields] == [0.33, 0.67, 0.67]
    assert inferred.fields[-1].note == "Holds a list, which queries cannot use."


def test_what_is_an_object_only_now_and_then_is_not_looked_into() -> None:
    mixed, dotted, empty = infer(
        encoded({"a": {"x": 1}, "o": {"k.l": 1}, "e": {}}, {"a": 3}, {"a": 4})
    ).fields
    assert (mixed.name, mixed.type) == ("a", "integer")
    assert "33 % of the messages hold something else" in mixed.note
    assert (dotted.name, dotted.type) == ("o.k.l", None)
    assert empty.note == "Holds an object, which queries cannot use."


def test_a_path_and_a_name_with_a_dot_are_one_field() -> None:
    assert infer(encoded({"a.b": 1, "a": {"b": "x"}})).schema == [("a.b", "integer")]


def test_what_is_no_json_object_is_counted_but_not_read() -> None:
    inference = infer([b"{broken", None, b"[1]", b"7", b"\xff\xfe", b'{"a": 1}'])
    assert (inference.messages, inference.readable) == (6, 1)
    assert inference.schema == [("a", "integer")]


def test_what_is_nested_too_deeply_or_too_long_for_a_number_is_looked_at_without_failing() -> None:
    assert infer([b'{"a":' + b"[" * 100_000, b'{"a": 1}']).readable == 1
    assert infer([b"1" * 5_000 + b",2"], "csv").schema == [("column_1", "text"), ("column_2", "integer")]


def test_every_logical_type_of_avro_has_its_type_or_a_reason() -> None:
    options = FormatOptions(avro_schema=json.dumps(LOGICAL))
    found = infer_objects(records([written(LOGICAL, LOGICAL_RECORD)], options), 1)
    assert {field.name: (field.type, field.example) for field in found.fields} == {
        "price": ("decimal(2)", "12.50"),
        "fee": ("decimal(1)", "-0.5"),
        "id": ("text", "5f3e6f1c-0d5c-4d5e-9a0a-3c6a1f2b4d7e"),
        "day": ("integer", "20773"),
        "time_ms": ("integer", "1000"),
        "time_us": ("integer", "1000000"),
        "ms": ("integer", "1794838349377"),
        "us": ("integer", "1794838349377000"),
        "local_ms": ("integer", "1794838349377"),
        "wait": (None, '"AQAAAAIAAAADAAAA"'),
        "prices": (None, "[1.25]"),
    }
    assert [field.name for field in found.fields if field.time_unit] == ["ms", "us", "local_ms"]


def test_records_have_numbered_columns() -> None:
    values = [b"d1,17.5,true,1794838349377,", b'"d, 2",18,FALSE,1794838349378,', b"7,,,1794838349379,", None]
    inference = infer([*values, b"too,few", b'"open', b"\xff,,,,"], "csv")
    assert (inference.messages, inference.readable) == (7, 3)
    assert [(field.name, field.type, field.note) for field in inference.fields[:4]] == [
        ("column_1", "text", ""),
        ("column_2", "number", ""),
        ("column_3", "boolean", ""),
        ("column_4", "integer", ""),
    ]
    assert inference.fields[1].missing == pytest.approx(1 / 3)
    assert inference.fields[4].type is None
    assert inference.event_time.name == "column_4"
    assert infer([b"1\ta"], "tsv").schema == [("column_1", "integer"), ("column_2", "text")]
    assert infer([b"007"], "csv").schema == [("column_1", "text")]
    assert infer([], "csv").fields == ()


def test_the_event_time_is_suggested_by_name_among_fields_that_look_like_times() -> None:
    now = 1_794_838_349_377
    assert infer(encoded({"updated": now, "ts": now, "n": 7})).event_time.name == "ts"
    assert infer(encoded({"n": 7, "ts": 12})).event_time is None


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (1_794_838_349, "s"),
        (1_794_838_349.25, "s"),
        (1_794_838_349_377, "ms"),
        (1_794_838_349_377_000, "us"),
        (1_794_838_349_377_000_000, "ns"),
        ("2026-11-16T14:12:29.377Z", "iso"),
        ("2026-11-16 14:12:29+02:00", "iso"),
        ("2026-11-16", None),
        ("20261116", None),
        ("yesterday", None),
        (0, None),
        (42, None),
        (True, None),
        (-1_794_838_349, None),
    ],
)
def test_the_unit_of_a_time_is_told_by_its_size_or_shape(value: object, unit: str | None) -> None:
    assert guess_time_unit([value]) == unit


@given(
    st.datetimes(datetime(2000, 1, 2), datetime(2099, 12, 30)),  # noqa: DTZ001  hypothesis wants naive bounds
    st.sampled_from([("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)]),
)
def test_every_instant_of_this_century_is_recognised_in_every_unit(
    instant: datetime, unit: tuple[str, int]
) -> None:
    seconds = int(instant.replace(tzinfo=UTC).timestamp())
    assert guess_time_unit([seconds * unit[1]]) == unit[0]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(max_size=6), JSON_VALUES, max_size=5), max_size=8))
def test_any_objects_give_every_field_once_with_a_type_or_a_reason(objects: list[dict]) -> None:
    inference = infer(encoded(*objects))
    names = [field.name for field in inference.fields]
    assert len(names) == len(set(names))
    for item in objects:
        assert all(any(name == one or name.startswith(f"{one}.") for name in names) for one in item)
    for field in inference.fields:
        assert 0 <= field.missing <= 1
        assert field.type is not None or field.note


@given(st.lists(st.none() | st.binary(max_size=40), max_size=10))
def test_any_bytes_are_looked_at_without_failing(values: list[bytes | None]) -> None:
    assert infer(values).messages == len(values)
