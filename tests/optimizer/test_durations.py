import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.durations import LONGEST_MS, InvalidDuration, format_duration, parse_duration


@given(st.integers(1, LONGEST_MS))
def test_a_formatted_duration_reads_back_as_the_same_milliseconds(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("250ms", 250),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("1 h 30 m", 5_400_000),
        ("2W", 1_209_600_000),
        ("1.5d", 129_600_000),
        ("4.35s", 4_350),
        ("0.001s", 1),
    ],
)
def test_durations_read_as_people_write_them(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "10", "s", "10x", "-5s", "1e3s", "5m10", "1,5h", "9" * 5000 + "s"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidDuration, match="is not a duration: write it as 90s, 5m or 1h30m"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0s", "“0s” is not a duration longer than zero."),
        ("0.5ms", "“0.5ms” is not a whole number of milliseconds."),
        ("9999w", "“9999w” is longer than 100 years."),
    ],
)
def test_durations_that_no_window_can_have_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidDuration) as refused:
        parse_duration(text)
    assert str(refused.value) == sentence


def test_weeks_are_written_in_days() -> None:
    assert format_duration(parse_duration("2w")) == "14d"
