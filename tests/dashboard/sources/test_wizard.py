"""The source wizard: formats, corrected types, event times, and going back."""

import json
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client

from dashboard.models import SavedQuery, Source
from dashboard.sources.forms import mark_of
from streaming.topics import Topics, create_topics
from tests.avro import LOGICAL, LOGICAL_RECORD, known, served, written
from tests.dashboard.places import connection_to
from tests.secured import LIMITED, SecuredBroker

AVRO = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "ts", "type": "long"}, {"name": "v", "type": "double"}],
}


def probe(client: Client, servers: str, topic: str, **more: str | list[str]) -> str:
    typed = {"connection": connection_to(servers).key, "topic": topic, **more}
    return client.post("/sources/probe/", typed).content.decode()


def save(client: Client, servers: str, topic: str, **more: str | list[str]) -> Source:
    connection = connection_to(servers)
    written_as = str(more.get("format", "json"))
    described = str(more.get("avro_schema") or more.get("registry", "")).rstrip("/")
    typed = {
        "connection": connection.key,
        "topic": topic,
        "tested": mark_of(connection, topic, written_as, described),
        "name": "s",
        "allowed_lateness": "10s",
        **more,
    }
    answer = client.post("/sources/new/", typed)
    assert answer.status_code == 302, answer.content.decode()
    return Source.objects.get(name="s")


def test_topics_of_millrace_itself_are_not_offered(
    as_ana: Client, as_ada: Client, broker: str, fill_topic, settings: LazySettings
) -> None:
    settings.TOPIC_PREFIX = f"own-{uuid4().hex[:8]}"
    topic = fill_topic([{"a": 1}])
    create_topics(broker, Topics(settings.TOPIC_PREFIX).shared())
    told = f"5 topics of Millrace itself ({settings.TOPIC_PREFIX}.*) are not listed; they can be typed."
    for who, is_told in ((as_ana, False), (as_ada, True)):
        for page in (probe(who, broker, ""), probe(who, broker, "nosuch")):
            assert f'data-topic="{topic}"' in page
            assert f'data-topic="{settings.TOPIC_PREFIX}' not in page
            assert (told in page) == is_told
    assert "Connected." in probe(as_ana, broker, fill_topic([{"a": 1}]))


def test_columns_of_a_record_can_be_named_and_none_left_out(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([b"1794838349377,a,2.5", b"1794838349378,b,3"])
    page = probe(as_ana, broker, topic, format="csv")
    assert 'name="field" value="column_1" aria-label="Name of column 1"' in page
    assert "left out" not in page
    source = save(
        as_ana, broker, topic, format="csv", field=["ts", "room", "temp"], kind=["integer", "text", "number"]
    )
    assert source.spec().types == {"ts": "integer", "room": "text", "temp": "number"}
    assert source.spec().format == "csv"


def test_avro_is_read_with_the_schema_that_was_given(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([written(AVRO, {"ts": 1794838349377, "v": 2.5})], partitions=1)
    assert "Paste the schema" in probe(as_ana, broker, topic, format="avro")
    assert "cannot be read" in probe(as_ana, broker, topic, format="avro", avro_schema="{")
    page = probe(as_ana, broker, topic, format="avro", avro_schema=json.dumps(AVRO))
    assert 'data-example="1794838349377" data-unit="ms"' in page
    assert '<span class="quiet">v</span> <span class="value-number">2.5</span>' in page  # of the message
    source = save(
        as_ana, broker, topic, format="avro", avro_schema=json.dumps(AVRO), field=["v"], kind=["number"]
    )
    assert (source.spec().format, json.loads(source.spec().avro_schema)) == ("avro", AVRO)


def test_every_logical_type_of_avro_is_shown_with_its_type(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([written(LOGICAL, LOGICAL_RECORD)], partitions=1)
    page = probe(as_ana, broker, topic, format="avro", avro_schema=json.dumps(LOGICAL))
    assert 'name="field" value="price"' in page
    assert '<td class="code clip field-example">12.50</td>' in page
    assert "Holds bytes, which queries cannot use." in page


def test_messages_of_a_registry_are_read_with_the_schema_that_they_name(
    as_ana: Client, broker: str, fill_topic
) -> None:
    topic = fill_topic(
        [written(AVRO, {"ts": 1794838349377, "v": 2.5}, number=7), b"\0\0\0\0\1"], partitions=1
    )
    with served(known(7, AVRO)) as registry:
        page = probe(as_ana, broker, topic, format="avro-registry", registry=f"{registry}/")
        assert "the newest 2 messages have them; 1 of them could be read" in page
        assert 'data-example="1794838349377" data-unit="ms"' in page
    gone = probe(as_ana, broker, topic, format="avro-registry", registry="http://127.0.0.1:1")
    assert "The schema registry at http://127.0.0.1:1 does not answer." in gone
    fields = {"field": ["v"], "kind": ["number"]}
    source = save(as_ana, broker, topic, format="avro-registry", registry=f"{registry}/", **fields)
    assert (source.spec().format, source.spec().registry) == ("avro", registry)


@pytest.mark.parametrize(
    ("typed", "changed", "sentence"),
    [
        (
            {"format": "avro", "avro_schema": json.dumps(AVRO, indent=1)},
            {"avro_schema": json.dumps(AVRO).replace('"v"', '"w"')},
            "The schema changed after messages were read with it: look at them, then save.",
        ),
        (
            {"format": "avro-registry", "registry": "http://registry:8081"},
            {"registry": "http://other:8081"},
            "The registry changed after messages were read with it: look at them, then save.",
        ),
    ],
)
def test_another_schema_than_that_of_the_messages_shown_is_noticed(
    as_ana: Client, typed: dict, changed: dict, sentence: str
) -> None:
    connection = connection_to("127.0.0.1:1")
    mark = mark_of(connection, "t", typed["format"], typed.get("avro_schema") or typed["registry"])
    place = {"connection": connection.key, "topic": "t", "tested": mark}
    fields = {"name": "s", "allowed_lateness": "10s", "field": ["v"], "kind": ["number"]}
    answer = as_ana.post("/sources/new/", {**place, **fields, **typed, **changed})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    as_sent = {name: text.replace("\n", "\r\n") for name, text in typed.items()}  # as browsers send lines
    assert as_ana.post("/sources/new/", {**place, **fields, **as_sent}).status_code == 302


def test_going_back_keeps_corrected_types_and_what_was_typed(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([{"ts": 1794838349377, "code": 404}])
    typed = {
        "tested": mark_of(connection_to(broker), topic, "json"),
        "field": ["ts", "code"],
        "kind": ["integer", "text"],
        "time_source": "processing",
        "allowed_lateness": "90s",
        "name": "Mine",
        "past_bound": "1d",
    }
    page = probe(as_ana, broker, topic, **typed)
    assert '<option value="text" selected>' in page
    assert '<option value="processing" selected>' in page
    assert 'value="90s"' in page and 'value="Mine"' in page and 'value="1d"' in page
    other = fill_topic([{"ts": 1794838349377, "code": 404}])
    assert '<option value="text" selected>' not in probe(as_ana, broker, other, **typed)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({"time_source": "processing"}, {"processing_time": True, "event_time": None}),
        ({"time_source": "message", "event_time": "ts"}, {"processing_time": False, "event_time": None}),
        (
            {
                "event_time": "day",
                "time_unit": "pattern",
                "time_pattern": "%d.%m.%Y %H:%M",
                "time_zone": "Europe/Berlin",
            },
            {"time_unit": "pattern", "time_pattern": "%d.%m.%Y %H:%M", "time_zone": "Europe/Berlin"},
        ),
        ({"event_time": "ts", "time_unit": "us"}, {"time_unit": "us", "future_bound": 300_000}),
        ({"future_bound": "", "past_bound": "2h"}, {"future_bound": None, "past_bound": 7_200_000}),
        ({"isolation": "read_uncommitted"}, {"isolation": "read_uncommitted"}),
        ({}, {"isolation": "read_committed"}),
    ],
)
def test_event_times_are_kept_as_chosen(as_ana: Client, typed: dict, expected: dict) -> None:
    fields = {"field": ["ts", "day"], "kind": ["integer", "text"]}
    spec = save(as_ana, "127.0.0.1:1", "t", **fields, **typed).spec()
    assert {name: getattr(spec, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"event_time": "day", "time_unit": "pattern"}, "Write the pattern, such as"),
        ({"event_time": "day", "time_unit": "pattern", "time_pattern": "%Q"}, "is not a pattern for a time"),
        ({"event_time": "day", "time_unit": "iso", "time_zone": "Mars"}, "“Mars” is not a time zone"),
        ({"time_source": "field"}, "Choose the field that holds the event time."),
        ({"future_bound": "soon"}, "“soon” is not a duration"),
        ({"connection": "nosuch"}, "There is no such connection any more"),
    ],
)
def test_what_cannot_be_is_said(as_ana: Client, broker: str, fill_topic, typed: dict, sentence: str) -> None:
    topic = fill_topic([{"ts": 1, "day": "x"}])
    connection = connection_to(broker)
    whole = {
        "connection": connection.key,
        "topic": topic,
        "tested": mark_of(connection, topic, "json"),
        "name": "s",
        "allowed_lateness": "10s",
        "field": ["ts", "day"],
        "kind": ["integer", "text"],
        **typed,
    }
    answer = as_ana.post("/sources/new/", whole)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()


def test_a_topic_that_may_not_be_read_is_told(as_ana: Client, secured: SecuredBroker) -> None:
    connection = connection_to(secured.at("tlslogin"), secured.login(LIMITED), name="limited")
    typed = {"connection": connection.key, "topic": "secret.topic"}
    page = as_ana.post("/sources/probe/", typed).content.decode()
    assert "does not let this connection read “secret.topic”" in page


def test_types_can_be_corrected_later_but_not_under_a_query(as_ana: Client, hot: SavedQuery) -> None:
    names = ["ts", "device", "temp", "ok"]
    typed = {"name": "sensors", "field": names, "kind": ["integer", "text", "text", "boolean"]}
    page = as_ana.post("/sources/sensors/settings/", typed).content.decode()
    assert "The query “Hot devices” would fail: “temp” is text" in page
    as_ana.post("/sources/sensors/settings/", typed | {"kind": ["integer", "text", "integer", "boolean"]})
    assert Source.objects.get().types["temp"] == "integer"


def test_a_field_that_messages_have_by_now_is_added_and_what_was_typed_stays(
    as_ana: Client, hot: SavedQuery
) -> None:
    names, kinds = ["ts", "device", "temp", "ok"], ["integer", "text", "integer", "boolean"]
    typed = {"name": "sensors", "field": [*names, " fan.speed "], "kind": [*kinds, ""]}
    page = as_ana.post("/sources/sensors/settings/", typed).content.decode()
    assert "Choose a type for fan.speed." in page
    assert 'value="fan.speed"' in page
    assert page.count('<option value="integer" selected>') == 2  # also of temp, which is a number still
    as_ana.post("/sources/sensors/settings/", typed | {"kind": [*kinds, "number"]})
    added = Source.objects.get()
    assert added.types == dict(zip(names, kinds, strict=True)) | {"fan.speed": "number"}
    as_ana.post("/sources/sensors/settings/", {"name": "sensors", "field": names, "kind": kinds})
    assert Source.objects.get().types == added.types  # a page that did not know of it takes nothing away


def test_no_field_has_to_be_added(as_ana: Client, hot: SavedQuery) -> None:
    typed = {
        "field": ["ts", "device", "temp", "ok", ""],
        "kind": ["integer", "text", "number", "boolean", ""],
    }
    answer = as_ana.post("/sources/sensors/settings/", {"name": "Plant", **typed})
    assert answer.status_code == 302
    assert (Source.objects.get().name, len(Source.objects.get().schema)) == ("Plant", 4)
