"""What is in the bin, as one list over all kinds."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from dashboard.accounts.people import first_name, is_administrator, may_edit
from dashboard.bin.access import may_restore
from dashboard.bin.actions import kept_for
from dashboard.bin.contents import Parts, parts_of
from dashboard.bin.kinds import KINDS, key_of, kind_of, owner_in_bin
from dashboard.boards.models import Panel


@dataclass(frozen=True)
class Row:
    kind: str
    noun: str
    key: str
    name: str
    place: str  # where it was, of what is a part of something
    deleted_at: datetime
    deleted_by: str
    goes_at: datetime
    parts: Parts
    waits_for: str  # what has to be restored first


def in_bin(person: User) -> list[Any]:
    """What this person may restore, newest first; all of it for administrators."""
    if not may_edit(person):
        return []
    things = [thing for kind in KINDS.values() for thing in kind.rows().exclude(deleted_at=None)]
    if not is_administrator(person):
        things = [thing for thing in things if may_restore(person, thing)]
    return sorted(things, key=lambda one: one.deleted_at, reverse=True)


def row_of(thing: Any, person: User, parts: Parts | None = None) -> Row:
    """How a thing in the bin is listed; with `parts` where they are known."""
    owner = owner_in_bin(thing)
    return Row(
        kind=kind_of(thing),
        noun=KINDS[kind_of(thing)].noun,
        key=key_of(thing),
        name=str(thing),
        place=f"on “{thing.board}”" if isinstance(thing, Panel) else "",
        deleted_at=thing.deleted_at,
        deleted_by=first_name(thing.deleted_by),
        goes_at=thing.deleted_at + kept_for(),
        parts=parts if parts is not None else parts_of([thing], person),
        waits_for=f"the {KINDS[kind_of(owner)].noun} “{owner}”" if owner is not None else "",
    )
