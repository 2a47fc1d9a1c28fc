"""A query while it is being typed: parts of it may be wrong, and the rest is still worth an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.http import QueryDict

from dashboard.queries.models import SavedQuery
from dashboard.queries.windows_text import parse_windows, write_windows
from dashboard.sources.models import Source
from dashboard.texts import control_problem
from optimizer.queries import AnyWindowSpec, Computation, InvalidQuery, QuerySpec
from streaming.spec import NUMERIC, check_computation, check_filter, check_groups

NAME_LENGTH = 120


@dataclass(frozen=True)
class Problem:
    """One sentence beside one field, where in it the slip is, and a name the person may have meant."""

    sentence: str
    suggestion: str | None = None
    span: tuple[int, int] | None = None

    @classmethod
    def of(cls, error: InvalidQuery, source: Source | None = None) -> "Problem":
        """What was refused, with the name of the source where a field of it is missing."""
        sentence = error.sentence
        if source is not None and sentence.startswith("No field"):
            sentence = sentence.replace("”", f"” in {source.name}", 1)
        return cls(sentence, error.suggestion, error.span)


@dataclass(frozen=True)
class TypedComputation:
    """A line of “Compute” as it stands in the form."""

    aggregate: str
    field: str | None = None  # a field's name or an expression
    parameter: str = ""  # what a percentile or top_k is given

    @classmethod
    def of(cls, computation: Computation) -> "TypedComputation":
        given = "" if computation.parameter is None else repr(computation.parameter)
        return cls(computation.aggregate, computation.field, given)

    def computation(self) -> Computation:
        return Computation.typed(self.aggregate, self.field, self.parameter)


@dataclass(frozen=True)
class Draft:
    """What stands in the form."""

    source: Source | None
    name: str = ""
    computations: tuple[TypedComputation, ...] = (TypedComputation("count"),)
    windows_text: str = "1m every 10s"
    group_by: tuple[str, ...] = ()
    where: str = ""

    @classmethod
    def typed(cls, data: QueryDict, source: Source | None) -> "Draft":
        given = data.getlist("parameter") + [""] * len(data.getlist("aggregate"))
        lines = zip(data.getlist("aggregate"), data.getlist("field"), given, strict=False)
        return cls(
            source=source,
            name=data.get("name", "").strip(),
            computations=tuple(
                TypedComputation(name, field.strip() or None, parameter) for name, field, parameter in lines
            ),
            windows_text=data.get("windows", ""),
            group_by=tuple(data.getlist("group_by")),
            where=data.get("where", "").strip(),
        )

    @classmethod
    def of(cls, spec: QuerySpec, source: Source | None) -> "Draft":
        return cls(
            source=source,
            name=spec.name,
            computations=tuple(map(TypedComputation.of, spec.computations)),
            windows_text=write_windows(spec.windows),
            group_by=spec.group_by,
            where=spec.where or "",
        )

    @classmethod
    def saved(cls, query: SavedQuery) -> "Draft":
        return cls.of(query.spec(), query.source)

    @classmethod
    def first(cls, source: Source | None) -> "Draft":
        """What an empty form begins with: the mean of the first numeric field, or a count."""
        field = _first_numeric(source) if source else None
        return cls(source=source, computations=(TypedComputation("mean" if field else "count", field),))

    def moved(self) -> "Draft":
        """The draft after another source was chosen: what does not exist there is let go."""
        types = self.source.types if self.source else {}
        kept = tuple(one for one in self.computations if one.field is None or one.field in types)
        group_by = tuple(name for name in self.group_by if name in types)
        return replace(self, computations=kept or Draft.first(self.source).computations, group_by=group_by)

    def spec(self) -> QuerySpec:
        """The query; raises InvalidQuery while it has problems."""
        return QuerySpec(
            name=self.name,
            computations=tuple(one.computation() for one in self.computations),
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
    _check_name(draft.name, problems)
    if draft.source is None:
        problems["source"] = Problem("Choose the source to read.")
        return Checked(draft, problems, windows, None)
    _check_computations(draft, draft.source, problems)
    _check_rest(draft, draft.source, problems)
    answerable = None
    if not problems.keys() - {"name", "where"}:
        without_wrong = replace(
            draft,
            name="draft" if "name" in problems else draft.name,
            where="" if "where" in problems else draft.where,
        )
        answerable = without_wrong.spec()
    return Checked(draft, problems, windows, answerable)


def _check_name(name: str, problems: dict[str, Problem]) -> None:
    if not name:
        problems["name"] = Problem("Give the query a name.")
    elif unseen := control_problem(name):
        problems["name"] = Problem(unseen)
    elif len(name) > NAME_LENGTH:
        problems["name"] = Problem(f"The name is longer than {NAME_LENGTH} characters: shorten it.")


def refuse_unseen(field: str, *texts: str) -> None:
    """Raises InvalidQuery where one of the texts holds a control character."""
    for text in texts:
        problem = control_problem(text, lines=True)
        if problem:
            raise InvalidQuery(field, problem)


def _windows(draft: Draft, problems: dict[str, Problem]) -> tuple[AnyWindowSpec, ...]:
    try:
        refuse_unseen("windows", draft.windows_text)
        windows = parse_windows(draft.windows_text)
        # The rules about sets of windows are QuerySpec's own; the other parts are checked by themselves.
        QuerySpec("draft", (Computation("count"),), windows)
    except InvalidQuery as error:
        problems["windows"] = Problem.of(error)
        return ()
    return windows


def _check_computations(draft: Draft, source: Source, problems: dict[str, Problem]) -> None:
    """Each line by itself (`computation-0`, …), then whether they go together."""
    known = []
    for number, typed in enumerate(draft.computations):
        try:
            refuse_unseen("field", typed.aggregate, typed.field or "", typed.parameter)
            computation = typed.computation()
            check_computation(computation, source.types)
        except InvalidQuery as error:
            problems[f"computation-{number}"] = Problem.of(error, source)
        else:
            known.append(computation)
    if len(known) == len(draft.computations):
        try:
            QuerySpec("draft", tuple(known), parse_windows("1m"))
        except InvalidQuery as error:
            problems["computations"] = Problem.of(error)


def _check_rest(draft: Draft, source: Source, problems: dict[str, Problem]) -> None:
    try:
        refuse_unseen("group_by", *draft.group_by)
        check_groups(draft.group_by, source.types)
    except InvalidQuery as error:
        problems["group_by"] = Problem.of(error, source)
    try:
        refuse_unseen("where", draft.where)
        check_filter(draft.where, source.types)
    except InvalidQuery as error:
        problems["where"] = Problem.of(error, source)
