"""Queries: what people define, checked where it enters, and the single-window queries a plan is made of."""

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from optimizer.aggregates import AGGREGATES, PARAMETERS, with_parameter
from optimizer.durations import InvalidDuration, parse_duration, parse_offset
from optimizer.group_windows import CountWindow, GroupQuery, GroupWindow, SessionWindow
from optimizer.windows import Window

MOST_OVERLAP = 1_000_000  # windows that an event may be in
_KEYS = ("name", "computations", "windows", "group_by", "where")
_COMPUTATION_KEYS = ("aggregate", "field", *(one.key for one in PARAMETERS.values()))
ALIASES = {"median": "p50"}  # other names that aggregates have in texts


class InvalidQuery(ValueError):
    """Bad input; `field` names the form field or JSON key the sentence belongs to.

    Of an expression, `span` tells which characters are wrong, and `suggestion` what may have been meant.
    """

    def __init__(
        self,
        field: str,
        sentence: str,
        *,
        span: tuple[int, int] | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence
        self.span = span
        self.suggestion = suggestion

    @property
    def words(self) -> str:
        """The sentence, and what may have been meant: for texts, where there is no button to take it."""
        return self.sentence + did_you_mean(self.suggestion)


def closest(name: str, known: Iterable[str]) -> str | None:
    """What may have been meant."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def did_you_mean(meant: str | None) -> str:
    """Behind a sentence."""
    return f" Did you mean “{meant}”?" if meant else ""


@dataclass(frozen=True)
class WindowSpec:
    """A window as it was written, so that results can say it back in the same words."""

    range: str
    slide: str
    offset: str = ""  # how much later than a multiple of the slide windows start; `-15m`: earlier

    def window(self) -> Window:
        try:
            offset, slide = parse_offset(self.offset or "0"), parse_duration(self.slide)
            # Windows that start earlier by an offset are those that start later by the rest of the slide.
            return Window(parse_duration(self.range), slide, offset if offset >= 0 else offset % slide)
        except InvalidDuration as error:
            raise InvalidQuery("windows", str(error)) from error
        except ValueError as error:
            raise InvalidQuery("windows", f"{self.range} every {self.slide}: {error}") from error

    @property
    def written(self) -> str:
        """`range/slide`, and `+offset` where there is one."""
        return f"{self.range}/{self.slide}" + (f"+{self.offset}" if self.offset else "")

    @property
    def words(self) -> str:
        return f"{self.range} every {self.slide}" + (f" offset {self.offset}" if self.offset else "")

    def to_json(self) -> dict[str, str]:
        return {"range": self.range, "slide": self.slide} | ({"offset": self.offset} if self.offset else {})


@dataclass(frozen=True)
class CountSpec:
    """The last `count` events of each group, every `every` events."""

    count: int
    every: int

    def window(self) -> CountWindow:
        try:
            return CountWindow(self.count, self.every)
        except ValueError as error:
            raise InvalidQuery("windows", f"{self.words}: {error}") from error

    @property
    def written(self) -> str:
        return f"{self.count} events/{self.every}"

    @property
    def words(self) -> str:
        return f"{self.count} events every {self.every}"

    def to_json(self) -> dict[str, int]:
        return {"count": self.count, "every": self.every}


@dataclass(frozen=True)
class SessionSpec:
    """Events of each group that follow each other within the gap, as it was written."""

    gap: str

    def window(self) -> SessionWindow:
        try:
            return SessionWindow(parse_duration(self.gap))
        except InvalidDuration as error:
            raise InvalidQuery("windows", str(error)) from error

    @property
    def written(self) -> str:
        return f"gap {self.gap}"

    @property
    def words(self) -> str:
        return self.written

    def to_json(self) -> dict[str, str]:
        return {"gap": self.gap}


AnyWindowSpec = WindowSpec | CountSpec | SessionSpec


def refuse_absurd(windows: Iterable[AnyWindowSpec]) -> None:
    """Refuse windows that overlap beyond reason; asked where people write them: what is stored stays."""
    for spec in windows:
        window = spec.window()
        if isinstance(window, Window) and window.range > MOST_OVERLAP * window.slide:
            overlap = -(-window.range // window.slide)
            why = f"each event would be in {overlap:,} windows, more than {MOST_OVERLAP:,}"
            raise InvalidQuery("windows", f"{spec.words}: {why}: slide less often.")


@dataclass(frozen=True)
class Query:
    """One aggregate over one field with one window: the unit that the optimizer places."""

    id: str
    name: str
    aggregate: str
    field: str | None
    window: Window
    group_by: tuple[str, ...] = ()
    where: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "aggregate": self.aggregate,
            "field": self.field,
            "range": self.window.range,
            "slide": self.window.slide,
            "offset": self.window.offset,
            "group_by": list(self.group_by),
            "where": self.where,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Query":
        return cls(
            id=value["id"],
            name=value["name"],
            aggregate=value["aggregate"],
            field=value["field"],
            window=Window(value["range"], value["slide"], value["offset"]),
            group_by=tuple(value["group_by"]),
            where=value["where"],
        )


AnyQuery = Query | GroupQuery


@dataclass(frozen=True)
class Computation:
    """One aggregate over a field, or over an expression of fields; None: `count` counts events.

    `parameter` is what a percentile or top_k is given; None: what it has without.
    """

    aggregate: str
    field: str | None = None
    parameter: float | None = None

    def __post_init__(self) -> None:
        if self.aggregate not in AGGREGATES:
            known = ", ".join(AGGREGATES)
            raise InvalidQuery("aggregate", f"No aggregate “{self.aggregate}”: use one of {known}.")
        if self.aggregate != "count" and not self.field:
            raise InvalidQuery("field", f"Choose the field to compute the {self.aggregate} of.")
        if self.parameter is not None:
            self._check_parameter(self.parameter)

    def _check_parameter(self, value: float) -> None:
        taken = PARAMETERS.get(self.aggregate)
        if taken is None:
            takers = " and ".join(PARAMETERS)
            raise InvalidQuery(
                "parameter", f"The {self.aggregate} takes nothing but a field: only {takers} do."
            )
        if not taken.fits(value):
            raise InvalidQuery(
                "parameter", f"The {taken.key} of a {self.aggregate} is {taken.words}, not {value}."
            )

    @classmethod
    def typed(cls, aggregate: str, field: str | None, given: str) -> "Computation":
        """What people typed; `given` is of no matter where the aggregate takes nothing."""
        aggregate = ALIASES.get(aggregate, aggregate)
        taken = PARAMETERS.get(aggregate)
        if taken is None or not given.strip():
            return cls(aggregate, field)
        try:
            return cls(aggregate, field, taken.kind(given))
        except InvalidQuery:
            raise
        except ValueError as error:
            sentence = f"The {taken.key} of a {aggregate} is {taken.words}, not {given}."
            raise InvalidQuery("parameter", sentence) from error

    @property
    def name(self) -> str:
        """The aggregate with what it is given, as queries of a plan have it."""
        return with_parameter(self.aggregate, self.parameter)

    @property
    def written(self) -> str:
        """As in SQL."""
        given = "" if self.parameter is None else f", {self.parameter!r}"
        return f"{self.aggregate}({self.field or '*'}{given})"

    @property
    def words(self) -> str:
        given = "" if self.parameter is None else f" {self.parameter!r}"
        return f"{self.aggregate}{given} of {self.field}" if self.field else self.aggregate

    def to_json(self) -> dict[str, str | float | None]:
        given = {} if self.parameter is None else {PARAMETERS[self.aggregate].key: self.parameter}
        return {"aggregate": self.aggregate, "field": self.field, **given}


@dataclass(frozen=True)
class QuerySpec:
    """A query as people write it: a family of computations, each over one or several windows."""

    name: str
    computations: tuple[Computation, ...]
    windows: tuple[AnyWindowSpec, ...]
    group_by: tuple[str, ...] = ()
    where: str | None = None

    @classmethod
    def single(
        cls,
        name: str,
        aggregate: str,
        field: str | None,
        windows: tuple[AnyWindowSpec, ...],
        group_by: tuple[str, ...] = (),
        where: str | None = None,
    ) -> "QuerySpec":
        """A query of one computation."""
        return cls(name, (Computation(aggregate, field),), windows, group_by, where)

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidQuery("name", "Give the query a name.")
        if not self.computations:
            raise InvalidQuery(
                "computations", "Say what to compute, such as the count or the mean of a field."
            )
        if not self.windows:
            raise InvalidQuery("windows", "Give at least one window, such as 1m every 10s.")
        for position, one in enumerate(self.computations):
            if one in self.computations[:position]:
                raise InvalidQuery("computations", f"“{one.words}” is there twice.")
        for position, name in enumerate(self.group_by):
            if name in self.group_by[:position]:
                raise InvalidQuery("group_by", f"“{name}” is in the group-by twice.")
        self._refuse_repeated_windows()

    def _refuse_repeated_windows(self) -> None:
        seen: set[Window | GroupWindow] = set()
        for spec in self.windows:
            window = spec.window()
            if window in seen:
                raise InvalidQuery("windows", f"{spec.words} is there twice.")
            seen.add(window)

    def queries(self, key: str | None = None) -> list[AnyQuery]:
        """The family's single-window queries; `key` (default: the name) makes their ids unique."""
        return [query for _, _, query in self.members(key)]

    def members(self, key: str | None = None) -> list[tuple[Computation, AnyWindowSpec, AnyQuery]]:
        """The same with what each computes over which window, all windows of a computation together.

        Results are kept by the ids. The first computation has none of its own in them: a query that gains
        another one goes on where it was.
        """
        family = []
        for position, computation in enumerate(self.computations):
            suffix = f" {computation.written}" if position else ""
            for spec in self.windows:
                query_id = f"{key or self.name}@{spec.written}{suffix}"
                family.append((computation, spec, self._query(query_id, computation, spec.window())))
        return family

    def _query(self, query_id: str, computation: Computation, window: Window | GroupWindow) -> AnyQuery:
        kind = Query if isinstance(window, Window) else GroupQuery
        what = (computation.name, computation.field)
        return kind(query_id, self.name, *what, window, self.group_by, self.where)  # type: ignore[arg-type]

    def to_json(self) -> dict[str, Any]:
        """One computation is written plainly, several as a list."""
        several = {"computations": [one.to_json() for one in self.computations]}
        return {
            "name": self.name,
            **(self.computations[0].to_json() if len(self.computations) == 1 else several),
            "windows": [spec.to_json() for spec in self.windows],
            "group_by": list(self.group_by),
            "where": self.where,
        }

    @classmethod
    def from_json(cls, value: Any) -> "QuerySpec":
        if not isinstance(value, dict):
            raise InvalidQuery("query", "A query is an object with a name, an aggregate and windows.")
        if problem := unknown_key("A query", value, (*_KEYS, *_COMPUTATION_KEYS)):
            raise InvalidQuery("query", problem)
        windows = tuple(_window(w) for w in _list(value, "windows"))
        return cls(
            name=_text(value, "name") or "",
            computations=_computations(value),
            windows=windows,
            group_by=tuple(str(name) for name in _list(value, "group_by")),
            where=_text(value, "where") or None,
        )


def unknown_key(what: str, value: dict[str, Any], known: Collection[str]) -> str:
    """A sentence about a key that nobody reads: it may be misspelt; nothing where there is none."""
    unknown = sorted(set(value).difference(known))
    if not unknown:
        return ""
    meant = closest(unknown[0], set(known).difference(value))
    return f"{what} has no “{unknown[0]}”.{did_you_mean(meant)}"


def _computations(value: dict[str, Any]) -> tuple[Computation, ...]:
    """A list of them, or one that stands in the query itself."""
    own = {key: value[key] for key in _COMPUTATION_KEYS if key in value}
    if "computations" not in value:
        return (_computation(own),)
    if any(one is not None and one != "" for one in own.values()):
        raise InvalidQuery("computations", "A query has either “computations” or an “aggregate”, not both.")
    return tuple(_computation(item) for item in _list(value, "computations"))


def _computation(value: Any) -> Computation:
    if not isinstance(value, dict):
        raise InvalidQuery("computations", "A computation is an object with an aggregate and a field.")
    if problem := unknown_key("A computation", value, _COMPUTATION_KEYS):
        raise InvalidQuery("computations", problem)
    aggregate = _text(value, "aggregate") or ""
    aggregate = ALIASES.get(aggregate, aggregate)
    return Computation(aggregate, _text(value, "field") or None, given_parameter(aggregate, value))


def given_parameter(aggregate: str, value: dict[str, Any]) -> float | None:
    """What is given by the key of the aggregate's parameter; other aggregates' keys are refused."""
    taken = PARAMETERS.get(aggregate)
    for key in {one.key for one in PARAMETERS.values()} & {key for key in value if value[key] is not None}:
        if taken is None or key != taken.key:
            takers = " and ".join(name for name, one in PARAMETERS.items() if one.key == key)
            raise InvalidQuery("computations", f"The {aggregate} has no “{key}”: only {takers} has one.")
        if not isinstance(value[key], int | float):
            raise InvalidQuery("computations", f"“{key}” must be a number.")
        return float(value[key]) if taken.kind is float else value[key]
    return None


def _text(value: dict[str, Any], key: str) -> str | None:
    text = value.get(key)
    if text is not None and not isinstance(text, str):
        raise InvalidQuery(key, f"“{key}” must be a text.")
    return text


def _list(value: dict[str, Any], key: str) -> list[Any]:
    items = value.get(key) or []
    if not isinstance(items, list):
        raise InvalidQuery(key, f"“{key}” must be a list.")
    return items


def _window(value: Any) -> AnyWindowSpec:
    if isinstance(value, dict) and "count" in value:
        return _count_window(value)
    if isinstance(value, dict) and "gap" in value:
        return _session_window(value)
    if isinstance(value, dict) and "range" in value:
        return _time_window(value)
    raise InvalidQuery(
        "windows",
        "A window is an object with a range and a slide, such as 1m and 10s, with a count and an every, "
        "such as 100 and 10, or with a gap, such as 30s.",
    )


def _count_window(value: dict[str, Any]) -> CountSpec:
    _refuse_unknown(value, "count", "every")
    count = _events(value, "count")
    return CountSpec(count, _events(value, "every") if "every" in value else count)


def _session_window(value: dict[str, Any]) -> SessionSpec:
    _refuse_unknown(value, "gap")
    if not isinstance(value["gap"], str):
        raise InvalidQuery("windows", f"“gap” must be a duration, such as 30s, not {value['gap']}.")
    return SessionSpec(value["gap"])


def _time_window(value: dict[str, Any]) -> WindowSpec:
    _refuse_unknown(value, "range", "slide", "offset")
    if not isinstance(value["range"], str):
        raise InvalidQuery("windows", "A window is an object with a range and a slide, such as 1m and 10s.")
    return WindowSpec(
        range=value["range"],
        slide=str(value.get("slide") or value["range"]),
        offset=str(value.get("offset") or ""),
    )


def _refuse_unknown(window: dict[str, Any], first: str, *others: str) -> None:
    if problem := unknown_key(f"A window with a “{first}”", window, (first, *others)):
        raise InvalidQuery("windows", problem)


def _events(window: dict[str, Any], key: str) -> int:
    number = window[key]
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidQuery("windows", f"“{key}” must be a whole number of events, not {number}.")
    return number
