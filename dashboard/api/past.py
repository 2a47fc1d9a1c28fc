"""The past over the API: kept results and how long they are kept, notes, and links that show a dashboard."""

from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from ninja import Query, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, check_may_share, visible_boards, visible_queries
from dashboard.api.board_shapes import MOST_NUMBER
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS, Refused, refuse_bad
from dashboard.api.shapes import Given, Text, TextLine
from dashboard.boards.models import Board
from dashboard.past.asked import BadRange, asked_range
from dashboard.past.forms import LinkForm, NoteForm, PolicyForm
from dashboard.past.known import kept
from dashboard.past.links import make_link, revoke
from dashboard.past.marks import NOT_THE_AUTHOR, may_remove
from dashboard.past.models import HistoryPolicy, Note, ShareLink
from dashboard.past.results import past_of
from dashboard.queries.models import SavedQuery

router = Router(tags=["Past"])


class RangeAsked(Schema):
    """Texts, so that what is wrong with them is said as the pages say it."""

    from_: str = Field("", alias="from", description="Milliseconds since 1970.")
    to: str = Field("", description="Milliseconds since 1970; results that end before it.")
    top: str = Field("", description="Of a query by groups, so many of the greatest, 1 to 50.")
    groups: str = Field("", description='These groups instead, as JSON: [["d1"], ["d2"]].')
    windows: str = Field("", description='As JSON: ["1m every 10s"]; none: the first of a query by groups.')


class PastShown(Schema):
    query: str
    from_: int = Field(alias="from")
    to: int
    series: list[dict[str, Any]] = Field(
        description="Each has a window, a group, `ends` (the first, then what is added to the one before) "
        "and `values`; `step` is how far apart they are."
    )
    groups: int = Field(description="How many groups there are in the range.")
    first: int | None = Field(description="The oldest result that is kept.")
    last: int | None
    written_at: int | None = Field(description="When results were last written down.")


class PolicySent(Given):
    detail_days: int = Field(description="For so long every result is kept.")
    kept_days: int = Field(description="For so long in all, thinned.")


class PolicyShown(Schema):
    detail_days: int
    kept_days: int
    first: datetime | None = Field(description="The oldest result that is kept.")
    size: int = Field(description="Bytes that its results take.")


class NoteSent(Given):
    time: int = Field(description="Milliseconds since 1970.")
    text: TextLine = ""


class NoteShown(Schema):
    id: int
    time: int
    text: str
    author: str | None
    created_at: datetime

    @classmethod
    def of(cls, note: Note) -> "NoteShown":
        author = note.author.username if note.author else None
        return cls(id=note.pk, time=note.time, text=note.text, author=author, created_at=note.created_at)


class LinkSent(Given):
    label: TextLine = Field("", description="For what or whom.")
    days: Text = Field("7", description="How long it holds: 1, 7, 30 or 365.")


class LinkShown(Schema):
    id: int
    label: str
    made_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None
    is_open: bool
    address: str | None = Field(None, description="Given once, when it is made.")

    @classmethod
    def of(cls, link: ShareLink, address: str | None = None) -> "LinkShown":
        return cls(
            id=link.pk,
            label=link.label,
            made_by=link.made_by.username,
            created_at=link.created_at,
            expires_at=link.expires_at,
            revoked_at=link.revoked_at,
            last_used_at=link.last_used_at,
            is_open=link.is_open,
            address=address,
        )


@router.get(
    "/queries/{slug:key}/history",
    response={200: PastShown, **REFUSALS},
    by_alias=True,
    summary="Its kept results",
)
def show_history(request: HttpRequest, key: str, asked: Annotated[RangeAsked, Query()]) -> Any:
    """Of a range of time, as charts draw it: a long range is thinned."""
    query = _query(request, key)
    try:
        return past_of(query, asked_range(request))
    except BadRange as problem:
        raise Refused({"range": str(problem)}) from problem


@router.get(
    "/queries/{slug:key}/history/policy",
    response={200: PolicyShown, **REFUSALS},
    summary="How long its results are kept",
)
def show_policy(request: HttpRequest, key: str) -> Any:
    return PolicyShown(**kept(_query(request, key)))


@router.put(
    "/queries/{slug:key}/history/policy",
    response={200: PolicyShown, **REFUSALS},
    summary="Say how long its results are kept",
)
def set_policy(request: HttpRequest, key: str, sent: PolicySent) -> Any:
    query = _query(request, key)
    check_may_change(signed_in(request), query)
    policy = HistoryPolicy.objects.filter(query=query).first() or HistoryPolicy(query=query)
    form = PolicyForm(sent.model_dump(), instance=policy)
    refuse_bad(form)
    form.save()
    return PolicyShown(**kept(_query(request, key)))


@router.get("/dashboards/{slug:key}/notes", response={200: Page[NoteShown], **REFUSALS}, summary="List notes")
def list_notes(request: HttpRequest, key: str, asked: PageAsked) -> Any:
    """In order of the time that they are about."""
    return page_of(_board(request, key).notes.select_related("author"), asked, NoteShown.of)


@router.post("/dashboards/{slug:key}/notes", response={201: NoteShown, **REFUSALS}, summary="Add a note")
def add_note(request: HttpRequest, key: str, sent: NoteSent) -> Any:
    board = _board(request, key)
    form = NoteForm(sent.model_dump())
    refuse_bad(form)
    note = Note.objects.create(board=board, author=signed_in(request), **form.cleaned_data)
    return 201, NoteShown.of(note)


@router.delete(
    "/dashboards/{slug:key}/notes/{int:number}", response={204: None, **REFUSALS}, summary="Remove a note"
)
def remove_note(request: HttpRequest, key: str, number: int) -> Any:
    """Who wrote it, and administrators."""
    board = _board(request, key)
    note = _numbered(board.notes.select_related("author"), number)
    if note is None:
        raise HttpError(404, f"There is no note {number} on “{board.name}”.")
    if not may_remove(signed_in(request), note):
        raise PermissionDenied(NOT_THE_AUTHOR)
    note.delete()
    return 204, None


@router.get("/dashboards/{slug:key}/links", response={200: Page[LinkShown], **REFUSALS}, summary="List links")
def list_links(request: HttpRequest, key: str, asked: PageAsked) -> Any:
    """That were made to show it without signing in; their addresses are not known any more."""
    return page_of(_board(request, key).share_links.select_related("made_by"), asked, LinkShown.of)


@router.post("/dashboards/{slug:key}/links", response={201: LinkShown, **REFUSALS}, summary="Make a link")
@sensitive_variables("token", "address")
def add_link(request: HttpRequest, key: str, sent: LinkSent) -> Any:
    """Whoever has its address sees the dashboard, as far as you do."""
    board = _shared_board(request, key)
    form = LinkForm(sent.model_dump())
    refuse_bad(form)
    made, token = make_link(board, signed_in(request), form.cleaned_data["label"], form.expires_at())
    address = request.build_absolute_uri(reverse("shared", args=[token]))
    return 201, LinkShown.of(made, address)


@router.delete(
    "/dashboards/{slug:key}/links/{int:number}", response={204: None, **REFUSALS}, summary="Revoke a link"
)
def revoke_link(request: HttpRequest, key: str, number: int) -> Any:
    """Whoever has it sees nothing more, from now on."""
    board = _shared_board(request, key)
    link = _numbered(board.share_links.all(), number)
    if link is None:
        raise HttpError(404, f"There is no link {number} to “{board.name}”.")
    revoke(link)
    return 204, None


def _query(request: HttpRequest, key: str) -> SavedQuery:
    seen = visible_queries(signed_in(request)).select_related("source", "owner", "history_policy")
    query = seen.filter(key=key).first()
    if query is None:
        raise HttpError(404, f"There is no query “{key}”.")
    return query


def _board(request: HttpRequest, key: str) -> Board:
    board = visible_boards(signed_in(request)).select_related("owner").filter(slug=key).first()
    if board is None:
        raise HttpError(404, f"There is no dashboard “{key}”.")
    return board


def _shared_board(request: HttpRequest, key: str) -> Board:
    """One of which who asks says who may see it."""
    board = _board(request, key)
    check_may_share(signed_in(request), board)
    return board


def _numbered(rows: QuerySet[Any], number: int) -> Any:
    return rows.filter(pk=number).first() if number <= MOST_NUMBER else None
