"""Windows as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.queries.windows_text import parse_windows, spoken, write_windows
from optimizer.durations import format_duration
from optimizer.queries import InvalidQuery, WindowSpec
from optimizer.windows import Window


def pairs(text: str) -> list[tuple[str, str]]:
    return [(window.range, window.slide) for window in parse_windows(text)]


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("30s", [("30s", "30s")]),
        ("1m every 10s", [("1m", "10s")]),
        ("1m, 5m, 15m every 10s", [("1m", "10s"), ("5m", "10s"), ("15m", "10s")]),
        ("1m every 10s, 5m every 30s", [("1m", "10s"), ("5m", "30s")]),
        ("1m every 10s, 5m", [("1m", "10s"), ("5m", "5m")]),
        ("1m, 5m every 10s\n1h", [("1m", "10s"), ("5m", "10s"), ("1h", "1h")]),
        ("1m; 5m EVERY 10s", [("1m", "1m"), ("5m", "10s")]),
        (" 1 h 30 m  every  10 s , ", [("1h30m", "10s")]),
        ("", []),
    ],
)
def test_text_is_read_as_meant(text: str, windows: list[tuple[str, str]]) -> None:
    assert pairs(text) == windows


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("5 parsecs", "“5 parsecs” is not a duration"),
        ("1m every 10s every 5s", "says “every” twice"),
        ("every 10s", "Give a window size before “every 10s”"),
        ("1m every", "Say how often after “1m every”"),
        ("0s", "not a duration longer than zero"),
    ],
)
def test_a_slip_is_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        parse_windows(text)
    assert refusal.value.field == "windows"
    assert sentence in refusal.value.sentence


@st.composite
def window_specs(draw: st.DrawFn) -> WindowSpec:
    size = draw(st.integers(1, 10_000)) * 500
    slide = draw(st.integers(1, size // 500)) * 500
    offset = draw(st.sampled_from(["", "1s", "15m"]))
    return WindowSpec(format_duration(size), format_duration(slide), offset)


@given(st.lists(window_specs(), max_size=6))
def test_what_is_written_is_read_back(windows: list[WindowSpec]) -> None:
    assert list(parse_windows(write_windows(windows))) == windows


@given(st.text(alphabet="0123456789smhd every,;\n", max_size=40))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    try:
        for window in parse_windows(text):
            assert 0 < window.window().slide <= window.window().range
    except InvalidQuery as refusal:
        assert refusal.sentence.endswith(".")


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("1h every 1h offset 15m", ["15m"]),
        ("1h offset 15m", ["15m"]),
        ("1h, 2h every 30m offset 10m", ["10m", "10m"]),
        ("1h offset 5m, 2h every 30m offset 10m", ["5m", "10m"]),
        ("1h, 2h offset 15m", ["", "15m"]),
        ("1h offset -15m", ["-15m"]),
        ("1 hour every 30 minutes offset - 15 min", ["-15m"]),
        ("1h offset 0s", [""]),
    ],
)
def test_an_offset_goes_with_the_slide_or_with_one_size(text: str, offsets: list[str]) -> None:
    assert [window.offset for window in parse_windows(text)] == offsets


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1h offset", "Say how far after “1h offset”, such as offset 15m."),
        (
            "1h offset 5m every 10m",
            "“1h offset 5m every 10m”: the offset comes last, as in 1h every 30m offset 15m.",
        ),
    ],
)
def test_a_slip_in_an_offset_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        parse_windows(text)
    assert refusal.value.sentence == sentence


def test_windows_are_spoken_with_spaces() -> None:
    assert spoken(WindowSpec("90s", "10s")) == "1 m 30 s every 10 s"
    assert spoken(WindowSpec("60s", "1m")) == "1 m tumbling"
    assert spoken(WindowSpec("1h", "1h", "15m")) == "1 h tumbling offset 15 m"


def test_windows_that_start_earlier_are_those_that_start_later_by_the_rest_of_the_slide() -> None:
    for text in ("1h every 30m offset -10m", "1h every 30m offset -70m"):
        assert [spec.window() for spec in parse_windows(text)] == [Window(3_600_000, 1_800_000, 1_200_000)]


def test_windows_read_as_people_write_durations() -> None:
    assert parse_windows("1 min, 5 minutes every 10 seconds; 1 Hour") == parse_windows("1m, 5m every 10s; 1h")
    assert parse_windows("gap 30 seconds") == parse_windows("gap 30s")
    with pytest.raises(InvalidQuery, match=r"“1M” may be minutes or months: write 1m \(minute\) or 30d\."):
        parse_windows("1M every 10s")
