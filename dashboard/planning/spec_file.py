"""The queries of a spec file, for planning alone: what `replay` reads, and windows in plain seconds."""

from dataclasses import dataclass
from typing import Any

import msgspec

from optimizer.queries import AnyQuery, InvalidQuery, QuerySpec

EVENTS = ("count", "every")  # of a window, that are numbers of events


@dataclass(frozen=True)
class SpecQueries:
    """Single-window queries, and how to call each: by its name, or as `name@range/slide` among several."""

    queries: tuple[AnyQuery, ...]
    labels: dict[str, str]  # by id


def read_queries(text: bytes) -> SpecQueries:
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"The spec is not JSON: {error}.") from error
    if not isinstance(value, dict) or not isinstance(value.get("queries"), list):
        raise ValueError("A spec is an object with a list of “queries”, and perhaps a “source”.")
    queries: list[AnyQuery] = []
    labels: dict[str, str] = {}
    names: set[str] = set()
    for number, item in enumerate(value["queries"], start=1):
        spec, written = _query_spec(item, number)
        if spec.name in names:
            raise ValueError(f"Two queries are named “{spec.name}”: give each its own name.")
        names.add(spec.name)
        family = spec.members()
        for at, (computation, _, query) in enumerate(family):
            queries.append(query)
            parts = [spec.name] if len(written) == 1 else [f"{spec.name}@{written[at % len(written)]}"]
            parts += [computation.written] if len(spec.computations) > 1 else []
            labels[query.id] = " ".join(parts)
    return SpecQueries(tuple(queries), labels)


def _query_spec(item: Any, number: int) -> tuple[QuerySpec, list[str]]:
    """One query, and its windows as they are written: `range/slide`."""
    try:
        if not isinstance(item, dict) or not isinstance(item.get("windows"), list):
            return QuerySpec.from_json(item), []
        windows = [_in_words(window) for window in item["windows"]]
        return QuerySpec.from_json({**item, "windows": windows}), [_written(w) for w in item["windows"]]
    except InvalidQuery as error:
        name = item.get("name") if isinstance(item, dict) else None
        raise ValueError(f"Query “{name or number}”: {error.sentence}") from error


def _in_words(window: Any) -> Any:
    """A window with durations such as `90s` where it had numbers of seconds."""
    if not isinstance(window, dict):
        return window
    return {key: value if key in EVENTS else _duration(key, value) for key, value in window.items()}


def _duration(key: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value <= 0:
        raise InvalidQuery("windows", f"The {key} must be longer than zero, not {value}.")
    if value != int(value):
        raise InvalidQuery(
            "windows", f"The {key} {value} is not a whole number of seconds: write it with a unit, as 1500ms."
        )
    return f"{int(value)}s"


def _written(window: dict[str, Any]) -> str:
    if "count" in window:
        return f"{window['count']} events/{window.get('every', window['count'])}"
    if "gap" in window:
        return f"gap {window['gap']}"
    return f"{window['range']}/{window.get('slide', window['range'])}"
