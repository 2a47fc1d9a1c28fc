"""Durations as people write them, in milliseconds: the tick of every window in Millrace."""

import re
from fractions import Fraction
from functools import lru_cache

UNITS_MS = {
    "w": 604_800_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1_000,
    "ms": 1,
}
LONGEST_MS = 100 * 365 * UNITS_MS["d"]  # beyond any window; keeps every instant within 64 bits
WORDS = {
    "w": ("wk", "wks", "week", "weeks"),
    "d": ("day", "days"),
    "h": ("hr", "hrs", "hour", "hours"),
    "m": ("min", "mins", "minute", "minutes"),
    "s": ("sec", "secs", "second", "seconds"),
    "ms": ("msec", "msecs", "millisecond", "milliseconds"),
}
UNIT_OF = {unit: unit for unit in UNITS_MS} | {word: unit for unit, words in WORDS.items() for word in words}
DAYS_OF = {
    "month": 30,
    "months": 30,
    "year": 365,
    "years": 365,
    "y": 365,
}  # about
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([a-z]+)(?:\s+and\s+|\s*)", re.ASCII | re.IGNORECASE)


class InvalidDuration(ValueError):
    """A text that is not a duration; its message is the sentence shown to people."""


@lru_cache(maxsize=1024)  # a page with many queries reads the same few a thousand times
def parse_duration(text: str) -> int:
    """Milliseconds of a duration such as `90s`, `5m`, `1h30m` or `1 hour and 30 minutes`.

    >>> parse_duration("1h30m"), parse_duration("30 seconds")
    (5400000, 30000)
    """
    total = sum(_milliseconds(number, unit, text) for number, unit in _parts(text))
    if total <= 0:
        raise InvalidDuration(f"“{text}” is not a duration longer than zero.")
    if total > LONGEST_MS:
        raise InvalidDuration(f"“{text}” is longer than 100 years.")
    return total


def parse_offset(text: str) -> int:
    """Milliseconds of a duration that may be zero or negative, such as `-15m`.

    >>> parse_offset("-15m"), parse_offset("0")
    (-900000, 0)
    """
    size = text.strip().removeprefix("-").removeprefix("+").strip()
    if size in ("0", "0s"):
        return 0
    return -parse_duration(size) if text.strip().startswith("-") else parse_duration(size)


def abbreviated(text: str) -> str:
    """A duration in the numbers in which it was written, with the short names of units.

    >>> abbreviated("1 hour and 30 minutes"), abbreviated("90 s"), abbreviated("- 15 min")
    ('1h30m', '90s', '-15m')
    """
    size = text.strip().removeprefix("-")
    sign = "-" if text.strip().startswith("-") else ""
    return sign + "".join(number + unit for number, unit in _parts(size))


def _parts(text: str) -> list[tuple[str, str]]:
    """Numbers with their units, by the short names of these."""
    found = list(_PART.finditer(text.strip()))
    if not found or "".join(part[0] for part in found) != text.strip():
        raise InvalidDuration(f"“{text}” is not a duration: write it as 90s, 5m or 1h30m.")
    return [(part[1], _unit(part[1], part[2], text)) for part in found]


def _unit(number: str, written: str, text: str) -> str:
    if written == "M":
        word = "minute" if number == "1" else "minutes"
        days = float(number) * DAYS_OF["months"]
        raise InvalidDuration(f"“{text}” may be minutes or months: write {number}m ({word}) or {days:.15g}d.")
    if days := DAYS_OF.get(written.lower(), 0):
        raise InvalidDuration(f"“{text}” has no fixed length: write {float(number) * days:.15g}d.")
    if written.lower() not in UNIT_OF:
        raise InvalidDuration(f"“{text}” is not a duration: write it as 90s, 5m or 1h30m.")
    return UNIT_OF[written.lower()]


def _milliseconds(number: str, unit: str, text: str) -> int:
    scaled = Fraction(number) * UNITS_MS[unit]  # exact: in binary fractions 4.35 s is not 4,350 ms
    if scaled.denominator != 1:
        raise InvalidDuration(f"“{text}” is not a whole number of milliseconds.")
    return int(scaled)


def format_duration(milliseconds: int) -> str:
    """The shortest way to write a duration that `parse_duration` reads back.

    >>> format_duration(5_400_000)
    '1h30m'
    """
    rest, parts = milliseconds, []
    for unit in ("d", "h", "m", "s", "ms"):
        count, rest = divmod(rest, UNITS_MS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
