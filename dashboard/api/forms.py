"""From what was sent to what the forms of the pages take, so that both refuse the same in the same words."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import QueryDict

from dashboard.accounts.rights import visible_sources
from dashboard.api.refusals import Refused, refuse_bad
from dashboard.api.shapes import QueryDefined, SourceChange, SourceGiven
from dashboard.connections.forms import ConnectionForm
from dashboard.connections.forms import as_typed as connection_as_typed
from dashboard.connections.models import Connection
from dashboard.queries.drafts import Draft
from dashboard.queries.models import SavedQuery
from dashboard.queries.written import FORM, SQL, Written, kept_to, read_written
from dashboard.sources.forms import SettingsForm, SourceForm
from dashboard.sources.models import Source
from optimizer.queries import InvalidQuery, QuerySpec, given_parameter

CALLED_OTHERWISE = {"schema": "fields", "key": "private_key"}  # what is another thing in the forms


def checked_connection(sent: dict[str, Any], editing: Connection | None = None) -> ConnectionForm:
    """A form that may be saved; of a connection that is there, what was not sent stays."""
    kept = connection_as_typed(editing) if editing else {}
    form = ConnectionForm({**kept, **sent, "key": sent.get("private_key", "")}, editing=editing)
    refuse_bad(form, CALLED_OTHERWISE)
    return form


def checked_source(sent: SourceGiven, reader: User | None = None) -> SourceForm:
    form = SourceForm(_source_data(sent, set(SourceGiven.model_fields)), reader=reader, all_at_once=True)
    refuse_bad(form, CALLED_OTHERWISE)
    return form


def checked_settings(
    source: Source, sent: SourceChange | SourceGiven, reader: User | None = None
) -> SettingsForm:
    form = SettingsForm(source, _source_data(sent, sent.model_fields_set), reader=reader)
    refuse_bad(form, CALLED_OTHERWISE)
    return form


def _source_data(sent: SourceChange | SourceGiven, names: set[str]) -> QueryDict:
    data = QueryDict(mutable=True)
    for name in names - {"fields"}:
        data[name] = getattr(sent, name)
    if "fields" in names:
        data.setlist("field", [one.name for one in sent.fields])
        data.setlist("kind", [one.type for one in sent.fields])
    return data


def written_by(person: User, sent: QueryDefined, source: str) -> Written:
    """A draft; a source that is not there, or not to be seen, is refused as if none were chosen."""
    known = visible_sources(person)
    return written_query(sent, known.filter(key=source).first(), known=known)


def written_query(
    sent: QueryDefined,
    source: Source | None,
    editing: SavedQuery | None = None,
    known: QuerySet[Source] | None = None,
) -> Written:
    """The query as the builder would read it; of one that is there, what was not sent stays."""
    data = _typed(Draft.saved(editing)) if editing else QueryDict(mutable=True)
    given = sent.model_fields_set if editing else set(type(sent).model_fields)
    if "name" in given:
        data["name"] = sent.name
    if sent.sql is not None:
        data["view"], data["sql"] = SQL, sent.sql
        written = read_written(data, source, known)
        return kept_to(editing.source, written) if editing else written
    data["view"] = FORM
    if "computations" in given:
        _refuse_other_parameters(sent)
        data.setlist("aggregate", [one.aggregate for one in sent.computations])
        data.setlist("field", [one.field or "" for one in sent.computations])
        data.setlist("parameter", [one.parameter for one in sent.computations])
    if "windows" in given:
        data["windows"] = sent.windows_text()
    if "group_by" in given:
        data.setlist("group_by", sent.group_by)
    if "where" in given:
        data["where"] = sent.where or ""
    return read_written(data, source)


def _refuse_other_parameters(sent: QueryDefined) -> None:
    """The form passes over what an aggregate does not take: there it is left from another one."""
    for number, one in enumerate(sent.computations):
        try:
            given_parameter(one.aggregate, one.model_dump())
        except InvalidQuery as error:
            raise Refused({f"computation-{number}": error.sentence}) from error


def _typed(draft: Draft) -> QueryDict:
    data = QueryDict(mutable=True)
    data["name"], data["windows"], data["where"] = draft.name, draft.windows_text, draft.where
    data.setlist("aggregate", [one.aggregate for one in draft.computations])
    data.setlist("field", [one.field or "" for one in draft.computations])
    data.setlist("parameter", [one.parameter for one in draft.computations])
    data.setlist("group_by", list(draft.group_by))
    return data


def checked_query(written: Written, besides: tuple[str, ...] = ()) -> tuple[Source, QuerySpec]:
    """What may be saved; refuses what the builder refuses, but for the fields in `besides`."""
    problems = {
        field: problem.sentence for field, problem in written.checked.problems.items() if field not in besides
    }
    source, spec = written.draft.source, written.checked.answerable
    if problems or source is None or spec is None:
        raise Refused(problems)
    return source, spec


def person_named(name: str | None) -> User | None:
    return User.objects.filter(username=name).first() if name else None
