"""The one place that decides who may see and change which source, query, dashboard and connection.

Results belong to their source: who may see a source sees its queries and their alerts, wherever they are
shown. A dashboard has rights of its own; on it, a panel of a query that its viewer may not see says so and
nothing more. Pages, API and sockets ask here; `gate` asks for every address that names a thing.
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet

from dashboard.accounts.levels import CHANGE, NOTHING
from dashboard.accounts.people import check_may_edit, first_name, is_administrator, may_edit
from dashboard.models import Alert, Board, Connection, Grant, SavedQuery, Source

Thing = Source | Board | SavedQuery | Connection | Alert
Shared = Source | Board


@dataclass(frozen=True)
class _Word:
    noun: str
    owner_field: str
    did: str  # what its owner did, in the sentence that refuses a change


WORDS: dict[type[Any], _Word] = {
    Source: _Word("source", "created_by", "added"),
    Connection: _Word("connection", "created_by", "added"),
    SavedQuery: _Word("query", "owner", "owns"),
    Board: _Word("dashboard", "owner", "owns"),
    Alert: _Word("alert", "owner", "owns"),
}


class MayNotSee(PermissionDenied):
    """Somebody asked for a thing that is hidden from them."""

    def __init__(self, thing: Thing) -> None:
        bold, rest = unseen_words(thing)
        super().__init__(f"{bold} {rest}")
        self.thing = thing


def noun(thing: Thing) -> str:
    return WORDS[type(thing)].noun


def owner_of(thing: Thing) -> User | None:
    owner: User | None = getattr(thing, WORDS[type(thing)].owner_field)
    return owner


def decided_on(thing: Source | SavedQuery | Board | Alert) -> Shared:
    """The thing whose rights decide who may see this one."""
    if isinstance(thing, Alert):
        return thing.query.source
    return thing.source if isinstance(thing, SavedQuery) else thing


def unseen_words(thing: Thing) -> tuple[str, str]:
    """What who may not see a thing is told of it: not even its name."""
    bold = f"You may not see this {noun(thing)}."
    if isinstance(thing, Connection):
        return bold, "Connections are shown to editors."
    decider = decided_on(thing)
    owner = owner_of(decider)
    if owner is None or not owner.is_active:
        return bold, "An administrator can give you access."
    is_own = decider is thing or owner == owner_of(thing)
    return bold, f"{first_name(owner)} owns {'it' if is_own else 'its source'} and can give you access."


def visible_sources(person: User, *, with_deleted: bool = False) -> QuerySet[Source]:
    every = (Source.with_deleted if with_deleted else Source.objects).all()
    return every if is_administrator(person) else every.filter(_seen(person, Source))


def visible_boards(person: User) -> QuerySet[Board]:
    return Board.objects.filter(_seen(person, Board)) if not is_administrator(person) else Board.objects.all()


def visible_queries(person: User) -> QuerySet[SavedQuery]:
    if is_administrator(person):
        return SavedQuery.objects.all()
    return SavedQuery.objects.filter(source__in=visible_sources(person))


def visible_alerts(person: User) -> QuerySet[Alert]:
    """Who sees a query sees its alerts."""
    if is_administrator(person):
        return Alert.objects.all()
    return Alert.objects.filter(query__in=visible_queries(person))


def _seen(person: User, model: type[Shared]) -> Q:
    seen = ~Q(for_all=NOTHING) | Q(**{WORDS[model].owner_field: person}) | Q(pk__in=_granted(person, model))
    if model is Source:  # Millrace's own topics hold what belongs to everybody's sources
        return seen & ~Q(topic__startswith=f"{settings.TOPIC_PREFIX}.")
    return seen


def _granted(person: User, model: type[Shared], **more: Any) -> Any:
    """The keys of what was given to this person, or to a group that they are in."""
    field = "source" if model is Source else "board"
    grants = Grant.objects.filter(Q(person=person) | Q(group__user=person), **more)
    return grants.filter(**{f"{field}__isnull": False}).values_list(field, flat=True)


def may_see(person: User, thing: Thing) -> bool:
    if isinstance(thing, Connection):
        return may_edit(person)
    if is_administrator(person):
        return True
    decider = decided_on(thing)
    every = type(decider).with_deleted  # what is in the bin is still somebody's, who may restore it
    return every.filter(_seen(person, type(decider)), pk=decider.pk).exists()


def may_change(person: User, thing: Thing) -> bool:
    """Administrators everything; editors what is theirs, and what its owner lets them or everyone change."""
    if is_administrator(person):
        return True
    if not may_edit(person) or not may_see(person, thing):
        return False
    if owner_of(thing) == person:
        return True
    if not isinstance(thing, Shared):
        return False
    return thing.for_all == CHANGE or thing.pk in set(_granted(person, type(thing), may_change=True))


def may_share(person: User, thing: Shared) -> bool:
    """Whether this person says who may see it: its owner and administrators."""
    return is_administrator(person) or (may_edit(person) and owner_of(thing) == person)


def check_may_see(person: User, thing: Thing) -> None:
    if not may_see(person, thing):
        raise MayNotSee(thing)


def check_may_change(person: User, thing: Thing) -> None:
    if may_change(person, thing):
        return
    check_may_see(person, thing)
    check_may_edit(person)
    raise PermissionDenied(
        f"You may not change this {noun(thing)}. {first_name(owner_of(thing))} {WORDS[type(thing)].did} it."
    )


def check_may_share(person: User, thing: Shared) -> None:
    if not may_share(person, thing):
        check_may_see(person, thing)
        raise PermissionDenied(
            f"You may not say who sees this {noun(thing)}. {first_name(owner_of(thing))} owns it."
        )
