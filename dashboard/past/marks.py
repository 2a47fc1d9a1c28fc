"""What charts mark beside results: new plans, changes of queries, alerts, and what people noted."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User

from dashboard.accounts.people import first_name, is_administrator
from dashboard.alerts.marks import firing_marks
from dashboard.alerts.models import Firing
from dashboard.boards.models import Board
from dashboard.boards.sight import queries_of
from dashboard.past.models import Note
from dashboard.planning.models import PlanVersion
from dashboard.planning.steps import Step, edits_of, steps_of
from dashboard.queries.models import SavedQuery

MOST_PLANS = 200  # of a source; more are no marks any more, and each has to be read
MOST_NOTES = 500
NOT_THE_AUTHOR = "Only who wrote a note may remove it."


def marks_of(
    board: Board, start: int, until: int, seen: Collection[str], viewer: User | None
) -> dict[str, Any]:
    """Notes of the dashboard, and what is marked of those of its queries that are `seen`."""
    queries = [query for key, query in queries_of(board.panels.all()).items() if key in seen]
    notes = board.notes.select_related("author").filter(time__gte=start, time__lt=until)[:MOST_NOTES]
    return {
        "notes": [note_message(note, viewer) for note in notes],
        **marks_of_queries(queries, start, until),
    }


def marks_of_queries(queries: Collection[SavedQuery], start: int, until: int) -> dict[str, Any]:
    """By query, its own edits with the plans of its source, and when alerts on it fired."""
    steps = {source: steps_of(source, start) for source in {query.source for query in queries}}
    firings = Firing.objects.filter(alert__query__in=queries)
    return {
        "queries": {query.key: _query_marks(query, steps[query.source], start, until) for query in queries},
        "firings": firing_marks(firings, _moment(start), _moment(until)),
    }


def _query_marks(query: SavedQuery, steps: list[Step], start: int, until: int) -> list[tuple[int, str]]:
    """In order of time. A plan that a change of this query made is told by the change."""
    plans = _plans(query, start, until)
    edits = {time: text for time, text in edits_of(steps, query.key, start) if time < until}
    return sorted({**plans, **edits}.items())


def _plans(query: SavedQuery, start: int, until: int) -> dict[int, str]:
    made = PlanVersion.objects.filter(
        source=query.source, created_at__gte=_moment(start), created_at__lt=_moment(until)
    )
    newest = made.order_by("-version").values_list("created_at", "version")[:MOST_PLANS]
    return {int(at.timestamp() * 1000): f"Plan {version}" for at, version in newest}


def note_message(note: Note, viewer: User | None) -> dict[str, Any]:
    return {
        "id": note.pk,
        "time": note.time,
        "text": note.text,
        "by": first_name(note.author),
        "mine": viewer is not None and may_remove(viewer, note),
    }


def may_remove(person: User, note: Note) -> bool:
    """Who wrote it, and administrators."""
    return is_administrator(person) or note.author == person


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
