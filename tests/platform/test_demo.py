"""The demo's events are believable, and the same for the same seed."""

import json
from typing import Any

import pytest

from streaming import demo

START, END = 1_794_838_000_000, 1_794_838_100_000
COUNT = 200_000


@pytest.fixture(scope="module")
def messages() -> list[demo.Message]:
    return demo.make_batch(1, 0, START, END, COUNT)


def _events(messages: list[demo.Message]) -> list[tuple[int, dict[str, Any]]]:
    """(wall clock of sending, event) of every well-formed message."""
    events = []
    for index, message in enumerate(messages):
        try:
            event = json.loads(message.value)
        except json.JSONDecodeError:
            continue
        if isinstance(event["temp"], float):
            events.append((START + index * (END - START) // COUNT, event))
    return events


def test_the_same_seed_makes_the_same_messages() -> None:
    first = demo.make_batch(7, 3, START, END, 500)
    assert first == demo.make_batch(7, 3, START, END, 500)
    assert first != demo.make_batch(8, 3, START, END, 500)
    assert first != demo.make_batch(7, 4, START, END, 500)


def test_there_are_a_thousand_devices_each_keyed_by_its_name(messages: list[demo.Message]) -> None:
    events = _events(messages)
    assert len({event["device"] for _, event in events}) == demo.DEVICES
    assert all(
        json.loads(m.value)["device"].encode() == m.key for m in messages[:100] if m.value[-1:] == b"}"
    )


def test_a_device_stays_at_its_site(messages: list[demo.Message]) -> None:
    sites: dict[str, set[str]] = {}
    for _, event in _events(messages):
        sites.setdefault(event["device"], set()).add(event["site"])
    assert {len(places) for places in sites.values()} == {1}


def test_a_message_is_about_a_hundred_bytes(messages: list[demo.Message]) -> None:
    assert 90 <= sum(len(message.value) for message in messages) / COUNT <= 110


def test_one_in_a_thousand_is_malformed_by_cut_and_by_type(messages: list[demo.Message]) -> None:
    cut = sum(not message.value.endswith(b"}") for message in messages)
    wrong = sum(b'"n/a"' in message.value for message in messages)
    assert 0.0003 <= cut / COUNT <= 0.0008
    assert 0.0003 <= wrong / COUNT <= 0.0008


def test_some_come_out_of_order_and_few_later_than_allowed(messages: list[demo.Message]) -> None:
    delays = [sent - event["ts"] for sent, event in _events(messages)]
    disordered = sum(0 < delay <= demo.DISORDER_MS for delay in delays) / COUNT
    late = sum(delay > demo.LATENESS_MS for delay in delays) / COUNT
    assert 0.025 <= disordered <= 0.035
    assert 0.0005 <= late <= 0.002
    assert min(delays) == 0


def test_most_readings_are_ok(messages: list[demo.Message]) -> None:
    events = _events(messages)
    assert 0.96 <= sum(event["status"] == "ok" for _, event in events) / len(events) <= 0.98


def test_a_sites_temperature_follows_a_slow_wave() -> None:
    def average(at_ms: int) -> float:
        events = _events(demo.make_batch(1, 0, at_ms, at_ms + 1000, 5000))
        readings = [event["temp"] for _, event in events if event["site"] == "plant-01"]
        return sum(readings) / len(readings)

    base = START - START % demo.WAVE_MS
    top, bottom = average(base + demo.WAVE_MS // 4), average(base + 3 * demo.WAVE_MS // 4)
    assert 7 <= top - bottom <= 9
