"""What people do to queries; each change makes a new plan of the source, in one transaction with it."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.planning.models import PlanVersion
from dashboard.planning.service import replan
from dashboard.queries.limits import check_limits
from dashboard.queries.models import SavedQuery, tidy_tags
from dashboard.sources.models import Source
from optimizer.queries import InvalidQuery, QuerySpec

LONGEST_QUOTE = 80  # characters of an expression


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


class OverLimit(Exception):
    """Queries cannot run, as there are too many others; said as it is."""


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


def _check_limits(query: SavedQuery) -> None:
    try:
        check_limits(query.source, query.spec(), query.owner)
    except InvalidQuery as problem:
        raise OverLimit(f"“{query.name}” stays paused: {problem.sentence}") from problem


@transaction.atomic
def resume_queries(queries: Sequence[SavedQuery], person: User) -> list[PlanVersion]:
    """Raises OverLimit; then none is resumed."""
    paused = [query for query in queries if query.paused_at is not None]
    for query in paused:
        _check_limits(query)
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
