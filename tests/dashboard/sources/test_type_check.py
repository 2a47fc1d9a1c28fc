"""The type that somebody gives a field is compared with the sample at once, in words."""

import json

import pytest
from django.test import Client

from dashboard.sources.type_check import fit_words
from streaming.formats.base import FormatOptions
from streaming.sources import FieldType
from tests.avro import written
from tests.dashboard.places import connection_to

JSON = [json.dumps({"m": {"temp": value}, "id": 7}).encode() for value in [*range(47), "n/a", "", True]]
AVRO = json.dumps({"type": "record", "name": "R", "fields": [{"name": "v", "type": "string"}]})


@pytest.mark.parametrize(
    ("field", "kind", "words"),
    [
        ("m.temp", "number", "3 of 50 sampled values are not numbers, such as “n/a”."),
        ("m.temp", "text", "48 of 50 sampled values are not texts, such as “0”."),
        ("m.temp", "boolean", "49 of 50 sampled values are not true or false, such as “0”."),
        ("id", "integer", "All 50 sampled values are whole numbers."),
        ("nosuch", "number", "No sampled message has a value for it."),
    ],
)
def test_json(field: str, kind: FieldType, words: str) -> None:
    assert fit_words(JSON, "json", FormatOptions((field,)), {field: kind}, field) == words


def test_csv() -> None:
    types: dict[str, FieldType] = {"a": "text", "b": "number"}
    records = [b"x,1", b'"y, z",two', b"w,"]
    words = fit_words(records, "csv", FormatOptions(tuple(types)), types, "b")
    assert words == "1 of 2 sampled values are not numbers, such as “two”."


def test_avro() -> None:
    messages = [written(json.loads(AVRO), {"v": value}) for value in ("1", "2")]
    words = fit_words(messages, "avro", FormatOptions(("v",), AVRO), {"v": "number"}, "v")
    assert words == "2 of 2 sampled values are not numbers, such as “1”."


def test_the_wizard_says_it_when_a_type_is_chosen(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([{"a": "x", "b": 1}, {"a": "y", "b": 2}], partitions=1)
    typed = {"connection": connection_to(broker).key, "topic": topic, "field": ["a", "b"]}
    page = as_ana.post("/sources/probe/", typed).content.decode()
    assert 'hx-post="/sources/types/"' in page
    answer = as_ana.post("/sources/types/", {**typed, "kind": ["number", "integer"], "checked": "0"})
    assert "2 of 2 sampled values are not numbers, such as “y”." in answer.content.decode()
    assert as_ana.post("/sources/types/", {**typed, "kind": ["number"], "checked": "7"}).status_code == 204
