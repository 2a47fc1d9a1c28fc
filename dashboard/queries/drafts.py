"""A query while it is being typed: parts of it may be wrong, and the rest is still worth an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.http import QueryDict

from dashboard.queries.models import SavedQuery
from dashboard.queries.windows_text import parse_windows, write_windows
from dashboard.sources.models import Source
from optimizer.queries import AnyWindowSpec, InvalidQuery, QuerySpec
from streaming.expressions import InvalidExpression, check

NUMERIC = ("integer", "number")
AGGREGATES = ("count", "sum", "mean", "min", "max")  # that the page offers
NAME_LENGTH = 120


@dataclass(frozen=True)
class Problem:
    """One sentence beside one field, and a name the person may have meant."""

    sentence: str
    suggestion: str | None = None


@dataclass(frozen=True)
class Draft:
    """What stands in the form."""

    source: Source | None
    name: str = ""
    aggregate: str = "mean"
    field: str | None = None
    windows_text: str = "1m every 10s"
    group_by: tuple[str, ...] = ()
    where: str = ""

    @classmethod
    def typed(cls, data: QueryDict, source: Source | None) -> "Draft":
        return cls(
            source=source,
            name=data.get("name", "").strip(),
            aggregate=data.get("aggregate", ""),
            field=data.get("field") or None,
            windows_text=data.get("windows", ""),
            group_by=tuple(data.getlist("group_by")),
            where=data.get("where", "").strip(),
        )

    @classmethod
    def saved(cls, query: SavedQuery) -> "Draft":
        spec = query.spec()
        return cls(
            source=query.source,
            name=spec.name,
            aggregate=spec.aggregate,
            field=spec.field,
            windows_text=write_windows(spec.windows),
            group_by=spec.group_by,
            where=spec.where or "",
        )

    @classmethod
    def first(cls, source: Source | None) -> "Draft":
        """What an empty form begins with: the mean of the first numeric field, or a count."""
        field = _first_numeric(source) if source else None
        return cls(source=source, field=field, aggregate="mean" if field else "count")

    def moved(self) -> "Draft":
        """The draft after another source was chosen: what does not exist there is let go."""
        types = self.source.types if self.source else {}
        field = self.field if self.field in types else None
        if field is None and self.source is not None and self.aggregate != "count":
            field = _first_numeric(self.source)
        return replace(self, field=field, group_by=tuple(name for name in self.group_by if name in types))

    def spec(self) -> QuerySpec:
        """The query; raises InvalidQuery while it has problems."""
        return QuerySpec(
            name=self.name,
            aggregate=self.aggregate,
            field=self.field,
            windows=parse_windows(self.windows_text),
            group_by=self.group_by,
            where=self.where or None,
        )


def _first_numeric(source: Source) -> str | None:
    usable = (name for name, kind in source.schema if kind in NUMERIC and name != source.event_time)
    return next(usable, None)


@dataclass(frozen=True)
class Checked:
    """A draft with all its problems, by form field, and what can be computed in spite of them."""

    draft: Draft
    problems: Mapping[str, Problem]
    windows: tuple[AnyWindowSpec, ...]
    answerable: QuerySpec | None  # without name and filter if these are wrong; None: nothing to compute

    @property
    def is_good(self) -> bool:
        return not self.problems

    @property
    def filter_left_out(self) -> bool:
        return "where" in self.problems and self.answerable is not None


def check_draft(draft: Draft) -> Checked:
    """Look at every field of a draft on its own, so that one problem does not hide another."""
    problems: dict[str, Problem] = {}
    windows = _windows(draft, problems)
    if not draft.name:
        problems["name"] = Problem("Give the query a name.")
    elif len(draft.name) > NAME_LENGTH:
        problems["name"] = Problem(f"The name is longer than {NAME_LENGTH} characters: shorten it.")
    if draft.source is None:
        problems["source"] = Problem("Choose the source to read.")
        return Checked(draft, problems, windows, None)
    _check_computation(draft, draft.source, problems)
    _check_groups(draft, draft.source, problems)
    _check_filter(draft, draft.source, problems)
    answerable = None
    if not problems.keys() - {"name", "where"}:
        without_wrong = replace(
            draft,
            name="draft" if "name" in problems else draft.name,
            where="" if "where" in problems else draft.where,
        )
        answerable = without_wrong.spec()
    return Checked(draft, problems, windows, answerable)


def _windows(draft: Draft, problems: dict[str, Problem]) -> tuple[AnyWindowSpec, ...]:
    try:
        windows = parse_windows(draft.windows_text)
        # The rules about sets of windows are QuerySpec's own; the other parts are checked by themselves.
        QuerySpec(name="draft", aggregate="count", field=None, windows=windows)
    except InvalidQuery as error:
        problems["windows"] = Problem(error.sentence)
        return ()
    return windows


def _check_computation(draft: Draft, source: Source, problems: dict[str, Problem]) -> None:
    types = source.types
    if draft.aggregate not in AGGREGATES:
        problems["aggregate"] = Problem(f"Choose one of {', '.join(AGGREGATES)}.")
    elif draft.field is None:
        if draft.aggregate != "count":
            problems["field"] = Problem(f"Choose the field to compute the {draft.aggregate} of.")
    elif draft.field not in types:
        problems["field"] = Problem(f"No field “{draft.field}” in {source.name}.")
    elif draft.aggregate != "count" and types[draft.field] not in NUMERIC:
        sentence = f"“{draft.field}” holds {types[draft.field]} values: the {draft.aggregate} needs numbers."
        problems["field"] = Problem(sentence)


def _check_groups(draft: Draft, source: Source, problems: dict[str, Problem]) -> None:
    unknown = [name for name in draft.group_by if name not in source.types]
    if unknown:
        problems["group_by"] = Problem(f"No field “{unknown[0]}” in {source.name}.")


def _check_filter(draft: Draft, source: Source, problems: dict[str, Problem]) -> None:
    if not draft.where:
        return
    try:
        check(draft.where, source.types)
    except InvalidExpression as error:
        sentence = error.sentence
        if sentence.startswith("No field"):
            sentence = sentence.replace("”", f"” in {source.name}", 1)
        problems["where"] = Problem(sentence, error.suggestion)
