"""Changing a saved source: what is refused, and when the job hears of it."""

import json
from dataclasses import replace

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils.html import escape

from dashboard.models import AuditEntry, PlanVersion, SavedQuery, Source
from dashboard.planning import service, wire
from dashboard.planning.news import NOT_HEARD
from tests.dashboard.places import source_at

ADDRESS = "/sources/sensors/settings/"


@pytest.fixture(autouse=True)
def no_kafka(settings: LazySettings) -> None:
    settings.KAFKA_BOOTSTRAP = "127.0.0.1:1"
    wire._forget_producer()


def typed(**changes: str) -> dict[str, str]:
    return {"name": "sensors", "event_time": "ts", "time_unit": "ms", "allowed_lateness": "10s", **changes}


def test_the_form_shows_what_is_saved(as_ana: Client, sensors: Source) -> None:
    page = as_ana.get("/sources/sensors/?tab=settings").content.decode()
    assert 'data-type="integer" selected>ts</option>' in page
    assert "Hot devices" not in page
    assert '<option value="ms" selected>' in page
    assert 'value="10s"' in page
    assert "the source starts anew" in page


def test_another_lateness_makes_a_plan_that_carries_it(
    as_ana: Client, sensors: Source, hot: SavedQuery, django_capture_on_commit_callbacks
) -> None:
    service.replan(sensors, "first")
    with django_capture_on_commit_callbacks(execute=True):
        answer = as_ana.post(ADDRESS, typed(allowed_lateness="2m"), follow=True)
    sensors.refresh_from_db()
    assert sensors.spec().allowed_lateness == 120_000
    newest = service.newest(sensors)
    assert newest is not None
    assert (newest.version, newest.cause) == (2, "Ana changed the settings of sensors")
    assert NOT_HEARD in answer.content.decode()


def test_the_message_timestamp_can_take_over(as_ana: Client, sensors: Source) -> None:
    as_ana.post(ADDRESS, typed(time_source="message"))
    sensors.refresh_from_db()
    assert sensors.spec().event_time is None


def test_another_name_alone_does_not_disturb_the_job(
    as_ana: Client, sensors: Source, hot: SavedQuery
) -> None:
    service.replan(sensors, "first")
    as_ana.post(ADDRESS, typed(name="Plant sensors"))
    sensors.refresh_from_db()
    assert (sensors.name, sensors.key) == ("Plant sensors", "sensors")
    assert PlanVersion.objects.filter(source=sensors).count() == 1


def test_a_source_without_queries_needs_no_plan(as_ana: Client, sensors: Source) -> None:
    as_ana.post(ADDRESS, typed(allowed_lateness="0"))
    sensors.refresh_from_db()
    assert sensors.allowed_lateness == 0
    assert not PlanVersion.objects.exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "Give the source a name."),
        ({"name": "Taken"}, "There is a source “Taken” already: choose another name."),
        ({"event_time": "ok"}, "“ok” cannot hold the event time: choose a number or a text field."),
        ({"time_unit": "iso"}, "“ts” holds integer values: choose one of the numeric units."),
        ({"allowed_lateness": ""}, "Say how long, such as 10s."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_saved(
    as_ana: Client, sensors: Source, changes: dict[str, str], sentence: str
) -> None:
    source_at(key="taken", name="Taken", topic="taken")
    before = Source.objects.filter(pk=sensors.pk).values().get()
    answer = as_ana.post(ADDRESS, typed(**changes))
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert Source.objects.filter(pk=sensors.pk).values().get() == before


def test_others_neither_see_nor_change_the_settings(as_bo: Client, sensors: Source) -> None:
    assert "Save settings" not in as_bo.get("/sources/sensors/?tab=settings").content.decode()
    assert as_bo.post(ADDRESS, typed(name="Mine")).status_code == 403
    sensors.refresh_from_db()
    assert sensors.name == "sensors"


AVRO = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": name, "type": "long"} for name in ("ts", "temp")]},
    indent=1,
)


@pytest.fixture
def avro(sensors: Source) -> Source:
    Source.objects.update(format="avro", avro_schema=AVRO)
    sensors.refresh_from_db()
    return sensors


def test_another_avro_schema_makes_a_plan_that_carries_it(
    as_ana: Client, avro: Source, hot: SavedQuery
) -> None:
    service.replan(avro, "first")
    page = as_ana.get("/sources/sensors/?tab=settings").content.decode()
    assert "With another Avro schema, event time, lateness" in page
    assert "1 query pauses for that long: “Hot devices”." in page
    assert escape(AVRO) in page
    before = avro.spec().stream
    as_ana.post(ADDRESS, typed(avro_schema=AVRO.replace('"long"', '"double"')))
    avro.refresh_from_db()
    assert (avro.spec().avro_schema, avro.spec().format) == (AVRO.replace('"long"', '"double"'), "avro")
    assert avro.spec().stream != before  # what the job takes up anew
    assert service.newest(avro).version == 2


def test_the_same_schema_with_a_browsers_ends_of_lines_disturbs_nothing(
    as_ana: Client, avro: Source, hot: SavedQuery
) -> None:
    service.replan(avro, "first")
    as_ana.post(ADDRESS, typed(name="Plant", avro_schema=AVRO.replace("\n", "\r\n")))
    avro.refresh_from_db()
    assert (avro.name, avro.avro_schema) == ("Plant", AVRO)
    assert PlanVersion.objects.count() == 1


def test_another_registry_is_another_stream(as_ana: Client, avro: Source) -> None:
    Source.objects.update(avro_schema="", registry="http://old:8081")
    page = as_ana.get("/sources/sensors/?tab=settings").content.decode()
    assert "With another registry, event time, lateness" in page
    assert 'value="http://old:8081"' in page
    as_ana.post(ADDRESS, typed(registry="http://new:8081/"))
    avro.refresh_from_db()
    assert (avro.registry, avro.avro_schema) == ("http://new:8081", "")


def test_settings_of_other_formats_have_neither(as_ana: Client, sensors: Source) -> None:
    page = as_ana.get("/sources/sensors/?tab=settings").content.decode()
    assert "Avro schema" not in page
    assert "registry" not in page


def test_a_topic_is_read_again_as_another_stream(
    as_ana: Client, sensors: Source, hot: SavedQuery, django_capture_on_commit_callbacks
) -> None:
    service.replan(sensors, "first")
    before = sensors.spec()
    with django_capture_on_commit_callbacks(execute=True):
        answer = as_ana.post("/sources/sensors/read-again/", follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain == [("/sources/sensors/?tab=dead-letters", 302)]
    assert "Reading “sensors” again." in page
    assert NOT_HEARD in page
    sensors.refresh_from_db()
    assert sensors.spec().stream != before.stream
    assert replace(sensors.spec(), rereads=0) == before
    newest = service.newest(sensors)
    assert newest is not None
    assert (newest.version, newest.cause) == (2, "Ana had sensors read again")
    [entry] = AuditEntry.objects.filter(action="read again")
    assert (entry.person_name, entry.kind, entry.thing, entry.thing_key) == (
        "Ana",
        "source",
        "sensors",
        "sensors",
    )


def test_what_no_query_reads_is_not_read_again(as_ana: Client, sensors: Source) -> None:
    page = as_ana.post("/sources/sensors/read-again/", follow=True).content.decode()
    assert "No query reads sensors: there is nothing to count again." in page
    sensors.refresh_from_db()
    assert sensors.rereads == 0
    assert not PlanVersion.objects.exists()
    assert not AuditEntry.objects.filter(action="read again").exists()


def test_others_cannot_have_it_read_again(as_bo: Client, sensors: Source, hot: SavedQuery) -> None:
    assert as_bo.post("/sources/sensors/read-again/").status_code == 403
    sensors.refresh_from_db()
    assert sensors.rereads == 0
