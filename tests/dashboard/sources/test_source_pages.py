"""The source pages: add, look, delete."""

import json

import pytest
from django.conf import LazySettings
from django.test import Client
from kafka import KafkaProducer

from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.sources.forms import mark_of
from streaming.topics import Topics, create_topics
from tests.dashboard.places import connection_to

NOW = 1_794_838_349_377
EVENTS = [{"ts": NOW + n, "device": f"d{n}", "temp": n / 2, "meta": {"fw": 1}, "tags": []} for n in range(9)]


def probe(client: Client, servers: str, topic: str = "", **more: str) -> str:
    typed = {"connection": connection_to(servers).key, "topic": topic, **more}
    return client.post("/sources/probe/", typed).content.decode()


def form(servers: str, topic: str, **changes: str | list[str]) -> dict[str, str | list[str]]:
    connection = connection_to(servers)
    return {
        "connection": connection.key,
        "topic": topic,
        "format": "json",
        "tested": mark_of(connection, topic, "json"),
        "field": ["ts", "device", "temp"],
        "kind": ["integer", "text", "number"],
        "event_time": "ts",
        "time_unit": "ms",
        "allowed_lateness": "30s",
        "name": "Plant sensors",
        **changes,
    }


def test_the_test_shows_messages_fields_and_the_suggested_event_time(
    as_ana: Client, broker: str, fill_topic
) -> None:
    page = probe(as_ana, broker, fill_topic([*EVENTS, b"{broken"]))
    assert "3 partitions and keeps 10 messages" in page
    assert "9 of them could be read" in page
    assert '<input type="hidden" name="field" value="meta.fw">' in page
    assert "Holds a list, which queries cannot use." in page
    assert (
        '<option value="ts" data-example="1794838349385" data-unit="ms" data-type="integer" selected>' in page
    )
    assert "Save source" in page
    assert 'class="problem"' not in page


def test_without_a_topic_the_topics_are_listed(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([])
    assert f'data-topic="{topic}"' in probe(as_ana, broker)


def test_a_wrong_topic_is_told_and_the_right_ones_offered(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic([])
    page = probe(as_ana, broker, "nosuch")
    assert "There is no topic “nosuch”" in page
    assert f'data-topic="{topic}"' in page


def test_an_empty_topic_says_what_is_missing(as_ana: Client, broker: str, fill_topic) -> None:
    assert "send one, then read again" in probe(as_ana, broker, fill_topic([]))


def test_a_topic_without_objects_cannot_be_saved(as_ana: Client, broker: str, fill_topic) -> None:
    page = probe(as_ana, broker, fill_topic([b"\xff\xfe", b"[1]"]))
    assert "No field can be used." in page
    assert "Save source" not in page


def test_a_closed_port_is_told_in_words(as_ana: Client) -> None:
    assert "refused the connection" in probe(as_ana, "127.0.0.1:1", "x")
    assert "refused the connection" in probe(as_ana, "127.0.0.1:1")


def test_saving_keeps_what_was_found(as_ana: Client, ana) -> None:
    response = as_ana.post("/sources/new/", form("127.0.0.1:1", "plant.sensors"))
    source = Source.objects.get()
    assert response.url == "/sources/plant-sensors/"
    assert (source.created_by, source.allowed_lateness) == (ana, 30_000)
    spec = source.spec()
    assert spec.types == {"ts": "integer", "device": "text", "temp": "number"}
    assert (spec.id, spec.event_time, spec.time_unit) == ("plant-sensors", "ts", "ms")
    assert not PlanVersion.objects.exists()  # nothing to plan before the first query


def test_the_message_timestamp_needs_no_field(as_ana: Client) -> None:
    as_ana.post("/sources/new/", form("127.0.0.1:1", "t", event_time="", time_unit="", allowed_lateness="0"))
    assert (Source.objects.get().spec().event_time, Source.objects.get().allowed_lateness) == (None, 0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": ""}, "Give the source a name."),
        ({"name": "SENSORS"}, "There is a source “SENSORS” already: choose another name."),
        ({"allowed_lateness": "soon"}, "“soon” is not a duration"),
        ({"event_time": "nosuch"}, "“nosuch” cannot hold the event time"),
        ({"event_time": "device"}, "“device” holds text values: choose ISO 8601 text or a pattern."),
        ({"time_unit": "iso"}, "“ts” holds integer values: choose one of the numeric units."),
        ({"field": ["ts", "a\\b", "temp"]}, "“a\\b” has a quote or a backslash in its name"),
    ],
)
def test_bad_input_is_refused_beside_its_field(
    as_ana: Client, sensors: Source, broker: str, fill_topic, change: dict[str, str], sentence: str
) -> None:
    response = as_ana.post("/sources/new/", form(broker, fill_topic(EVENTS), **change))
    assert response.status_code == 422
    assert sentence in response.content.decode()
    assert Source.objects.count() == 1


def test_a_connection_changed_after_the_test_must_be_looked_at_again(
    as_ana: Client, broker: str, fill_topic
) -> None:
    tested, other = fill_topic(EVENTS), fill_topic(EVENTS)
    mark = mark_of(connection_to(broker), tested, "json")
    response = as_ana.post("/sources/new/", form(broker, other, tested=mark))
    assert "The topic changed after its messages were read" in response.content.decode()
    assert not Source.objects.exists()


def test_a_schema_of_nonsense_is_refused(as_ana: Client, broker: str, fill_topic) -> None:
    topic = fill_topic(EVENTS)
    for names, kinds in (
        ([], []),
        (["a"], []),
        (["a"], ["blob"]),
        (["a", "a"], ["text", "text"]),
        (["a"], [""]),
    ):
        typed = form(broker, topic, field=names, kind=kinds, event_time="")
        assert as_ana.post("/sources/new/", typed).status_code == 422
    assert not Source.objects.exists()


def test_names_that_make_the_same_key_get_different_ones(as_ana: Client) -> None:
    for name in ("web.requests", "web-requests", "web requests"):
        as_ana.post("/sources/new/", form("127.0.0.1:1", "t", name=name))
    assert set(Source.objects.values_list("key", flat=True)) == {
        "web-requests",
        "web-requests-2",
        "web-requests-3",
    }


def test_the_source_page_works_while_its_cluster_is_down(as_bo: Client, hot: SavedQuery) -> None:
    page = as_bo.get("/sources/sensors/").content.decode()
    assert 'data-live-source="sensors"' in page
    assert "Hot devices" in page
    assert "refused the connection" in as_bo.get("/sources/sensors/messages/").content.decode()


def test_the_messages_of_a_source_are_shown(as_bo: Client, sensors: Source, broker: str, fill_topic) -> None:
    Source.objects.update(connection=connection_to(broker), topic=fill_topic(EVENTS))
    page = as_bo.get("/sources/sensors/messages/").content.decode()
    assert "of 9 messages in 3 partitions" in page
    assert "d8" in page


def test_dead_letters_are_those_of_the_source(
    as_bo: Client, sensors: Source, broker: str, settings: LazySettings
) -> None:
    settings.KAFKA_BOOTSTRAP, settings.TOPIC_PREFIX = broker, "test-letters"
    topics = Topics("test-letters")
    create_topics(broker, topics.shared())
    producer = KafkaProducer(bootstrap_servers=broker)
    for source in ("sensors", "other"):
        letter = {
            "source": source,
            "partition": 0,
            "offset": 7,
            "timestamp": NOW,
            "reason": f"bad {source}",
            "value": "{x",
        }
        producer.send(topics.dead_letters, json.dumps(letter).encode(), key=source.encode()).get(10)
    producer.close()
    page = as_bo.get("/sources/sensors/dead-letters/").content.decode()
    assert "bad sensors" in page
    assert "bad other" not in page


def test_no_dead_letters_is_said(as_bo: Client, sensors: Source, broker: str, settings: LazySettings) -> None:
    settings.KAFKA_BOOTSTRAP, settings.TOPIC_PREFIX = broker, "test-no-letters"
    assert "No dead letters." in as_bo.get("/sources/sensors/dead-letters/").content.decode()


def test_an_empty_list_says_what_to_do(as_ana: Client) -> None:
    assert "No sources yet." in as_ana.get("/sources/").content.decode()
