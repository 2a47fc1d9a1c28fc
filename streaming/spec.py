"""The JSON that `replay`, export, import and the API share: one source and its queries."""

from dataclasses import dataclass
from typing import Any

import msgspec

from optimizer.durations import InvalidDuration, parse_duration
from optimizer.queries import Computation, InvalidQuery, QuerySpec, closest, refuse_absurd, unknown_key
from streaming import event_time, expressions
from streaming.aggregates import AGGREGATES
from streaming.decimals import DECIMALS
from streaming.event_time import InvalidTime
from streaming.expressions import InvalidExpression
from streaming.formats import FORMATS
from streaming.sources import (
    FUTURE_BOUND_MS,
    ISOLATIONS,
    READ_COMMITTED,
    TIME_UNITS,
    FieldType,
    Isolation,
    TimeUnit,
)

NUMERIC: tuple[FieldType, ...] = ("integer", "number", *DECIMALS)
# What kinds of fields an aggregate takes, by the kind of values it is for.
TAKES: dict[str, tuple[FieldType, ...]] = {
    "numbers": NUMERIC,
    "pairs": NUMERIC,
    "texts": ("text",),
    "truths": ("boolean",),
    "anything": ("text", "boolean", *NUMERIC),
}
SOURCE_KEYS = (
    "format",
    "event_time",
    "time_unit",
    "allowed_lateness",
    "time_pattern",
    "time_zone",
    "future_bound",
    "past_bound",
    "isolation",
)
WORDS = {"pairs": "numbers", "truths": "true or false"}


class InvalidSpec(ValueError):
    """A spec that cannot be run; the message is the sentence shown to people."""


@dataclass(frozen=True)
class Spec:
    """How to read the events, and the queries over them."""

    format: str
    event_time: str | None
    time_unit: TimeUnit
    allowed_lateness: int
    queries: tuple[QuerySpec, ...]
    time_pattern: str = ""
    time_zone: str = "UTC"
    future_bound: int | None = FUTURE_BOUND_MS
    past_bound: int | None = None
    isolation: Isolation = READ_COMMITTED  # of topics

    @classmethod
    def read(cls, text: bytes) -> "Spec":
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            raise InvalidSpec(f"The spec is not JSON: {error}.") from error
        if not isinstance(value, dict) or not isinstance(value.get("source"), dict):
            raise InvalidSpec("A spec is an object with a “source” and a list of “queries”.")
        _refuse_unknown("A spec", value, ("source", "queries"))
        return cls(**source_settings(value["source"]), queries=_queries(value.get("queries")))


def source_settings(source: dict[str, Any]) -> dict[str, Any]:
    """How a spec's “source” says that events are read; what it leaves out has its default."""
    _refuse_unknown("The “source”", source, SOURCE_KEYS)
    return {
        "format": _one_of(source, "format", tuple(FORMATS), "json"),
        "event_time": _field_name(source.get("event_time")),
        "time_unit": _one_of(source, "time_unit", TIME_UNITS, "ms"),
        "allowed_lateness": _lateness(source.get("allowed_lateness", "10s")),
        "time_pattern": _time_pattern(source),
        "time_zone": _time_zone(source.get("time_zone", "UTC")),
        "future_bound": _bound(source, "future_bound", FUTURE_BOUND_MS),
        "past_bound": _bound(source, "past_bound", None),
        "isolation": _one_of(source, "isolation", ISOLATIONS, READ_COMMITTED),
    }


def _refuse_unknown(what: str, value: dict[str, Any], known: tuple[str, ...]) -> None:
    if problem := unknown_key(what, value, known):
        raise InvalidSpec(problem)


def _field_name(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InvalidSpec(f"“event_time” must be the name of a field, not {msgspec.json.encode(value).decode()}.")


def _one_of(source: dict[str, Any], key: str, known: tuple[Any, ...], default: Any) -> Any:
    value = source.get(key, default)
    if value not in known:
        raise InvalidSpec(f"“{key}” cannot be “{value}”: use one of {', '.join(known)}.")
    return value


def _lateness(value: Any) -> int:
    try:
        return _duration_or_zero(value)
    except InvalidDuration as error:
        raise InvalidSpec(f"The allowed lateness: {error}") from error


def _bound(source: dict[str, Any], key: str, default: int | None) -> int | None:
    """A duration, or null for no bound."""
    value = source.get(key, default)
    if value is None or value is default:
        return value
    try:
        return _duration_or_zero(value)
    except InvalidDuration as error:
        raise InvalidSpec(f"“{key}”: {error}") from error


def _duration_or_zero(value: Any) -> int:
    return 0 if value in ("0", "0s", 0) else parse_duration(str(value))


def _time_pattern(source: dict[str, Any]) -> str:
    pattern = str(source.get("time_pattern", ""))
    if source.get("time_unit") == "pattern":
        try:
            event_time.check_pattern(pattern)
        except InvalidTime as error:
            raise InvalidSpec(str(error)) from error
    return pattern


def _time_zone(value: Any) -> str:
    try:
        event_time.check_zone(str(value))
    except InvalidTime as error:
        raise InvalidSpec(str(error)) from error
    return str(value)


def _queries(value: Any) -> tuple[QuerySpec, ...]:
    if not isinstance(value, list) or not value:
        raise InvalidSpec("The spec has no “queries”: give at least one.")
    queries: list[QuerySpec] = []
    for item in value:
        try:
            query = QuerySpec.from_json(item)
            refuse_absurd(query.windows)
        except InvalidQuery as error:
            name = item.get("name") if isinstance(item, dict) else None
            raise InvalidSpec(f"Query “{name or len(queries) + 1}”: {error.words}") from error
        if any(query.name == other.name for other in queries):
            raise InvalidSpec(f"Two queries are named “{query.name}”: give each its own name.")
        queries.append(query)
    return tuple(queries)


def check_fields(query: QuerySpec, types: dict[str, FieldType]) -> None:
    """Refuse a query that does not fit the fields of its source."""
    for computation in query.computations:
        check_computation(computation, types)
    check_groups(query.group_by, types)
    check_filter(query.where, types)


def check_computation(computation: Computation, types: dict[str, FieldType]) -> None:
    """Refuse an aggregate over values that it does not take."""
    if computation.field is None:
        return
    kind = _type_of(computation.field, types)
    needed = AGGREGATES[computation.aggregate].takes
    if kind not in TAKES[needed]:
        needs = f"the {computation.aggregate} needs {WORDS.get(needed, needed)}"
        raise InvalidQuery("field", f"“{computation.field}” is {kind}; {needs}.")


def _type_of(field: str, types: dict[str, FieldType]) -> FieldType:
    """Of a field, or of an expression of fields."""
    if field in types:
        return types[field]
    if field.isidentifier():
        span = (0, len(field))
        raise InvalidQuery("field", f"No field “{field}”.", span=span, suggestion=closest(field, types))
    try:
        return expressions.check_value(field, types)
    except InvalidExpression as error:
        raise _refused("field", error) from error


def check_groups(group_by: tuple[str, ...], types: dict[str, FieldType]) -> None:
    for name in group_by:
        if name not in types:
            raise InvalidQuery("group_by", f"No field “{name}”.", suggestion=closest(name, types))


def check_filter(where: str | None, types: dict[str, FieldType]) -> None:
    if not where:
        return
    try:
        expressions.check(where, types)
    except InvalidExpression as error:
        raise _refused("where", error) from error


def _refused(field: str, error: InvalidExpression) -> InvalidQuery:
    return InvalidQuery(field, error.sentence, span=error.span, suggestion=error.suggestion)
