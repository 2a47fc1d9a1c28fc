"""What a spec says about time is taken over, or refused in a sentence."""

import json
from typing import Any

import pytest

from streaming.spec import SOURCE_KEYS, InvalidSpec, Spec

QUERY = {"name": "n", "aggregate": "count", "windows": [{"range": "1m", "slide": "1m"}]}


def spec_of(**source: Any) -> Spec:
    return Spec.read(json.dumps({"source": {"event_time": "ts", **source}, "queries": [QUERY]}).encode())


def test_bounds_are_durations_or_none():
    spec = spec_of()
    assert (spec.future_bound, spec.past_bound, spec.time_zone) == (300_000, None, "UTC")
    spec = spec_of(future_bound="90s", past_bound="1d")
    assert (spec.future_bound, spec.past_bound) == (90_000, 86_400_000)
    assert spec_of(future_bound=None).future_bound is None
    spec = spec_of(future_bound="0s", past_bound=0)
    assert (spec.future_bound, spec.past_bound) == (0, 0)


def test_a_text_s_pattern_and_zone_are_taken_over():
    spec = spec_of(time_unit="pattern", time_pattern="%d/%m/%Y %H:%M", time_zone="Europe/Berlin")
    assert (spec.time_pattern, spec.time_zone) == ("%d/%m/%Y %H:%M", "Europe/Berlin")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ({"past_bound": "soon"}, "“past_bound”: “soon” is not a duration: write it as 90s, 5m or 1h30m."),
        ({"time_zone": "Mars/Base"}, "“Mars/Base” is not a time zone: use a name such as Europe/Berlin."),
        (
            {"time_unit": "pattern"},
            "“” is not a pattern for a time: write it as %d/%m/%Y %H:%M:%S.",
        ),
        (
            {"time_unit": "pattern", "time_pattern": "%Q"},
            "“%Q” is not a pattern for a time: write it as %d/%m/%Y %H:%M:%S.",
        ),
        ({"event_time": ["ts"]}, '“event_time” must be the name of a field, not ["ts"].'),
        ({"event_time": 5}, "“event_time” must be the name of a field, not 5."),
        ({"lateness": "1s"}, "The “source” has no “lateness”. Did you mean “allowed_lateness”?"),
        ({"topic": "t"}, "The “source” has no “topic”."),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(source, sentence):
    with pytest.raises(InvalidSpec) as refusal:
        spec_of(**source)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"strategy": "best"}, "A spec has no “strategy”."),
        ({"querys": []}, "A spec has no “querys”."),
        (
            {"queries": [QUERY | {"windows": [{"range": "1m", "slid": "10s"}]}]},
            "Query “n”: A window with a “range” has no “slid”. Did you mean “slide”?",
        ),
        (
            {"queries": [QUERY | {"windows": [{"range": "3650d", "slide": "1ms"}]}]},
            "Query “n”: 3650d every 1ms: each event would be in 315,360,000,000 windows, more than 1,000,000:"
            " slide less often.",
        ),
    ],
)
def test_what_nobody_reads_or_could_compute_is_refused(change, sentence):
    with pytest.raises(InvalidSpec) as refusal:
        Spec.read(json.dumps({"source": {"event_time": "ts"}, "queries": [QUERY]} | change).encode())
    assert str(refusal.value) == sentence


def test_all_that_a_source_can_say_is_read():
    said = dict(zip(SOURCE_KEYS, ("json", "ts", "pattern", "1s", "%Y", "UTC", "1m", "1d")))
    assert spec_of(**said).past_bound == 86_400_000
