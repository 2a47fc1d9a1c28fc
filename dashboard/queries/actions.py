"""What people do to queries; each change makes a new plan of the source, in one transaction with it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from textwrap import shorten

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.boards.leaning import lean_anew
from dashboard.planning.models import PlanVersion
from dashboard.planning.service import replan
from dashboard.queries.models import SavedQuery, tidy_tags
from dashboard.sources.models import Source
from optimizer.queries import InvalidQuery, QuerySpec
from streaming.spec import check_fields

LONGEST_QUOTE = 80  # characters of an expression
UNDO_KEPT = timedelta(days=1)  # the page offers Undo for seconds; the row stays a little longer


@transaction.atomic
def add_query(
    source: Source, spec: QuerySpec, person: User, tags: Iterable[str] = ()
) -> tuple[SavedQuery, PlanVersion]:
    query = SavedQuery(source=source, owner=person, tags=tidy_tags(tags))
    query.take(spec)
    query.save()
    return query, replan(source, f"{first_name(person)} added “{query.name}”")


@transaction.atomic
def change_query(query: SavedQuery, spec: QuerySpec, person: User) -> PlanVersion:
    query.take(spec)
    query.save()
    return replan(query.source, f"{first_name(person)} changed “{query.name}”")


@transaction.atomic
def delete_queries(queries: Sequence[SavedQuery], person: User) -> list[PlanVersion]:
    """Take queries out of the plan; their rows are kept for Undo and go for good a day later."""
    now = timezone.now()
    SavedQuery.with_deleted.filter(deleted_at__lt=now - UNDO_KEPT).delete()
    for query in queries:
        query.deleted_at = now
        query.save(update_fields=["deleted_at"])
    lean_anew()
    return _replanned(queries, person, "deleted")


class FitsNoMore(Exception):
    """The fields of the source were changed while the query was away; said as it is."""


@transaction.atomic
def restore_queries(queries: Sequence[SavedQuery], person: User) -> list[PlanVersion]:
    """Raises FitsNoMore; then none is brought back."""
    for query in queries:
        _check_fits(query)
        query.deleted_at = None
        query.save(update_fields=["deleted_at"])
    lean_anew()
    return _replanned(queries, person, "brought back")


def _check_fits(query: SavedQuery) -> None:
    try:
        check_fields(query.spec(), query.source.types)
    except InvalidQuery as problem:
        raise FitsNoMore(
            f"“{query.name}” does not fit the fields of “{query.source.name}” any more: {problem.sentence}"
        ) from problem


@transaction.atomic
def pause_queries(queries: Sequence[SavedQuery], person: User) -> list[PlanVersion]:
    """Take queries out of the plan until somebody resumes them; results so far are kept."""
    now = timezone.now()
    running = [query for query in queries if query.paused_at is None]
    for query in running:
        query.paused_at, query.paused_by = now, person
        query.save(update_fields=["paused_at", "paused_by"])
    return _replanned(running, person, "paused")


@transaction.atomic
def pause_stopped(source: Source, plan: int, stopped: Mapping[str, str]) -> PlanVersion | None:
    """Pause the queries whose filter or computed field was stopped, as batches of this plan say.

    What an older plan's say is past: somebody may have resumed or changed a query since.
    """
    newest = PlanVersion.objects.filter(source=source).order_by("version").last()
    if newest is None or newest.version != plan:
        return None
    running = SavedQuery.objects.filter(source=source, paused_at__isnull=True).select_for_update()
    concerned = [query for query in running if not stopped.keys().isdisjoint(_expressions(query))]
    for query in concerned:
        expression = next(each for each in _expressions(query) if each in stopped)
        query.paused_at = timezone.now()
        query.paused_why = f"“{shorten(expression, LONGEST_QUOTE)}” takes too much. {stopped[expression]}"
        query.save(update_fields=["paused_at", "paused_why"])
    return replan(source, f"Millrace paused {named(concerned)}") if concerned else None


def _expressions(query: SavedQuery) -> list[str]:
    spec = query.spec()
    fields = [computation.field for computation in spec.computations]
    return [text for text in (spec.where, *fields) if text]


@transaction.atomic
def resume_queries(queries: Sequence[SavedQuery], person: User) -> list[PlanVersion]:
    paused = [query for query in queries if query.paused_at is not None]
    for query in paused:
        query.paused_at, query.paused_by, query.paused_why = None, None, ""
        query.save(update_fields=["paused_at", "paused_by", "paused_why"])
    return _replanned(paused, person, "resumed")


def _replanned(queries: Sequence[SavedQuery], person: User, done: str) -> list[PlanVersion]:
    """One plan for each source, whatever the number of queries."""
    by_source: dict[Source, list[SavedQuery]] = {}
    for query in queries:
        by_source.setdefault(query.source, []).append(query)
    return [
        replan(source, f"{first_name(person)} {done} {named(changed)}")
        for source, changed in by_source.items()
    ]


def named(queries: Sequence[SavedQuery]) -> str:
    """One query by its name, several by their number."""
    return f"“{queries[0].name}”" if len(queries) == 1 else f"{len(queries)} queries"
