"""What people do to queries; each change makes a new plan of the source, in one transaction with it."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.planning.models import PlanVersion
from dashboard.planning.service import replan
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source
from optimizer.queries import QuerySpec

UNDO_KEPT = timedelta(days=1)  # the page offers Undo for seconds; the row stays a little longer


@transaction.atomic
def add_query(source: Source, spec: QuerySpec, person: User) -> tuple[SavedQuery, PlanVersion]:
    query = SavedQuery(source=source, owner=person)
    query.take(spec)
    query.save()
    return query, replan(source, f"{first_name(person)} added “{query.name}”")


@transaction.atomic
def change_query(query: SavedQuery, spec: QuerySpec, person: User) -> PlanVersion:
    query.take(spec)
    query.save()
    return replan(query.source, f"{first_name(person)} changed “{query.name}”")


@transaction.atomic
def delete_query(query: SavedQuery, person: User) -> PlanVersion:
    """Take a query out of the plan; its row is kept for Undo and goes for good a day later."""
    now = timezone.now()
    SavedQuery.with_deleted.filter(deleted_at__lt=now - UNDO_KEPT).delete()
    query.deleted_at = now
    query.save(update_fields=["deleted_at"])
    return replan(query.source, f"{first_name(person)} deleted “{query.name}”")


@transaction.atomic
def restore_query(query: SavedQuery, person: User) -> PlanVersion:
    query.deleted_at = None
    query.save(update_fields=["deleted_at"])
    return replan(query.source, f"{first_name(person)} brought back “{query.name}”")
