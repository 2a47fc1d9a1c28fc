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
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)(ms|[wdhms])", re.ASCII)


class InvalidDuration(ValueError):
    """A text that is not a duration; its message is the sentence shown to people."""


@lru_cache(maxsize=1024)  # a page with many queries reads the same few a thousand times
def parse_duration(text: str) -> int:
    """Milliseconds of a duration such as `90s`, `5m` or `1h30m`.

    >>> parse_duration("1h30m")
    5400000
    """
    compact = re.sub(r"\s+", "", text.lower())
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise InvalidDuration(f"“{text}” is not a duration: write it as 90s, 5m or 1h30m.")
    total = sum(_milliseconds(number, unit, text) for number, unit in parts)
    if total <= 0:
        raise InvalidDuration(f"“{text}” is not a duration longer than zero.")
    if total > LONGEST_MS:
        raise InvalidDuration(f"“{text}” is longer than 100 years.")
    return total


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
