"""How Millrace reads messages, as pages tell it: one with a wrong field counts, and the field is named."""

import json
import time
from typing import Any

from django.template.loader import render_to_string

from dashboard.models import SavedQuery, Source
from dashboard.sources.kafka import Message
from dashboard.sources.presentation import line_of
from dashboard.sources.topic_inspector import inspect
from dashboard.sources.topic_overview import drift
from dashboard.sources.topic_readings import readings

NOW = int(time.time() * 1000)
WRONG = "temp is text, not a number."


def messages(*values: dict[str, Any] | bytes) -> list[Message]:
    return [
        Message(0, offset, NOW, None, json.dumps(value).encode() if isinstance(value, dict) else value)
        for offset, value in enumerate(values)
    ]


def test_a_field_of_the_wrong_type_is_named_and_the_message_counts(sensors: Source) -> None:
    [good, odd, refused] = readings(
        sensors,
        messages({"ts": NOW, "temp": 3}, {"ts": NOW, "temp": "hot", "ok": 1}, {"ts": "soon", "temp": []}),
    )
    assert (good.kind, good.wrong, good.chip) == ("", {}, "")
    assert (odd.kind, odd.time, odd.values["temp"]) == ("", NOW, None)
    assert odd.wrong == {"temp": WRONG, "ok": "ok is a number, not true or false."}
    assert (refused.kind, refused.time) == ("malformed", None)
    assert refused.reason == refused.sentence == "ts is text, not a number."


def test_its_line_and_the_inspector_say_why_it_has_no_value(hot: SavedQuery) -> None:
    [message] = messages({"ts": NOW, "device": "d7", "temp": "hot"})
    [reading] = readings(hot.source, [message])
    line = line_of(message, message.value, reading, "ts")
    assert (line.kind, line.chip, line.reason) == ("", WRONG.rstrip("."), WRONG)
    one = inspect(hot.source, message)
    assert one.feeds == [hot]
    page = render_to_string(
        "sources/_message.html", {"one": one, "source": hot.source, "partition": 0, "offset": 0}
    )
    assert f"no value: {WRONG}" in page
    assert "Refused." not in page


def test_drift_tells_apart_what_counts_without_a_value_and_what_is_refused(sensors: Source) -> None:
    whole = {"ts": NOW, "device": "d7", "ok": True}
    found = drift(
        sensors, messages(whole | {"temp": "hot"}, whole | {"temp": "cold"}, whole | {"ts": "soon"})
    )
    assert found.wrong == {WRONG: 2}
    assert found.refused == {"ts is text, not a number.": 1}
    assert not drift(sensors, messages(whole | {"temp": 1}))
