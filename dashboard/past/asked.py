"""The range of time that an address asks for, checked."""

import json
from dataclasses import dataclass

from django.http import HttpRequest

from streaming.results import GroupKey

LATEST_MS = 253_402_300_799_999  # the last of the year 9999
MOST_DIGITS = 20
MOST_GROUPS = 50
SHOWN_GROUPS = 8
MOST_QUERIES = 200


class BadRange(ValueError):
    """The sentence says what is wrong with the address."""


@dataclass(frozen=True)
class Asked:
    start: int  # ms, inclusive
    until: int  # exclusive
    top: int
    groups: list[GroupKey] | None  # None: those with the greatest results
    windows: tuple[str, ...]  # of a query by groups, in words; an empty text is the first


def asked_range(request: HttpRequest) -> Asked:
    start, until = (_instant(request.GET.get(name, ""), name) for name in ("from", "to"))
    if start >= until:
        raise BadRange("The range ends before it begins.")
    top, groups = _top(request.GET.get("top", "")), _groups(request.GET.get("groups", ""))
    return Asked(start, until, top, groups, _windows(request.GET.get("windows", "")))


def asked_queries(request: HttpRequest) -> list[str]:
    keys = [key for key in request.GET.get("queries", "").split(",") if key]
    if not 1 <= len(keys) <= MOST_QUERIES:
        raise BadRange(f"“queries” must name 1 to {MOST_QUERIES} queries, with commas between them.")
    return keys


def _instant(typed: str, name: str) -> int:
    if not _is_whole(typed) or int(typed) > LATEST_MS:
        raise BadRange(f"“{name}” must be a time in milliseconds since 1970.")
    return int(typed)


def _is_whole(typed: str) -> bool:
    """Whether it is a number without sign; Python refuses to read one of some thousand digits."""
    return typed.isascii() and typed.isdigit() and len(typed) <= MOST_DIGITS


def _top(typed: str) -> int:
    if not typed:
        return SHOWN_GROUPS
    if not _is_whole(typed) or not 1 <= int(typed) <= MOST_GROUPS:
        raise BadRange(f"“top” must be a number from 1 to {MOST_GROUPS}.")
    return int(typed)


def _windows(typed: str) -> tuple[str, ...]:
    found = _json(typed or '[""]', "windows")
    if not isinstance(found, list) or not all(isinstance(words, str) for words in found):
        raise BadRange("“windows” must be a list of texts as JSON.")
    return tuple(found)


def _json(typed: str, name: str) -> object:
    try:
        return json.loads(typed)
    except (ValueError, RecursionError) as error:
        raise BadRange(f"“{name}” must be a list as JSON.") from error


def _groups(typed: str) -> list[GroupKey] | None:
    if not typed:
        return None
    found = _json(typed, "groups")
    if not isinstance(found, list) or len(found) > MOST_GROUPS or not all(map(_is_group, found)):
        raise BadRange(f"“groups” must be a list of at most {MOST_GROUPS} groups as JSON.")
    return [tuple(group) for group in found]


def _is_group(group: object) -> bool:
    return isinstance(group, list) and all(
        part is None or isinstance(part, str | int | float | bool) for part in group
    )
