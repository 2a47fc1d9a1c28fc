"""What people do to queries; each change makes a new plan of the source, in one transaction with it."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

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
def resume_queries(queries: Sequence[SavedQuery], person: User) -> list[PlanVersion]:
    paused = [query for query in queries if query.paused_at is not None]
    for query in paused:
        query.paused_at = query.paused_by = None
        query.save(update_fields=["paused_at", "paused_by"])
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
