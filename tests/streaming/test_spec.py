"""What a spec says about time is taken over, or refused in a sentence."""

import json
from typing import Any

import pytest

from streaming.spec import InvalidSpec, Spec

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
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(source, sentence):
    with pytest.raises(InvalidSpec) as refusal:
        spec_of(**source)
    assert str(refusal.value) == sentence
