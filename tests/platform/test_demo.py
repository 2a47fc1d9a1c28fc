"""The demo's events are believable, and the same for the same seed."""

import json
from typing import Any

import pytest

from streaming import demo

START, END = 1_794_838_000_000, 1_794_838_100_000
COUNT = 200_000
WARM = START - START % demo.WAVE_MS + demo.WAVE_MS // 4
COLD = WARM + demo.WAVE_MS // 2


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


def test_one_in_two_thousand_is_cut_off_and_one_has_a_text_for_a_temperature(
    messages: list[demo.Message],
) -> None:
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


def _second(at_ms: int) -> list[dict[str, Any]]:
    return [event for _, event in _events(demo.make_batch(1, at_ms, at_ms, at_ms + 1000, 5000))]


def _average(events: list[dict[str, Any]]) -> float:
    return sum(event["temp"] for event in events) / len(events)


def _share_not_ok(events: list[dict[str, Any]]) -> float:
    return sum(event["status"] != "ok" for event in events) / len(events)


def test_three_in_a_hundred_readings_are_not_ok() -> None:
    whole_wave = [event for step in range(20) for event in _second(WARM + step * demo.WAVE_MS // 20)]
    assert 0.025 <= _share_not_ok(whole_wave) <= 0.035


def test_the_average_over_all_sites_follows_a_slow_wave() -> None:
    assert 4 <= _average(_second(WARM)) - _average(_second(COLD)) <= 6


def test_sites_differ_and_are_not_in_step() -> None:
    waves = {}
    for site in ("plant-01", "plant-07"):
        seconds = [_second(WARM + step * demo.PLANT_WAVE_MS // 4) for step in range(4)]
        waves[site] = [_average([event for event in one if event["site"] == site]) for one in seconds]
    gaps = [later - first for first, later in zip(waves["plant-01"], waves["plant-07"], strict=True)]
    assert sum(gaps) / len(gaps) > 2
    assert max(gaps) - min(gaps) > 3


def test_more_readings_fail_when_it_is_warm() -> None:
    warm = [event for step in range(10) for event in _second(WARM + step * 100)]
    cold = [event for step in range(10) for event in _second(COLD + step * 100)]
    assert _share_not_ok(warm) > 1.5 * _share_not_ok(cold)


def test_the_rate_swings_with_the_weather_and_keeps_its_mean() -> None:
    wave = demo.WAVE_MS / 1000
    assert demo.events_between(0, wave, 2000) == pytest.approx(2000 * wave)
    assert demo.events_between(WARM / 1000, WARM / 1000 + 1, 2000) == pytest.approx(2300, abs=1)
    assert demo.events_between(COLD / 1000, COLD / 1000 + 1, 2000) == pytest.approx(1700, abs=1)
