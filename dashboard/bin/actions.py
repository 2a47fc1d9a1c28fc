"""To the bin, back from it, and out of it for good. Plans follow: what is in the bin is in none."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.alerts.models import Alert
from dashboard.bin.contents import parts_of
from dashboard.bin.kinds import KINDS, kind_of, named, owner_in_bin
from dashboard.bin.models import Binned
from dashboard.boards.leaning import lean_anew
from dashboard.connections.models import Connection
from dashboard.planning import service as planning
from dashboard.planning.models import PlanVersion
from dashboard.planning.wire import WireDown
from dashboard.queries.limits import check_limits
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source
from optimizer.queries import InvalidQuery
from streaming.spec import check_fields

logger = logging.getLogger(__name__)


class NotRestored(Exception):
    """Why something cannot come back yet; said as it is."""


def kept_for() -> timedelta:
    return timedelta(days=settings.BIN_DAYS)


@transaction.atomic
def delete(things: Sequence[Binned], person: User | None) -> list[PlanVersion]:
    """Put things of one kind into the bin; the new plans of the sources that this concerns."""
    now = timezone.now()
    for thing in things:
        thing.along = parts_of([thing]).words
        thing.deleted_at, thing.deleted_by = now, person
        thing.save(update_fields=["deleted_at", "deleted_by"])
    return _follow(things, person, "deleted")


@transaction.atomic
def restore(things: Sequence[Binned], person: User | None) -> list[PlanVersion]:
    """Take things of one kind out of the bin. Raises NotRestored; then none is restored."""
    for thing in things:
        _check_can_return(thing)
        _take_free_name(thing)
        thing.deleted_at = thing.deleted_by = None
        thing.save()
    _alerts_of(things).update(changed_at=timezone.now())  # what happened meanwhile does not count
    return _follow(things, person, "restored")


def _check_can_return(thing: Binned) -> None:
    owner = owner_in_bin(thing)
    if owner is not None:
        noun = KINDS[kind_of(owner)].noun
        raise NotRestored(
            f"“{thing}” belongs to the {noun} “{owner}”, which is in the bin: restore it first."
        )
    if isinstance(thing, SavedQuery):
        try:
            check_fields(thing.spec(), thing.source.types)
        except InvalidQuery as problem:
            fields = f"the fields of “{thing.source.name}”"
            raise NotRestored(
                f"“{thing.name}” does not fit {fields} any more: {problem.sentence}"
            ) from problem
        _check_limits(thing)


def _check_limits(query: SavedQuery) -> None:
    if query.paused_at is not None:
        return
    try:
        check_limits(query.source, query.spec(), query.owner)
    except InvalidQuery as problem:
        raise NotRestored(f"“{query.name}” stays in the bin: {problem.sentence}") from problem


def _take_free_name(thing: Binned) -> None:
    """Sources and connections have names of their own: another may have taken it meanwhile."""
    if not isinstance(thing, Source | Connection):
        return
    others = type(thing).with_deleted.filter(deleted_at=None)
    name, number = thing.name, 2
    while others.filter(name__iexact=thing.name).exists():
        thing.name = f"{name[:70]} ({number})"
        number += 1


def _follow(things: Sequence[Binned], person: User | None, done: str) -> list[PlanVersion]:
    """Panels lean on queries that are there, and every source that this concerns has a plan of what is."""
    lean_anew()
    cause = f"{first_name(person)} {done} {named(list(things))}"
    return [
        planning.replan(source, cause)
        for source in _sources_of(things)
        if isinstance(things[0], SavedQuery) or planning.newest(source) is not None
    ]


def _sources_of(things: Sequence[Any]) -> list[Source]:
    """The sources whose queries come or go with these things; of one that is not read, none."""
    kind = kind_of(things[0])
    if kind == "query":
        return list(dict.fromkeys(query.source for query in things))
    if kind == "connection":
        return list(Source.with_deleted.filter(connection__in=things, deleted_at=None))
    return list(things) if kind == "source" else []


_ALERTS = {
    "alert": "pk",
    "query": "query",
    "source": "query__source",
    "connection": "query__source__connection",
}


def _alerts_of(things: Sequence[Any]) -> QuerySet[Alert]:
    """The alerts that come and go with these things, or that they are."""
    path = _ALERTS.get(kind_of(things[0]))
    keys = [one.pk for one in things]
    return Alert.objects.filter(**{f"{path}__in": keys}) if path else Alert.objects.none()


def delete_for_good(thing: Binned) -> None:
    """Raises WireDown where the job cannot be told that a source is gone; then it stays in the bin."""
    with transaction.atomic():
        for source in _sources_within(thing):
            planning.retire(source)
            source.delete()
        if not isinstance(thing, Source):
            thing.delete()


def _sources_within(thing: Binned) -> list[Source]:
    if isinstance(thing, Connection):
        return list(Source.with_deleted.filter(connection=thing))
    return [thing] if isinstance(thing, Source) else []


def empty(now: datetime) -> int:
    """Delete for good what has been in the bin for as long as it is kept; how many things that were."""
    gone = 0
    for kind in reversed(KINDS.values()):  # a connection goes after its sources
        for thing in kind.model.with_deleted.filter(deleted_at__lt=now - kept_for()):
            try:
                delete_for_good(thing)
                gone += 1
            except WireDown as problem:
                logger.warning("The %s “%s” stays in the bin: %s", kind.noun, thing, problem)
    return gone
