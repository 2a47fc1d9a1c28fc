import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.durations import (
    LONGEST_MS,
    InvalidDuration,
    abbreviated,
    format_duration,
    parse_duration,
    parse_offset,
)

# The browser's tests read it, too.
TOLD = json.loads((Path(__file__).parents[1] / "durations.json").read_text())


@given(st.integers(1, LONGEST_MS))
def test_a_formatted_duration_reads_back_as_the_same_milliseconds(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds


@pytest.mark.parametrize(("text", "milliseconds"), [*TOLD["durations"], ["0.001s", 1]])
def test_durations_read_as_people_write_them(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds
    assert parse_duration(abbreviated(text)) == milliseconds
    assert re.fullmatch(r"([0-9.]+(w|d|h|m|s|ms))+", abbreviated(text))


@pytest.mark.parametrize("text", [*TOLD["no_durations"], "9" * 5000 + "s"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidDuration, match="is not a duration: write it as 90s, 5m or 1h30m"):
        parse_duration(text)


@given(st.text("0123456789.-+ hmsdwMHandiy", max_size=12))
def test_any_text_is_a_duration_or_refused_in_a_sentence(text: str) -> None:
    try:
        assert 0 < parse_duration(text) <= LONGEST_MS
    except InvalidDuration as refusal:
        assert str(refusal).startswith(f"“{text}”") and str(refusal).endswith(".")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0s", "“0s” is not a duration longer than zero."),
        ("0.5ms", "“0.5ms” is not a whole number of milliseconds."),
        ("9999w", "“9999w” is longer than 100 years."),
        ("1M", "“1M” may be minutes or months: write 1m (minute) or 30d."),
        ("3 M", "“3 M” may be minutes or months: write 3m (minutes) or 90d."),
        ("1 month", "“1 month” has no fixed length: write 30d."),
        ("2y", "“2y” has no fixed length: write 730d."),
    ],
)
def test_durations_that_no_window_can_have_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidDuration) as refused:
        parse_duration(text)
    assert str(refused.value) == sentence


def test_weeks_are_written_in_days() -> None:
    assert format_duration(parse_duration("2w")) == "14d"


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("-15m", -900_000), ("- 1 hour", -3_600_000), ("0", 0), ("5s", 5_000)]
)
def test_offsets_may_be_negative_or_nothing(text: str, milliseconds: int) -> None:
    assert parse_offset(text) == milliseconds
