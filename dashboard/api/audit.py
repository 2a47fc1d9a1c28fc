"""The audit log over the API, for administrators: `gate` lets nobody else through."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from dashboard.api.pages import Page, Part, page_of
from dashboard.api.refusals import REFUSALS, refuse_bad
from dashboard.api.shapes import Text
from dashboard.audit.search import AuditSearch
from dashboard.models import AuditEntry

router = Router(tags=["Audit log"])


class Wanted(Part):
    q: Text = Field("", description="Words that all occur in an entry.")
    person: Text = Field("", description="The number of a person.")
    kind: Text = Field("", description="Such as source, query or access.")
    since: Text = Field("", description="A day, such as 2026-11-17.")
    until: Text = ""


class ChangeShown(Schema):
    what: str
    before: str | None
    after: str | None


class EntryShown(Schema):
    id: int
    at: datetime
    person: int | None
    person_name: str
    via: str
    action: str
    kind: str
    thing: str
    thing_key: str
    changes: list[ChangeShown]

    @classmethod
    def of(cls, entry: AuditEntry) -> "EntryShown":
        return cls(
            id=entry.pk,
            at=entry.at,
            person=entry.person,
            person_name=entry.person_name,
            via=entry.via,
            action=entry.action,
            kind=entry.kind,
            thing=entry.thing,
            thing_key=entry.thing_key,
            changes=[ChangeShown(what=what, before=old, after=new) for what, old, new in entry.changes],
        )


@router.get("", response={200: Page[EntryShown], **REFUSALS}, summary="Who changed what")
def list_entries(request: HttpRequest, asked: Annotated[Wanted, Query()]) -> Any:
    """Newest first. Entries are never changed or deleted."""
    search = AuditSearch(asked.model_dump(exclude={"limit", "offset"}))
    refuse_bad(search)
    return page_of(search.found(), asked, EntryShown.of)
