"""The three ways in which the builder shows a query: as a form, as SQL and as the JSON of `replay`."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict

from dashboard.queries.drafts import Checked, Draft, Problem, TypedComputation, check_draft, refuse_unseen
from dashboard.queries.sql_text import ReadSql, read_sql, write_sql
from dashboard.sources.models import Source
from optimizer.durations import format_duration
from optimizer.queries import InvalidQuery, QuerySpec
from streaming.sources import FUTURE_BOUND_MS, READ_COMMITTED
from streaming.spec import InvalidSpec, source_settings

FORM, SQL, JSON = "form", "sql", "json"
VIEWS = (FORM, SQL, JSON)
NAMELESS = "draft"
_CHARACTER = re.compile(r"(?<=character )\d+")


@dataclass(frozen=True)
class Written:
    """What was typed in one of the views. Of a text that cannot be read the problem is all there is."""

    view: str
    text: str  # of SQL and JSON
    checked: Checked

    @property
    def draft(self) -> Draft:
        return self.checked.draft


def read_written(data: QueryDict, source: Source | None, known: QuerySet[Source] | None = None) -> Written:
    """What a form was sent with; `source` is the one chosen there, `known` those that SQL may name."""
    view = data.get("view", FORM)
    if view == SQL:
        return _read_sql(data.get("sql", ""), data.get("name", "").strip(), source, known)
    if view == JSON:
        return _read_json(data.get("json", ""), source)
    return Written(FORM, "", check_draft(Draft.typed(data, source)))


def kept_to(source: Source, written: Written) -> Written:
    """A saved query stays with its source, also where SQL names another one."""
    if written.draft.source in (None, source):
        return written
    problem = Problem(f"A query stays with its source: write FROM {source.name}, or make a new query.")
    checked = replace(written.checked, problems={**written.checked.problems, "source": problem})
    return replace(written, checked=checked)


def shown_text(view: str, draft: Draft) -> str:
    """The draft as a text of this view; raises InvalidQuery for a draft that cannot be written."""
    if view == FORM or draft.source is None:
        return ""
    spec = draft.spec() if draft.name else replace(draft, name=NAMELESS).spec()
    if view == SQL:
        return write_sql(spec, draft.source.name)
    value = {"source": _source_as_written(draft.source), "queries": [{**spec.to_json(), "name": draft.name}]}
    return json.dumps(value, indent=2, ensure_ascii=False)


def _source_as_written(source: Source) -> dict[str, Any]:
    """How `replay` is to read the events, as in a file for it; what is usual is left out.

    Events that happen when they are read are replayed by their messages' timestamps, as in a back-test.
    """
    written: dict[str, Any] = {
        "format": source.format,
        "event_time": source.event_time or None,
        "time_unit": source.time_unit,
        "allowed_lateness": format_duration(source.allowed_lateness),
    }
    if source.time_pattern:
        written["time_pattern"] = source.time_pattern
    if source.time_zone != "UTC":
        written["time_zone"] = source.time_zone
    if source.future_bound != FUTURE_BOUND_MS:
        written["future_bound"] = _bound_as_written(source.future_bound)
    if source.past_bound is not None:
        written["past_bound"] = _bound_as_written(source.past_bound)
    if source.isolation != READ_COMMITTED:
        written["isolation"] = source.isolation
    return written


def _bound_as_written(bound: int | None) -> str | None:
    return None if bound is None else format_duration(bound)


def _means(typed: Any, source: Source) -> bool:
    """Whether a “source” as typed reads events as this one does, however much of it is spelled out."""
    if not isinstance(typed, dict):
        return False
    try:
        meant = source_settings(typed)
    except InvalidSpec:
        return False
    same = source_settings(_source_as_written(source))
    if not source.event_time:  # how a time is written matters where there is one
        same |= {key: meant[key] for key in ("time_unit", "time_pattern", "time_zone")}
    return meant == same


def _read_sql(text: str, name: str, source: Source | None, known: QuerySet[Source] | None) -> Written:
    try:
        refuse_unseen(SQL, text)
        read = read_sql(text)
    except InvalidQuery as error:
        return _unreadable(SQL, text, Draft(source, name=name), error)
    found = _source_named(read.source, Source.objects.all() if known is None else known)
    draft = Draft(
        source=found,
        name=name,
        computations=tuple(TypedComputation(*one) for one in read.computations),
        windows_text=read.windows_text,
        group_by=read.group_by,
        where=read.where,
    )
    checked = check_draft(draft)
    problems = {key: _placed(problem, key, read) for key, problem in checked.problems.items()}
    if found is None:
        problems["source"] = Problem(f"No source “{read.source}”.")
    return Written(SQL, text, replace(checked, problems=problems))


def _source_named(name: str, known: QuerySet[Source]) -> Source | None:
    return known.filter(name=name).first() or known.filter(key=name).first()


def _placed(problem: Problem, key: str, read: ReadSql) -> Problem:
    """Characters are counted from the beginning of the whole text."""
    start = read.places.get(key)
    if problem.span is None or start is None:
        return problem
    first, last = problem.span[0] + start, problem.span[1] + start
    sentence = _CHARACTER.sub(lambda found: str(int(found[0]) + start), problem.sentence)
    if not _CHARACTER.search(sentence):  # a form's field is short enough to do without
        sentence = f"{sentence.removesuffix('.')} (character {first + 1})."
    return replace(problem, sentence=sentence, span=(first, last))


def _read_json(text: str, source: Source | None) -> Written:
    try:
        spec = _spec_of(text, source)
    except InvalidQuery as error:
        return _unreadable(JSON, text, Draft(source), error)
    checked = check_draft(Draft.of(spec, source))
    if spec.name == NAMELESS:
        problems = {"name": Problem("Give the query a name."), **checked.problems}
        return Written(JSON, text, replace(checked, draft=replace(checked.draft, name=""), problems=problems))
    return Written(JSON, text, checked)


def _spec_of(text: str, source: Source | None) -> QuerySpec:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidQuery(
            JSON,
            f"This is not JSON: {error.msg.lower()} (character {error.pos + 1}).",
            span=(error.pos, error.pos + 1),
        ) from error
    refuse_unseen(
        JSON, json.dumps(value, ensure_ascii=False)
    )  # what was escaped: no page can show half a pair
    if not isinstance(value, dict):
        raise InvalidQuery(JSON, "Write an object with one query in “queries”.")
    if "queries" in value:
        if source is not None and "source" in value and not _means(value["source"], source):
            raise InvalidQuery(JSON, "The source is changed on its own page: leave “source” as it is.")
        queries = value["queries"]
        if not isinstance(queries, list) or len(queries) != 1:
            raise InvalidQuery(JSON, "Write one query in “queries”: others are saved by themselves.")
        value = queries[0]
    if isinstance(value, dict) and not value.get("name"):
        value = {**value, "name": NAMELESS}
    return QuerySpec.from_json(value)


def _unreadable(view: str, text: str, draft: Draft, error: InvalidQuery) -> Written:
    return Written(view, text, Checked(draft, {view: Problem.of(error)}, (), None))
