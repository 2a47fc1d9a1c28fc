"""Queries over the API: define, change, pause, delete, restore, and what one would cost."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, visible_queries, visible_sources
from dashboard.api import binned
from dashboard.api.forms import checked_query, written_by, written_query
from dashboard.api.pages import FARTHEST, Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS, Refused
from dashboard.api.shapes import QueryChange, QuerySent, QueryShown, Text
from dashboard.namesakes import namesake_words
from dashboard.planning import service as planning
from dashboard.planning.models import PlanVersion
from dashboard.planning.news import note_if_unheard
from dashboard.queries import actions
from dashboard.queries.cost_words import cost_cells
from dashboard.queries.limits import limited
from dashboard.queries.models import SavedQuery, tidy_tags
from dashboard.queries.versions import FitsNoMore, Shown, go_back, history
from dashboard.queries.windows_text import skipping
from dashboard.queries.written import Written

router = Router(tags=["Queries"])
Act = Callable[[Sequence[SavedQuery], User], list[PlanVersion]]


class CostCell(Schema):
    label: str
    value: str
    note: str


class Joined(Schema):
    tree: str
    is_new: bool
    shares_with: int = Field(description="Windows of other queries in the tree.")


class Cost(Schema):
    """What saving a query would do to the plan; nothing is saved."""

    joins: list[Joined]
    load_before: float = Field(description="Of all sources: share of the cores' time, 0 to 1.")
    load_after: float
    saving: float = Field(description="How much cheaper than running alone, 0 to 1.")
    first_result_seconds: float
    words: list[CostCell] = Field(description="The same as the builder says it.")


class QueryVersionShown(Schema):
    """What a query said from then on."""

    number: int
    made_at: datetime
    by: str | None
    changes: list[list[str]] = Field(description="What, before, after.")
    definition: dict[str, Any]

    @classmethod
    def of(cls, shown: Shown) -> "QueryVersionShown":
        version = shown.version
        return cls(
            number=version.number,
            made_at=version.made_at,
            by=version.person.username if version.person else None,
            changes=[list(change) for change in shown.changes],
            definition=version.definition,
        )


@router.get("", response={200: Page[QueryShown], **REFUSALS}, summary="List queries")
def list_queries(request: HttpRequest, asked: PageAsked, source: Text = "") -> Any:
    """All of them, or those of one source (its key)."""
    queries = visible_queries(signed_in(request)).select_related("source", "owner")
    return page_of(queries.filter(source__key=source) if source else queries, asked, QueryShown.of)


@router.post("", response={201: QueryShown, **REFUSALS}, summary="Add a query and start it")
def add_query(request: HttpRequest, sent: QuerySent) -> Any:
    person = signed_in(request)
    source, spec = checked_query(limited(written_by(person, sent, sent.source), person))
    query, plan = actions.add_query(source, spec, signed_in(request), sent.tags)
    return 201, QueryShown.of(query, _notes(request, query, plan))


@router.post("/preview", response={200: Cost, **REFUSALS}, summary="What a query would cost")
def preview_new(request: HttpRequest, sent: QuerySent) -> Any:
    person = signed_in(request)
    return _cost(limited(written_by(person, sent, sent.source), person))


@router.get("/{slug:key}", response={200: QueryShown, **REFUSALS}, summary="Look at a query")
def show_query(request: HttpRequest, key: str) -> Any:
    return QueryShown.of(_found(key))


@router.patch("/{slug:key}", response={200: QueryShown, **REFUSALS}, summary="Change a query")
def patch_query(request: HttpRequest, key: str, sent: QueryChange) -> Any:
    """What is not sent stays. Other queries are not affected."""
    query = _own(request, key)
    if sent.model_fields_set == {"tags"}:
        query.tags = tidy_tags(sent.tags)
        query.save(update_fields=["tags"])
        return QueryShown.of(query)
    _, spec = checked_query(_rewritten(request, sent, query))
    if "tags" in sent.model_fields_set:
        query.tags = tidy_tags(sent.tags)
    plan = actions.change_query(query, spec, signed_in(request))
    return QueryShown.of(query, _notes(request, query, plan))


@router.post("/{slug:key}/preview", response={200: Cost, **REFUSALS}, summary="What a change would cost")
def preview_change(request: HttpRequest, key: str, sent: QueryChange) -> Any:
    query = _found(key)
    return _cost(_rewritten(request, sent, query), editing=query)


@router.delete("/{slug:key}", response={200: binned.Deleted, **REFUSALS}, summary="Delete a query")
def remove_query(request: HttpRequest, key: str) -> Any:
    """It goes to the bin with its panels and alerts."""
    return binned.delete(request, _found(key))


@router.post("/{slug:key}/restore", response={200: QueryShown, **REFUSALS}, summary="Restore a query")
def restore_query(request: HttpRequest, key: str) -> Any:
    query = _found(key, deleted=True)
    return QueryShown.of(query, note_if_unheard(binned.restore(query, request)))


@router.get(
    "/{slug:key}/versions", response={200: list[QueryVersionShown], **REFUSALS}, summary="List its versions"
)
def list_versions(request: HttpRequest, key: str) -> Any:
    """The newest first: who changed what, and when."""
    return [QueryVersionShown.of(shown) for shown in history(_found(key))]


@router.post(
    "/{slug:key}/versions/{int:number}/restore", response={200: QueryShown, **REFUSALS}, summary="Go back"
)
def restore_version(request: HttpRequest, key: str, number: int) -> Any:
    """Make a query what it was in an earlier version; that is its newest version then."""
    query = _own(request, key)
    version = query.versions.filter(number=number).first() if number <= FARTHEST else None
    if version is None:
        raise HttpError(404, f"“{query.name}” has no version {number}.")
    try:
        plan = go_back(query, version, signed_in(request))
    except FitsNoMore as problem:
        raise Refused({"number": str(problem)}) from problem
    return QueryShown.of(query, note_if_unheard([plan]))


@router.post("/{slug:key}/pause", response={200: QueryShown, **REFUSALS}, summary="Pause a query")
def pause_query(request: HttpRequest, key: str) -> Any:
    """Results so far are kept."""
    return _done(request, _own(request, key), actions.pause_queries)


@router.post("/{slug:key}/resume", response={200: QueryShown, **REFUSALS}, summary="Resume a query")
def resume_query(request: HttpRequest, key: str) -> Any:
    try:
        return _done(request, _own(request, key), actions.resume_queries)
    except actions.OverLimit as problem:
        raise Refused({"query": str(problem)}) from problem


def _done(request: HttpRequest, query: SavedQuery, act: Act) -> QueryShown:
    plans = act([query], signed_in(request))
    return QueryShown.of(query, note_if_unheard(plans))


def _notes(request: HttpRequest, query: SavedQuery, plan: PlanVersion) -> str | None:
    others = visible_queries(signed_in(request))
    notes = (note_if_unheard([plan]), namesake_words(others, query), *skipping(query.spec().windows))
    return " ".join(note for note in notes if note) or None


def _rewritten(request: HttpRequest, sent: QueryChange, query: SavedQuery) -> Written:
    person = signed_in(request)
    written = written_query(sent, query.source, editing=query, known=visible_sources(person))
    return limited(written, person, query)


def _cost(written: Written, editing: SavedQuery | None = None) -> Cost:
    nameless = () if written.draft.name else ("name",)  # it can be asked before it has one
    source, spec = checked_query(written, besides=nameless)
    preview = planning.preview(source, spec, replacing=editing)
    return Cost(
        joins=[
            Joined(tree=one.tree, is_new=one.is_new, shares_with=one.shares_with) for one in preview.joinings
        ],
        load_before=preview.load_before,
        load_after=preview.load_after,
        saving=preview.saving,
        first_result_seconds=preview.first_result_seconds,
        words=[CostCell(**asdict(cell)) for cell in cost_cells(preview, source.allowed_lateness)],
    )


def _found(key: str, *, deleted: bool = False) -> SavedQuery:
    manager = SavedQuery.with_deleted if deleted else SavedQuery.objects
    query = manager.select_related("source", "owner").filter(key=key).first()
    if query is None:
        raise HttpError(404, f"There is no query “{key}”.")
    return query


def _own(request: HttpRequest, key: str) -> SavedQuery:
    query = _found(key)
    check_may_change(signed_in(request), query)
    return query
