"""`import`: takes over what a file of `export` says; all of it, or nothing where a part is wrong.

Everything goes through the forms of the pages, so that a file is refused what a person is refused, in the
same words. What is not in the file is left alone.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import ConfigDict, Field, ValidationError

from dashboard.alerts.delivery import NO_MAIL_SERVER
from dashboard.alerts.forms import AlertForm
from dashboard.api.alerts import AlertGiven
from dashboard.api.board_forms import checked_board, checked_panels
from dashboard.api.board_shapes import BoardGiven
from dashboard.api.forms import checked_query, checked_settings, checked_source, person_named, written_query
from dashboard.api.refusals import Refused, mistakes, refuse_bad
from dashboard.api.shapes import ConnectionGiven, Given, QuerySent, SourceGiven, Text
from dashboard.bin.actions import NotRestored, delete, restore
from dashboard.boards import actions as boards
from dashboard.boards.leaning import lean_anew
from dashboard.connections.forms import ConnectionForm
from dashboard.exchange.writing import (
    VERSION,
    alert_entry,
    board_entry,
    connection_entry,
    query_entry,
    source_entry,
)
from dashboard.models import Alert, Board, Connection, HistoryPolicy, SavedQuery, Source
from dashboard.past.forms import PolicyForm
from dashboard.past.models import DETAIL_DAYS, KEPT_DAYS
from dashboard.planning import service as planning
from dashboard.queries.limits import limited
from dashboard.queries.models import tidy_tags

KINDS = ("connections", "sources", "queries", "dashboards", "alerts")
KEY = r"^[-a-zA-Z0-9_]+$"
Entry = dict[str, Any]


class UnreadableFile(ValueError):
    """A file that cannot be taken as it is; the message has a sentence for each mistake."""


class _Kept(Given):
    """What an entry has besides what is sent to the API."""

    model_config = ConfigDict(extra="forbid")
    owner: Text | None = None


class ConnectionKept(ConnectionGiven, _Kept):
    key: Text = Field(pattern=KEY, max_length=60)


class SourceKept(SourceGiven, _Kept):
    key: Text = Field(pattern=KEY, max_length=60)


class QueryKept(QuerySent, _Kept):
    key: Text = Field(pattern=KEY, max_length=16)
    paused: bool = False
    detail_days: int = DETAIL_DAYS
    kept_days: int = KEPT_DAYS


class BoardKept(BoardGiven, _Kept):
    key: Text = Field(pattern=KEY, max_length=60)


class AlertKept(AlertGiven, _Kept):
    key: Text = Field(pattern=KEY, max_length=16)
    query: Text = ""
    paused: bool = False


@dataclass
class Taken:
    """What an import did, or would do."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})
    notes: list[str] = field(default_factory=list)  # what is left for people to do

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    def words(self) -> list[str]:
        return [_counted(kind, count) for kind, count in self.counts.items() if count.total()]


def _counted(kind: str, count: Counter[str]) -> str:
    """
    >>> _counted("queries", Counter(changed=3, added=1, same=12))
    '3 queries changed, 1 added, 12 as they were'
    >>> _counted("sources", Counter(same=1))
    '1 source as it was'
    """
    parts: list[str] = []
    for done, one, several in (
        ("changed", "changed", "changed"),
        ("added", "added", "added"),
        ("same", "as it was", "as they were"),
    ):
        if number := count[done]:
            singular = {"queries": "query"}.get(kind, kind[:-1])
            noun = "" if parts else (f" {singular}" if number == 1 else f" {kind}")
            parts.append(f"{number}{noun} {one if number == 1 else several}")
    return ", ".join(parts)


class _Lines:
    """Where in the file things are said, for whoever has to mend it."""

    def __init__(self, root: yaml.Node | None) -> None:
        self._parts = _named_parts(root)

    def of(self, part: str) -> int:
        line, _ = self._parts.get(part, (1, None))
        return line

    def of_entry(self, kind: str, number: int, field: str) -> int:
        """The line of the field, or where the entry begins if it has none of this name."""
        line, entries = self._parts.get(kind, (1, None))
        if not isinstance(entries, yaml.SequenceNode):
            return line
        entry = entries.value[number]
        line, _ = _named_parts(entry).get(field, (entry.start_mark.line + 1, None))
        return line


def _named_parts(node: yaml.Node | None) -> dict[str, tuple[int, yaml.Node]]:
    """The line of every key, and what it holds."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {key.value: (key.start_mark.line + 1, value) for key, value in pairs if isinstance(key.value, str)}


def take(text: str, *, dry_run: bool = False) -> Taken:
    """Import the file; with `dry_run` nothing stays changed."""
    content, lines = _content(text)
    taken = Taken()
    problems: list[str] = []
    with transaction.atomic():
        before = {source.key: source.spec() for source in Source.objects.select_related("connection")}
        touched: Counter[str] = Counter()
        steps: dict[str, Callable[[Entry], str]] = {
            "connections": lambda entry: _take_connection(entry, taken),
            "sources": lambda entry: _take_source(entry, taken),
            "queries": lambda entry: _take_query(entry, taken, touched),
            "dashboards": lambda entry: _take_board(entry, taken),
            "alerts": lambda entry: _take_alert(entry, taken),
        }
        for kind in KINDS:
            for number, entry in enumerate(content[kind]):
                try:
                    with transaction.atomic():
                        taken.counts[kind][steps[kind](entry)] += 1
                except Refused as refused:
                    for field, sentence in refused.problems.items():
                        where = _field_in_file(field)
                        line = lines.of_entry(kind, number, where)
                        problems.append(f"Line {line}, {_named(kind, entry)}, {where}: {sentence}")
        if problems:
            raise UnreadableFile("\n".join(problems))
        if dry_run:
            transaction.set_rollback(True)
        else:
            _replan(before, touched)
    return taken


def _content(text: str) -> tuple[dict[str, list[Entry]], _Lines]:
    content, root = _parsed(text)
    if not isinstance(content, dict) or content.get("millrace") != VERSION:
        raise UnreadableFile(f"This is no file of `./millrace export`: it begins with “millrace: {VERSION}”.")
    lines = _Lines(root)
    unknown = sorted(map(str, content.keys() - {"millrace", *KINDS}))
    if unknown:
        raise UnreadableFile(
            f"Line {lines.of(unknown[0])}: There is no “{unknown[0]}” in a file of `./millrace export`."
        )
    for kind in KINDS:
        entries = content.setdefault(kind, None) or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise UnreadableFile(f"Line {lines.of(kind)}: “{kind}” must be a list of objects.")
        keys = [str(entry.get("key")) for entry in entries]
        for number, key in enumerate(keys):
            if key in keys[:number] and "key" in entries[number]:
                line = lines.of_entry(kind, number, "key")
                raise UnreadableFile(
                    f"Line {line}: “{key}” is in “{kind}” twice: a key belongs to one alone."
                )
        content[kind] = entries
    return content, lines


def _parsed(text: str) -> tuple[Any, yaml.Node | None]:
    """What the file says, and the same with its lines."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return (loader.construct_document(root) if root else None), root
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnreadableFile(f"This is not YAML: {error.reason} (line {line}).") from error
    except yaml.MarkedYAMLError as error:
        place = f" (line {error.problem_mark.line + 1})" if error.problem_mark else ""
        raise UnreadableFile(f"This is not YAML: {error.problem}{place}.") from error
    except (ValueError, RecursionError) as error:  # of a date that is none, or lists in lists without end
        raise UnreadableFile(f"This is not YAML that can be read: {error}.") from error


def _named(kind: str, entry: Entry) -> str:
    singular = {"queries": "query"}.get(kind, kind[:-1])
    name = entry.get("name") or entry.get("key")
    return f"{singular} “{name}”" if name else singular


def _field_in_file(field: str) -> str:
    """What a problem is about, as the file calls it: the forms count computations."""
    return "computations" if field.startswith("computation-") else field


def _restored(found: Source | Connection | None) -> bool:
    """Whether it had to be taken out of the bin first."""
    if found is None or found.deleted_at is None:
        return False
    try:
        restore([found], None)
    except NotRestored as problem:
        raise Refused({"key": str(problem)}) from problem
    return True


def _take_connection(entry: Entry, taken: Taken) -> str:
    found = Connection.with_deleted.filter(key=entry.get("key", "")).first()
    was_deleted = _restored(found)
    before = connection_entry(found) if found else None
    if before is not None and {**before, **entry} == before:
        return "changed" if was_deleted else "same"
    kept = _shaped(ConnectionKept, {**(before or {}), **entry})
    connection = found or Connection(key=kept.key)
    connection.created_by = _owner(kept.owner, found.created_by if found else None, taken)
    form = ConnectionForm(
        kept.model_dump(include=set(ConnectionGiven.model_fields)), editing=connection, secrets_may_wait=True
    )
    refuse_bad(form)
    saved = form.save(connection.created_by)
    if saved.security().has_login and not saved.sealed_password:
        taken.note(f"“{saved.name}” has no password here: type it on the page of the connection.")
    if saved.certificate and not saved.sealed_key:
        taken.note(f"“{saved.name}” has no private key here: paste it on the page of the connection.")
    return _outcome(before, connection_entry(saved))


def _take_source(entry: Entry, taken: Taken) -> str:
    found = Source.with_deleted.select_related("connection").filter(key=entry.get("key", "")).first()
    was_deleted = _restored(found)
    before = source_entry(found) if found else None
    if found is None or before is None:
        kept = _shaped(SourceKept, entry)
        made = checked_source(kept).save(_owner(kept.owner, None, taken), key=kept.key)
        return _outcome(None, source_entry(made))
    if {**before, **entry} == before:
        return "changed" if was_deleted else "same"
    kept = _shaped(SourceKept, {**before, **entry})
    for name in ("topic", "format"):
        if getattr(kept, name) != before[name]:
            raise Refused({name: f"A source keeps its {name}: give the new one a key of its own."})
    saved = checked_settings(found, kept).save()
    saved.created_by = _owner(kept.owner, saved.created_by, taken)
    saved.save(update_fields=["created_by"])
    return _outcome(before, source_entry(saved))


def _take_query(entry: Entry, taken: Taken, touched: Counter[str]) -> str:
    found = SavedQuery.with_deleted.select_related("source").filter(key=entry.get("key", "")).first()
    before = query_entry(found) if found and found.deleted_at is None else None
    if before is not None and {**before, **entry} == before:
        return "same"
    kept = _shaped(QueryKept, {**(before or {}), **entry})
    source = Source.objects.filter(key=kept.source).first()
    if found and source != found.source:
        raise Refused({"source": "A query stays with its source: give the new one a key of its own."})
    owner = _owner(kept.owner, found.owner if found else None, taken)
    written = written_query(kept, source)
    source, spec = checked_query(written if kept.paused else limited(written, owner, found))
    query = found or SavedQuery(key=kept.key, source=source)
    planned = (query.spec(), query.paused_at is None) if before else None
    query.take(spec)
    query.tags = tidy_tags(kept.tags)
    query.owner = owner
    query.deleted_at = query.deleted_by = None
    if kept.paused != (query.paused_at is not None):
        query.paused_at = timezone.now() if kept.paused else None
        query.paused_by = query.owner if kept.paused else None
        query.paused_why = ""
    query.save()
    if before is None:
        lean_anew()  # it may have been deleted
    _keep_for(query, kept)
    if planned != (query.spec(), query.paused_at is None):
        touched[source.key] += 1
    return _outcome(before, query_entry(query))


def _keep_for(query: SavedQuery, kept: QueryKept) -> None:
    """How long its results are kept; the defaults need no row."""
    days = {"detail_days": kept.detail_days, "kept_days": kept.kept_days}
    policy = HistoryPolicy.objects.filter(query=query).first()
    if policy is None and (kept.detail_days, kept.kept_days) == (DETAIL_DAYS, KEPT_DAYS):
        return
    form = PolicyForm(days, instance=policy or HistoryPolicy(query=query))
    refuse_bad(form)
    query.history_policy = form.save()


def _take_board(entry: Entry, taken: Taken) -> str:
    found = Board.with_deleted.filter(slug=entry.get("key", "")).first()
    before = board_entry(found) if found and found.deleted_at is None else None
    if before is not None and {**before, **entry} == before:
        return "same"
    kept = _shaped(BoardKept, {**(before or {}), **entry})
    board = found or Board(slug=kept.key)
    checked_board(kept.name, board)
    board.name, board.tags = kept.name, tidy_tags(kept.tags)
    board.deleted_at = board.deleted_by = None
    board.owner = _owner(kept.owner, board.owner, taken)
    panels = checked_panels(kept.panels)
    board.save()
    for old in board.panels.all():
        delete([old], None)
    for panel in panels:
        boards.add_panel(board, panel)
    return _outcome(before, board_entry(board))


def _take_alert(entry: Entry, taken: Taken) -> str:
    found = Alert.with_deleted.select_related("query__source").filter(key=entry.get("key", "")).first()
    before = alert_entry(found) if found and found.deleted_at is None else None
    if before is not None and {**before, **entry} == before:
        return "same"
    kept = _shaped(AlertKept, {**(before or {}), **entry})
    query = SavedQuery.objects.select_related("source").filter(key=kept.query).first()
    if query is None:
        raise Refused({"query": f"There is no query “{kept.query}”."})
    if found and query != found.query:
        raise Refused({"query": "An alert stays with its query: give the new one a key of its own."})
    alert = found or Alert(key=kept.key, query=query)
    typed = kept.model_dump(include=set(AlertGiven.model_fields))
    form = AlertForm(query, typed, editing=alert, set_up_later=True)
    refuse_bad(form)
    alert.owner = _owner(kept.owner, alert.owner, taken)
    if alert.deleted_at or (alert.paused_at and not kept.paused):
        alert.deleted_at = alert.deleted_by = None
        alert.changed_at = timezone.now()  # what happened meanwhile does not count
    if kept.paused != (alert.paused_at is not None):
        alert.paused_at = timezone.now() if kept.paused else None
    form.save(alert.owner)
    if alert.addresses and not settings.MAILS:
        taken.note(f"“{alert.name}” mails nobody here. {NO_MAIL_SERVER}")
    if alert.webhook and not alert.sealed_secret:
        taken.note(f"“{alert.name}” has no secret here: type it on the page of the alert.")
    return _outcome(before, alert_entry(alert))


def _shaped(shape: type[Any], entry: Entry) -> Any:
    try:
        return shape.model_validate(entry)
    except ValidationError as error:
        told = [{**one, "loc": ("entry", *one["loc"])} for one in error.errors()]
        raise Refused(mistakes(told)) from error


def _owner(name: str | None, present: Any, taken: Taken) -> Any:
    """The person of this name; who is not known here leaves things with whom they have."""
    person = person_named(name)
    if name and person is None:
        taken.note(f"There is no user “{name}” here: what is theirs can be changed by administrators alone.")
        return present
    return person


def _outcome(before: Entry | None, after: Entry) -> str:
    if before is None:
        return "added"
    return "same" if before == after else "changed"


def _replan(before: dict[str, Any], touched: Counter[str]) -> None:
    """A new plan for each source whose queries changed, or that is read otherwise and has a plan."""
    for source in Source.objects.select_related("connection"):
        is_read_otherwise = source.key in before and source.spec() != before[source.key]
        if touched[source.key]:
            number = touched[source.key]
            planning.replan(source, f"Import of {number} quer{'y' if number == 1 else 'ies'}")
        elif is_read_otherwise and planning.newest(source) is not None:
            planning.replan(source, f"Import changed the settings of {source.name}")
