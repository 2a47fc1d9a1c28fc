"""Decimals as they were written, in every format; what does not fit is a wrong value, which is counted."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streaming.decimals import fitted
from streaming.formats import DECODERS, FormatOptions
from streaming.formats.base import Decoded
from streaming.inference import infer_objects

PLACES = 2
EXACT = st.decimals(-(10**15), 10**15, places=PLACES) | st.decimals(-(10**32), 10**32, places=PLACES)
LISTS = st.lists(st.none() | EXACT, min_size=1, max_size=20)


def avro_schema(kind: dict[str, Any], scale: int = PLACES) -> str:
    logical = {**kind, "logicalType": "decimal", "precision": 38, "scale": scale}
    return json.dumps({"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", logical]}]})


def avro_message(schema: str, value: Decimal | None) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), {"x": value})
    return out.getvalue()


BYTES = avro_schema({"type": "bytes"})
FIXED = avro_schema({"type": "fixed", "name": "f", "size": 16})


def decoded(name: str, messages: list[bytes], places: int = PLACES, schema: str = "") -> Decoded:
    options = FormatOptions(("x", "y"), schema)
    return DECODERS[name](pa.array(messages, pa.binary()), {"x": f"decimal({places})"}, options)  # type: ignore[dict-item]


@settings(deadline=None)
@given(LISTS)
@example([Decimal("1.11"), Decimal("2.22"), Decimal("-0.01"), Decimal("0"), None, Decimal("93391451.11")])
def test_every_format_gives_the_decimals_that_were_written(values: list[Decimal | None]) -> None:
    texts = ["" if value is None else f"{value:f}" for value in values]
    written = {
        "json": [b'{"x": %s}' % (text or "null").encode() for text in texts],
        "csv": [f"{text},y".encode() for text in texts],
    }
    for name, messages in written.items():
        assert decoded(name, messages).table.column("x").to_pylist() == values
    in_texts = [json.dumps({"x": text or None}).encode() for text in texts]
    assert decoded("json", in_texts).table.column("x").to_pylist() == values
    for schema in (BYTES, FIXED):
        messages = [avro_message(schema, value) for value in values]
        assert decoded("avro", messages, schema=schema).table.column("x").to_pylist() == values
        wider = [None if value is None else fitted(value, 3) for value in values]
        assert decoded("avro", messages, 3, schema).table.column("x").to_pylist() == wider


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("1.111", "x is 1.111, which has more than 2 decimal places."),
        ("0.30000000000000004", "x is 0.30000000000000004, which has more than 2 decimal places."),
        ("1e40", "x is a number out of range."),
        ('"n/a"', "x is text, not a number."),
        ("true", "x is true or false, not a number."),
    ],
)
def test_what_does_not_fit_is_counted_as_a_wrong_value(written: str, reason: str) -> None:
    found = decoded("json", [b'{"x": 1.10}', b'{"x": %s}' % written.encode(), b'{"x": 1.1e1}'])
    assert found.table.column("x").to_pylist() == [Decimal("1.10"), None, Decimal("11.00")]
    assert (found.wrong["x"].rows.tolist(), found.wrong["x"].reasons.tolist(), found.refused) == (
        [1],
        [reason],
        [],
    )


def test_decimals_of_avro_with_more_places_are_wrong_where_they_use_them() -> None:
    schema = avro_schema({"type": "bytes"}, scale=4)
    messages = [avro_message(schema, Decimal(text)) for text in ("1.1100", "1.1110")]
    found = decoded("avro", messages, schema=schema)
    assert found.table.column("x").to_pylist() == [Decimal("1.11"), None]
    assert found.wrong["x"].reasons.tolist() == ["x is 1.1110, which has more than 2 decimal places."]


def test_decimals_of_avro_are_proposed_as_such_and_floats_stay_doubles() -> None:
    objects = [
        {"a": Decimal("1.10"), "b": 1.5, "c": Decimal(3), "d": Decimal("1.1"), "e": Decimal("1.1")},
        {"a": Decimal("2.20"), "b": 2.25, "c": Decimal(4), "d": Decimal("1.123"), "e": 1.5},
    ]
    assert infer_objects(objects, 2).schema == [
        ("a", "decimal(2)"),
        ("b", "number"),
        ("c", "decimal(0)"),
        ("d", "decimal(3)"),
        ("e", "number"),
    ]
