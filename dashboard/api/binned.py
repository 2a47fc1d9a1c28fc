"""The bin over the API: what deleting answers, what is in the bin, and the ways out of it."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import signed_in
from dashboard.api.pages import Page, PageAsked
from dashboard.api.refusals import REFUSALS, Refused
from dashboard.bin import actions
from dashboard.bin.access import check_may_delete
from dashboard.bin.contents import Part, parts_of
from dashboard.bin.kinds import KINDS, kind_of, usable_keys
from dashboard.bin.listing import Row, in_bin, row_of
from dashboard.bin.models import Binned
from dashboard.planning.models import PlanVersion
from dashboard.planning.news import note_if_unheard
from dashboard.planning.wire import WireDown

router = Router(tags=["Bin"])


class Along(Schema):
    """Things of one kind that go along."""

    title: str = Field(description="Such as: 2 panels on “Plant floor”.")
    names: list[str]

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> "list[Along]":
        return [cls(title=part.title, names=list(part.names)) for part in parts]


class Deleted(Schema):
    """What is in the bin, and can be restored until it is deleted for good."""

    kind: str = Field(description="connection, source, query, dashboard, panel or alert.")
    key: str
    name: str
    deleted_at: datetime
    deleted_by: str
    for_good_at: datetime
    along: list[Along] = Field(description="What was deleted with it and comes back with it.")

    @classmethod
    def of(cls, row: Row) -> "Deleted":
        return cls(
            kind=row.kind,
            key=row.key,
            name=row.name,
            deleted_at=row.deleted_at,
            deleted_by=row.deleted_by,
            for_good_at=row.goes_at,
            along=Along.of(row.parts.going),
        )


class Restored(Schema):
    kind: str
    key: str
    name: str
    note: str | None = None


def delete(request: HttpRequest, thing: Any) -> Deleted:
    """Put a thing into the bin and say what went along. Whether it may be is asked here."""
    person = signed_in(request)
    check_may_delete(person, thing)
    parts = parts_of([thing], person)
    actions.delete([thing], person)
    return Deleted.of(row_of(thing, person, parts))


def restore(thing: Any, request: HttpRequest) -> list[PlanVersion]:
    """Take a thing out of the bin. Whether it may be is asked here."""
    check_may_delete(signed_in(request), thing)
    try:
        return actions.restore([thing], signed_in(request))
    except actions.NotRestored as problem:
        raise Refused({kind_of(thing): str(problem)}) from problem


@router.get("", response={200: Page[Deleted], **REFUSALS}, summary="List what is in the bin")
def list_bin(request: HttpRequest, asked: PageAsked) -> Any:
    """What you may restore, newest first; administrators see all of it."""
    person = signed_in(request)
    things = in_bin(person)
    part = things[asked.offset : asked.offset + asked.limit]
    return {"items": [Deleted.of(row_of(thing, person)) for thing in part], "count": len(things)}


@router.post("/{slug:kind}/{slug:key}/restore", response={200: Restored, **REFUSALS}, summary="Restore")
def restore_from_bin(request: HttpRequest, kind: str, key: str) -> Any:
    """With all that went along."""
    thing = _found(kind, key)
    plans = restore(thing, request)
    return Restored(kind=kind, key=key, name=str(thing), note=note_if_unheard(plans))


@router.delete("/{slug:kind}/{slug:key}", response={204: None, **REFUSALS}, summary="Delete for good")
def delete_for_good(request: HttpRequest, kind: str, key: str) -> Any:
    """This cannot be undone."""
    thing = _found(kind, key)
    check_may_delete(signed_in(request), thing)
    try:
        actions.delete_for_good(thing)
    except WireDown as problem:
        raise Refused({"key": f"Not deleted, because the job cannot be told: {problem}"}) from problem
    return 204, None


def _found(kind: str, key: str) -> Binned:
    known = KINDS.get(kind)
    things = known.found(usable_keys(known, [key])) if known else []
    if not things or things[0].deleted_at is None:
        raise HttpError(404, f"There is no {kind} “{key}” in the bin.")
    thing: Binned = things[0]
    return thing
