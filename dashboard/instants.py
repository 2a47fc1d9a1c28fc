"""Instants as people write them: a date, a time of the day, or how long ago."""

import re
from calendar import monthrange
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from optimizer.durations import InvalidDuration, parse_duration

HOW = "write it as 2026-11-16 09:30, 14:00, yesterday, now-15m or 15m ago"
_AGO = re.compile(
    r"now\s*-\s*(?P<before>.+)|(?:(?:last|past)\s+)?(?P<past>\d.*?)(?:\s*ago)?", re.DOTALL | re.IGNORECASE
)
_MONTHS_AGO = re.compile(
    r"(?i:now\s*-\s*|(?:last|past)\s+)?(\d{1,4})\s*(?:M|(?i:months?))(?i:\s*ago)?", re.ASCII
)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?", re.ASCII)
_MILLISECONDS = re.compile(r"\d{11,15}", re.ASCII)  # shorter ones are dates such as 20261116
_DAYS_AGO = {"today": 0, "yesterday": 1}


class InvalidInstant(ValueError):
    """A text that is no instant; its message is the sentence shown to people."""


def parse_instant(text: str, now: int, zone: str = "UTC") -> int:
    """Milliseconds since the epoch, never negative: nothing in Kafka is older.

    What names no zone is in `zone`. A time of the day is its last one.

    >>> parse_instant("1970-01-01 00:01", 0), parse_instant("now-15m", 1_000_000)
    (60000, 100000)
    >>> parse_instant("15m ago", 1_000_000), parse_instant("15m", 1_000_000)
    (100000, 100000)
    >>> parse_instant("01:00", 86_400_000, "Europe/Vienna"), parse_instant("yesterday", 2 * 86_400_000)
    (86400000, 86400000)
    """
    try:
        return max(0, _instant(" ".join(text.split()), now, zone))
    except InvalidInstant:
        raise
    except (ValueError, OverflowError) as error:
        raise InvalidInstant(f"“{text}” is not a time: {HOW}.") from error


def _instant(typed: str, now: int, zone: str) -> int:
    words = typed.lower()
    if words == "now":
        return now
    if _MILLISECONDS.fullmatch(words):
        return int(words)
    if months := _MONTHS_AGO.fullmatch(typed):  # here M is no minute: times go by the calendar
        return _milliseconds(_months_earlier(_here(now, zone), int(months[1])))
    if ago := _duration_ago(typed):
        return now - ago
    if words in _DAYS_AGO:
        return _at(_here(now, zone) - timedelta(days=_DAYS_AGO[words]), time())
    if _CLOCK.fullmatch(words):
        return _last(_here(now, zone), time.fromisoformat(words if words[2] == ":" else f"0{words}"))
    found = datetime.fromisoformat(words.upper())
    return _milliseconds(found if found.tzinfo else found.replace(tzinfo=_zone(zone)))


def _duration_ago(words: str) -> int | None:
    """How long ago it is said to be; None where a date may be meant, which begins with a digit, too."""
    found = _AGO.fullmatch(words)
    if found is None:
        return None
    if found["before"] is not None or words.lower().endswith("ago"):
        return parse_duration(found["before"] or found["past"])
    try:
        return parse_duration(found["past"])
    except InvalidDuration:
        return None


def _months_earlier(here: datetime, months: int) -> datetime:
    """The same day of an earlier month, or its last one where it is shorter."""
    year, month = divmod(here.year * 12 + here.month - 1 - months, 12)
    return here.replace(year=year, month=month + 1, day=min(here.day, monthrange(year, month + 1)[1]))


def _here(now: int, zone: str) -> datetime:
    return datetime.fromtimestamp(now / 1000, _zone(zone))


def _last(here: datetime, clock: time) -> int:
    """When the clock showed this time last."""
    today = _at(here, clock)
    return today if today <= _milliseconds(here) else _at(here - timedelta(days=1), clock)


def _at(day: datetime, clock: time) -> int:
    return _milliseconds(datetime.combine(day.date(), clock, day.tzinfo))


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInstant(f"“{name}” is not a time zone: use a name such as Europe/Berlin.") from error
