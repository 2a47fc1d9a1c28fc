"""Instants as people write them on the messages tab, for a back-test and for `replay`."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.instants import InvalidInstant, parse_instant
from optimizer.durations import LONGEST_MS, format_duration

START = 1_767_225_600_000  # 2026-01-01T00:00Z, a Thursday
NOON = START + 12 * 3_600_000
HOUR = 3_600_000
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01", START),
        ("20260101", START),
        ("2026-01-01 00:00", START),
        ("2026-01-01T01:00+01:00", START),
        ("2026-01-01t00:00:00.5z", START + 500),
        (str(START), START),
        ("now", NOON),
        ("Now", NOON),
        ("now-1h30m", NOON - 5_400_000),
        (" now - 15m ", NOON - 900_000),
        ("15m", NOON - 900_000),
        ("15m ago", NOON - 900_000),
        ("1h 30m ago", NOON - 5_400_000),
        ("2w", NOON - 14 * DAY),
        ("11:59:30", NOON - 30_000),
        ("9:30", START + 9 * HOUR + 30 * 60_000),
        ("14:00", START - 10 * HOUR),  # it has not been two o'clock today
        ("today", START),
        ("yesterday", START - DAY),
        ("1960-01-01", 0),
        ("5200w", 0),
    ],
)
def test_times_are_read(text: str, expected: int) -> None:
    assert parse_instant(text, NOON) == expected


# The browser's tests read it, too.
TOLD = json.loads((Path(__file__).parents[1] / "durations.json").read_text())


@pytest.mark.parametrize(("text", "ago"), TOLD["ago"])
def test_a_time_is_so_long_ago(text: str, ago: int) -> None:
    assert parse_instant(text, NOON) == NOON - ago


@pytest.mark.parametrize(("text", "months"), TOLD["months"])
def test_months_go_by_the_calendar(text: str, months: int) -> None:
    noon = datetime(2026, 5, 31, 12, tzinfo=UTC)
    earlier = {1: (2026, 4, 30), 2: (2026, 3, 31), 3: (2026, 2, 28), 6: (2025, 11, 30)}[months]
    expected = datetime(*earlier, 12, tzinfo=UTC)
    assert parse_instant(text, int(noon.timestamp() * 1000)) == expected.timestamp() * 1000


@pytest.mark.parametrize("text", TOLD["no_times"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_instant(text, NOON)


def test_what_names_no_zone_is_in_the_persons_own() -> None:
    vienna = "Europe/Vienna"
    assert parse_instant("2026-01-01 13:00", NOON, vienna) == NOON
    assert parse_instant("2026-01-01 13:00Z", NOON, vienna) == NOON + HOUR
    assert parse_instant("13:00", NOON, vienna) == NOON
    assert parse_instant("today", NOON, vienna) == START - HOUR
    assert parse_instant("15m", NOON, vienna) == NOON - 900_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "now-",
        "now-soon",
        "now+5m",
        "2026-13-01",
        "25:00",
        "2026",
        "ago",
        "100y",
        "-15m",
        "0s",
        "९",
    ],
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInstant) as refused:
        parse_instant(text, NOON)
    assert str(refused.value) == (
        f"“{text}” is not a time: write it as 2026-11-16 09:30, 14:00, yesterday, now-15m or 15m ago."
    )


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/passwd", "a\0b", "Europe", ""])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInstant, match="is not a time zone"):
        parse_instant("14:00", NOON, zone)
    assert parse_instant("now-15m", NOON, zone) == NOON - 900_000  # it needs none


@given(st.text(max_size=40), st.integers(0, 2**45))
def test_any_text_is_an_instant_or_refused(text: str, now: int) -> None:
    try:
        assert 0 <= parse_instant(text, now) < 2**63
    except InvalidInstant as refused:
        assert f"“{text}” is not a time" in str(refused)


@given(st.integers(1, LONGEST_MS), st.sampled_from(["now-{}", "{}", "{} ago", " now - {} "]))
def test_how_long_ago_may_be_written_in_every_way(ago: int, how: str) -> None:
    assert parse_instant(how.format(format_duration(ago)), NOON) == max(0, NOON - ago)


@given(st.integers(86_400, 7_258_118_400), st.integers(-14 * 60, 14 * 60))
def test_dates_are_read_back_as_python_writes_them(seconds: int, minutes: int) -> None:
    there = datetime.fromtimestamp(seconds, timezone(timedelta(minutes=minutes)))
    assert parse_instant(there.isoformat(), NOON) == seconds * 1000
    here = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    assert parse_instant(here.isoformat(" "), NOON) == seconds * 1000
