"""Sources over the API, and their plans."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, visible_sources
from dashboard.api import binned
from dashboard.api.forms import checked_settings, checked_source
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS, Refused
from dashboard.api.shapes import SourceChange, SourceGiven, SourceShown
from dashboard.planning import service as planning
from dashboard.sources.actions import change_source, read_again
from dashboard.sources.models import Source

router = Router(tags=["Sources"])


class PlanShown(Schema):
    """The newest plan of a source."""

    version: int
    cause: str
    created_at: datetime
    published_at: datetime | None
    estimated_throughput: float | None
    plan: dict[str, Any]


@router.get("", response={200: Page[SourceShown], **REFUSALS}, summary="List sources")
def list_sources(request: HttpRequest, asked: PageAsked) -> Any:
    sources = visible_sources(signed_in(request)).select_related("connection", "created_by")
    return page_of(sources, asked, SourceShown.of)


@router.post("", response={201: SourceShown, **REFUSALS}, summary="Add a source")
def add_source(request: HttpRequest, sent: SourceGiven) -> Any:
    """Kafka is not asked: fields and event time are taken as they are sent."""
    person = signed_in(request)
    return 201, SourceShown.of(checked_source(sent, person).save(person))


@router.get("/{slug:key}", response={200: SourceShown, **REFUSALS}, summary="Look at a source")
def show_source(request: HttpRequest, key: str) -> Any:
    return SourceShown.of(found_source(key))


@router.patch("/{slug:key}", response={200: SourceShown, **REFUSALS}, summary="Change a source")
def patch_source(request: HttpRequest, key: str, sent: SourceChange) -> Any:
    """What is not sent stays. Where the topic is read otherwise, the job gets a new plan."""
    person = signed_in(request)
    change_source(checked_settings(_own(request, key), sent, person), person)
    return SourceShown.of(found_source(key))


@router.post("/{slug:key}/read-again", response={200: SourceShown, **REFUSALS}, summary="Read a topic again")
def reread_source(request: HttpRequest, key: str) -> Any:
    """From as far back as Kafka keeps it, at most 2,000,000 messages: what was refused and can be read now is
    counted then. Its queries pause for that long."""
    source = _own(request, key)
    plan = read_again(source, signed_in(request))
    if isinstance(plan, str):
        raise Refused({"queries": plan})
    return SourceShown.of(source)


@router.delete("/{slug:key}", response={200: binned.Deleted, **REFUSALS}, summary="Delete a source")
def remove_source(request: HttpRequest, key: str) -> Any:
    """It goes to the bin with its queries, their panels and alerts. The topic in Kafka is not touched."""
    return binned.delete(request, found_source(key))


@router.get("/{slug:key}/plan", response={200: PlanShown, **REFUSALS}, summary="Look at its plan")
def show_plan(request: HttpRequest, key: str) -> Any:
    version = planning.newest(found_source(key))
    if version is None:
        raise HttpError(404, f"There is no plan of “{key}” yet: it has no queries.")
    return version


def found_source(key: str) -> Source:
    source = Source.objects.select_related("connection", "created_by").filter(key=key).first()
    if source is None:
        raise HttpError(404, f"There is no source “{key}”.")
    return source


def _own(request: HttpRequest, key: str) -> Source:
    source = found_source(key)
    check_may_change(signed_in(request), source)
    return source
