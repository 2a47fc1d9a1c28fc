"""Templates: every one that is offered is a query that can be saved as it is."""

import json
import time
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from django.contrib.auth.models import User
from django.test import Client
from kafka.admin import NewTopic

from dashboard.models import Source
from dashboard.queries.drafts import check_draft
from dashboard.queries.field_values import UNKNOWN, FieldValues, field_values
from dashboard.queries.templates import TEMPLATES, fitting, from_template
from streaming.topics import create_topics
from tests.dashboard.places import source_at

WEB = [
    ["ts", "integer"],
    ["client ip", "text"],
    ["status", "integer"],
    ["bytes", "integer"],
    ["latency_ms", "number"],
]


def test_every_template_fits_a_source_with_all_kinds_of_fields(sensors: Source) -> None:
    assert fitting(sensors) == list(TEMPLATES)
    for template in TEMPLATES:
        assert check_draft(from_template(template.key, sensors)).problems == {}, template.key


def test_templates_choose_fields_by_what_they_are_called(sensors: Source) -> None:
    sensors.schema = WEB
    assert from_template("latency", sensors).computations[0].field == "latency_ms"
    assert (
        from_template("errors", sensors).computations[0].field == "CASE WHEN status >= 500 THEN 1 ELSE 0 END"
    )
    assert from_template("talkers", sensors).group_by == ("client ip",)
    for template in fitting(sensors):
        assert check_draft(from_template(template.key, sensors)).problems == {}, template.key


@pytest.mark.parametrize(
    ("schema", "condition"),
    [
        ([["failed", "boolean"]], "failed"),
        ([["is_error", "boolean"]], "is_error"),
        ([["hasErrors", "boolean"]], "hasErrors"),
        ([["request.failed", "boolean"]], "request.failed"),
        ([["ok", "boolean"]], "NOT ok"),
        ([["isSuccessful", "boolean"]], "NOT isSuccessful"),
        ([["is_valid", "boolean"]], "NOT is_valid"),
        ([["invalid", "boolean"]], "invalid"),
        ([["cached", "boolean"], ["status", "integer"]], "status >= 500"),
        ([["ok", "boolean"], ["failed", "boolean"]], "failed"),
        ([["http_status", "integer"]], "http_status >= 500"),
        ([["statusCode", "integer"]], "statusCode >= 500"),
        ([["code", "integer"]], "code >= 500"),
        ([["exit_code", "integer"]], "exit_code <> 0"),
        ([["level", "text"]], "lower(level) IN ('error', 'fatal', 'critical')"),
        ([["severity", "text"]], "lower(severity) IN ('error', 'fatal', 'critical')"),
        ([["level", "text"], ["status", "integer"]], "status >= 500"),
        ([["status", "text"]], "status <> 'ok'"),
        ([["outcome", "text"]], "outcome <> 'ok'"),
        ([["cached", "boolean"]], None),
        ([["token", "boolean"]], None),
        ([["country_code", "text"], ["zip_code", "integer"]], None),
        ([["level", "number"]], None),  # of a river, or of a log: nobody knows which end is bad
    ],
)
def test_an_error_is_told_by_the_field_that_says_so(
    sensors: Source, schema: list[list[str]], condition: str | None
) -> None:
    sensors.schema = [["ts", "integer"], *schema]
    draft = from_template("errors", sensors)
    if condition is None:
        assert draft is None
        return
    assert draft is not None
    assert draft.computations[0].field == f"CASE WHEN {condition} THEN 1 ELSE 0 END"
    assert check_draft(draft).problems == {}


TRACES = [
    ["ts", "integer"],
    ["user_id", "text"],
    ["trace_id", "text"],
    ["path", "text"],
    ["retry_s", "integer"],
    ["took", "number"],
    ["outcome", "text"],
]


def test_fields_are_chosen_by_how_many_values_they_have(sensors: Source) -> None:
    """One with a value of its own in every message is nobody to count by; a code is no latency."""
    sensors.schema = TRACES
    different = {"user_id": 500, "trace_id": 500, "path": 12, "retry_s": 3, "took": 480, "outcome": 2}
    known = FieldValues(500, different)
    assert from_template("talkers", sensors).group_by == ("user_id",)
    assert from_template("talkers", sensors, known).group_by == ("path",)
    assert from_template("heartbeat", sensors, known).group_by == ("path",)
    assert from_template("latency", sensors).computations[0].field == "retry_s"
    assert from_template("latency", sensors, known).computations[0].field == "took"
    assert "outcome" in from_template("errors", sensors, known).computations[0].field
    told = FieldValues(500, different | {"outcome": 490})
    assert from_template("errors", sensors, told) is None
    sensors.schema = [["ts", "integer"], ["a", "text"], ["b", "text"], ["c", "text"]]
    rest = FieldValues(500, {"a": 1, "b": 7, "c": 400})
    assert from_template("talkers", sensors, rest).group_by == ("b",)
    few = FieldValues(3, {"a": 1, "b": 3, "c": 2})
    assert from_template("talkers", sensors, few).group_by == ("a",)


def test_a_topic_that_cannot_be_read_leaves_names_to_choose_by(sensors: Source) -> None:
    assert field_values(sensors) == UNKNOWN


@pytest.mark.broker
def test_values_are_counted_on_the_newest_messages(broker: str, ana: User) -> None:
    topic = f"values-{uuid4().hex[:8]}"
    create_topics(broker, [NewTopic(topic, 2, 1)])
    source = source_at(
        broker, key=topic, name=topic, topic=topic, schema=TRACES, event_time="ts", created_by=ana
    )
    producer, now = Producer({"bootstrap.servers": broker}), int(time.time() * 1000)
    for at in range(100):
        event = {"ts": now + at, "user_id": f"u{at}", "path": f"/{at % 4}", "took": at / 7, "outcome": None}
        producer.produce(topic, json.dumps(event).encode(), partition=at % 2)
    producer.flush()
    found = field_values(source)
    assert found.messages == 100
    expected = {"ts": 100, "user_id": 100, "trace_id": 0, "path": 4, "retry_s": 0, "took": 100, "outcome": 0}
    assert dict(found.different) == expected


def test_a_source_without_the_fields_is_offered_less(sensors: Source) -> None:
    sensors.schema = [["ts", "integer"]]
    assert [template.key for template in fitting(sensors)] == ["rate"]
    assert fitting(None) == []
    assert from_template("nosuch", sensors) is None


@pytest.mark.parametrize("template", [one.key for one in TEMPLATES])
def test_the_form_begins_with_the_template_that_was_chosen(
    as_ana: Client, sensors: Source, template: str
) -> None:
    page = as_ana.get("/queries/new/", {"source": "sensors", "template": template}).content.decode()
    assert f'value="{from_template(template, sensors).name}"' in page
    assert "of capacity" in page  # its cost is there at once
