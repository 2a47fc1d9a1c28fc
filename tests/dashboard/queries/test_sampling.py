"""The preview of a draft, computed on the newest messages of a real topic."""

import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from django.contrib.auth.models import User
from django.test import Client
from kafka.admin import NewTopic

from dashboard.models import Source
from dashboard.queries import sampling
from optimizer.queries import QuerySpec
from streaming.topics import create_topics
from tests.dashboard.places import source_at

SLIDE_MS = 10_000
START = int(time.time() * 1000) // SLIDE_MS * SLIDE_MS - 600_000
SCHEMA = [["ts", "integer"], ["device", "text"], ["temp", "number"]]


def events(count: int = 3_000, devices: int = 3) -> list[dict[str, Any]]:
    """Five minutes, ten events a second."""
    return [
        {"ts": START + at * 100, "device": f"d{at % devices}", "temp": float(at % devices)}
        for at in range(count)
    ]


def produce(broker: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": broker, "enable.idempotence": True})  # in order, each once
    for at, value in enumerate(values):
        producer.produce(topic, value, partition=at % 2, timestamp=START + at * 100)
    producer.flush()


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    sampling._kept.clear()
    yield
    sampling._kept.clear()


@pytest.fixture
def readings(broker: str, ana: User) -> Source:
    topic = f"preview-{uuid4().hex[:8]}"
    create_topics(broker, [NewTopic(topic, 2, 1)])
    made = {"key": topic, "name": topic, "topic": topic, "event_time": "ts", "allowed_lateness": 5_000}
    return source_at(broker, schema=SCHEMA, created_by=ana, **made)


def draft(source: Source, **typed: Any) -> dict[str, Any]:
    plain = {
        "name": "n",
        "source": source.key,
        "aggregate": "mean",
        "field": "temp",
        "windows": "1m every 10s",
    }
    return plain | typed


def asked(client: Client, source: Source, **typed: Any) -> dict[str, Any]:
    answer = client.post("/queries/sample/", draft(source, **typed))
    assert answer.status_code == 200
    return dict(answer.json())


def test_the_preview_is_what_brute_force_says(as_ana: Client, broker: str, readings: Source) -> None:
    made = events()
    produce(broker, readings.topic, [json.dumps(event).encode() for event in made])
    found = asked(as_ana, readings, group_by="device", windows="1m, 2m every 10s")
    assert found["messages"] == len(made)
    assert [one["written"] for one in found["windows"]] == ["1m/10s", "2m/10s"]
    assert len(found["series"]) == 6
    for one in found["series"]:
        finals = [point for point in one["points"] if point[2]]
        assert len(finals) > 10
        for end, value, _ in one["points"]:
            inside = [
                event["temp"]
                for event in made
                if end - one["range"] <= event["ts"] < end and [event["device"]] == one["group"]
            ]
            assert value == pytest.approx(sum(inside) / len(inside))
    assert any(not final for one in found["series"] for _, _, final in one["points"])


def test_only_the_newest_messages_are_used_and_windows_before_them_are_left_out(
    as_ana: Client, broker: str, readings: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "FIRST_MESSAGES", 100)
    monkeypatch.setattr(sampling, "MOST_MESSAGES", 1_200)
    made = events()
    produce(broker, readings.topic, [json.dumps(event).encode() for event in made])
    found = asked(as_ana, readings, aggregate="count", field="")
    assert found["messages"] == 1_200
    [series] = found["series"]
    assert min(end for end, _, _ in series["points"]) - 60_000 >= made[-1_200]["ts"]
    assert {value for _, value, final in series["points"] if final} == {600}


def test_the_greatest_groups_are_drawn_and_the_others_counted(
    as_ana: Client, broker: str, readings: Source
) -> None:
    produce(broker, readings.topic, [json.dumps(event).encode() for event in events(devices=20)])
    found = asked(as_ana, readings, group_by="device", aggregate="max")
    assert [one["group"] for one in found["series"]] == [[f"d{at}"] for at in range(19, 11, -1)]
    assert found["groups"] == {"max of temp|1m/10s": 20}


def test_malformed_messages_and_wrong_filters_are_left_out(
    as_ana: Client, broker: str, readings: Source
) -> None:
    values = [json.dumps(event).encode() for event in events()]
    values[10] = b"{cut"
    produce(broker, readings.topic, values)
    assert asked(as_ana, readings)["notes"] == ["Left out of 3,000 messages: 1 malformed."]
    wrong = asked(as_ana, readings, where="tmp > 1")
    assert wrong["series"][0]["points"] == asked(as_ana, readings)["series"][0]["points"]


def test_a_long_window_is_said_to_lack_messages(
    as_ana: Client, broker: str, readings: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "FIRST_MESSAGES", 100)
    monkeypatch.setattr(sampling, "MOST_MESSAGES", 1_200)
    produce(broker, readings.topic, [json.dumps(event).encode() for event in events()])
    found = asked(as_ana, readings, windows="1m, 1h every 10s")
    assert found["notes"] == ["Too few messages for the 1 h window: the newest span 2 min."]


def test_a_group_for_nearly_every_message_is_said_with_the_number(
    as_ana: Client, broker: str, readings: Source
) -> None:
    """An identifier as a group-by; a device of ten is none."""
    produce(broker, readings.topic, [json.dumps(event).encode() for event in events(1_000)])
    said = "Grouping by ts makes 1,000 groups of 1,000 messages: is that what you want?"
    assert said in asked(as_ana, readings, group_by="ts")["notes"]
    assert asked(as_ana, readings, group_by="device")["notes"] == []


def test_what_cannot_be_computed_says_so(as_ana: Client, readings: Source, sensors: Source) -> None:
    assert asked(as_ana, readings, windows="soon") == {"answerable": False}
    assert asked(as_ana, readings)["problem"] == f"No messages in {readings.topic} yet."
    assert "127.0.0.1:1" in asked(as_ana, sensors)["problem"]


def test_one_preview_is_computed_at_a_time(
    as_ana: Client, readings: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "WAIT_SECONDS", 0.05)
    with sampling._one_at_a_time():
        assert asked(as_ana, readings)["busy"]


def test_messages_are_read_once_in_a_while(broker: str, readings: Source) -> None:
    spec = QuerySpec.from_json(
        {"name": "n", "aggregate": "count", "windows": [{"range": "1m", "slide": "10s"}]}
    )
    produce(broker, readings.topic, [json.dumps(event).encode() for event in events(1_000)])
    before = sampling.sampled(readings, spec)["messages"]
    produce(broker, readings.topic, [json.dumps(event).encode() for event in events(500)])
    assert sampling.sampled(readings, spec)["messages"] == before == 1_000
    sampling._kept.clear()
    assert sampling.sampled(readings, spec)["messages"] == 1_500
