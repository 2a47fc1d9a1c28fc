"""Queries that people need often, filled in from the fields that a source has."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dashboard.queries.drafts import Draft, TypedComputation
from dashboard.queries.field_values import UNKNOWN, FieldValues
from dashboard.sources.models import Source
from optimizer.field_names import written
from streaming.spec import NUMERIC

_LATENCY = re.compile(r"latency|duration|elapsed|took|response|_ms$|_s$", re.IGNORECASE)
# Fields that tell errors, the surest first: of which types, with which words in their names, and how.
_ERROR_SIGNS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("boolean",), "fail|fails|failed|failure|error|errors|err|exception|crashed|rejected|invalid", "{}"),
    (("boolean",), "ok|success|successful|succeeded|passed|healthy|valid|accepted", "NOT {}"),
    (NUMERIC, "status|http_code|response_code|^code$", "{} >= 500"),
    (NUMERIC, "error_code|exit_code|return_code", "{} <> 0"),
    (("text",), "level|severity", "lower({}) IN ('error', 'fatal', 'critical')"),
    (("text",), "status|outcome|result", "{} <> 'ok'"),
)
_WHO = re.compile(r"user|client|host|device|route|path|ip|customer|account|id$", re.IGNORECASE)


@dataclass(frozen=True)
class Template:
    key: str
    label: str
    note: str
    fill: Callable[[Source, FieldValues], Draft | None]  # None: the source has no field for it


def fitting(source: Source | None) -> list[Template]:
    """The templates that this source has the fields for."""
    return [one for one in TEMPLATES if source is not None and one.fill(source, UNKNOWN) is not None]


def from_template(key: str, source: Source | None, values: FieldValues = UNKNOWN) -> Draft | None:
    """Fields are chosen by name and type, and by how many values they have where that is known."""
    found = next((one for one in TEMPLATES if one.key == key), None)
    return found.fill(source, values) if found is not None and source is not None else None


def _rate(source: Source, values: FieldValues) -> Draft:
    return Draft(source, "Messages per minute", (TypedComputation("count"),), "1m every 10s")


def _error_ratio(source: Source, values: FieldValues) -> Draft | None:
    condition = _error_condition(source, values)
    if condition is None:
        return None
    ratio = TypedComputation("mean", f"CASE WHEN {condition} THEN 1 ELSE 0 END")
    return Draft(source, "Error ratio", (ratio, TypedComputation("count")), "1m, 5m every 10s")


def _error_condition(source: Source, values: FieldValues) -> str | None:
    """What makes an event an error, as far as names and types tell."""
    for kinds, words, condition in _ERROR_SIGNS:
        for name, kind in _usable(source):
            if kind in kinds and _has_words(name, words) and values.is_category(name):
                return condition.format(written(name))
    return None


def _has_words(name: str, words: str) -> bool:
    """Whether one of the words is in a name, and not just within another: a token is not ok.

    >>> _has_words("isOk", "ok"), _has_words("http.status", "status"), _has_words("token", "ok")
    (True, True, False)
    """
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", name).lower()
    return re.search(rf"(?:^|_)(?:{words})(?:_|$)", parts) is not None


def _latency(source: Source, values: FieldValues) -> Draft | None:
    numbers = [name for name, kind in _usable(source) if kind in NUMERIC]
    named = [name for name in numbers if _LATENCY.search(name) and values.varies(name)]
    field = values.most(named) or values.most(numbers)
    if field is None:
        return None
    lines = (TypedComputation("p95", field), TypedComputation("p50", field))
    return Draft(source, f"p95 of {field}", lines, "1m, 5m every 10s")


def _top_talkers(source: Source, values: FieldValues) -> Draft | None:
    who = _who(source, values)
    if who is None:
        return None
    return Draft(source, f"Top {who}", (TypedComputation("count"),), "5m every 10s", (who,))


def _heartbeat(source: Source, values: FieldValues) -> Draft | None:
    """Each result is a group that fell silent: a session ends when none of its events follows."""
    who = _who(source, values)
    if who is None:
        return None
    lines = (TypedComputation("count"),)
    return Draft(source, f"Silent {who}", lines, "gap 1m", (who,))


def _who(source: Source, values: FieldValues) -> str | None:
    """By name among those whose values come again, else whichever of those has most; else by name alone."""
    texts = [name for name, kind in _usable(source) if kind == "text"]
    again = [name for name in texts if values.repeats(name)]
    named = next((name for name in again if _WHO.search(name)), None)
    return named or values.most(again) or next(filter(_WHO.search, texts), texts[0] if texts else None)


def _usable(source: Source) -> list[tuple[str, str]]:
    return [(name, kind) for name, kind in source.schema if name != source.event_time]


TEMPLATES = (
    Template("rate", "Rate", "how many messages come", _rate),
    Template("errors", "Error ratio", "the share of events that failed", _error_ratio),
    Template("latency", "p95 latency", "95th-percentile latency", _latency),
    Template("talkers", "Top talkers", "who sends the most", _top_talkers),
    Template("heartbeat", "Heartbeat missing", "who has been silent for a minute", _heartbeat),
)
