"""Dashboards over the API: make, fill, arrange, duplicate, delete, restore."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Router
from ninja.errors import HttpError

from dashboard.accounts.people import signed_in
from dashboard.accounts.rights import check_may_change, visible_boards, visible_queries
from dashboard.api import binned
from dashboard.api.board_forms import (
    checked_board,
    checked_layout,
    checked_new_board,
    checked_panel,
    checked_panels,
)
from dashboard.api.board_shapes import (
    MOST_NUMBER,
    BoardGiven,
    BoardListed,
    BoardSent,
    BoardShown,
    LayoutGiven,
    PanelGiven,
    PanelShown,
)
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS
from dashboard.bin.actions import delete
from dashboard.boards import actions
from dashboard.boards.models import Board, Panel
from dashboard.boards.sight import Sight, check_may_see_all_of, check_may_see_panel
from dashboard.boards.templates import of_one_query
from dashboard.queries.models import SavedQuery, tidy_tags

router = Router(tags=["Dashboards"])


@router.get("", response={200: Page[BoardListed], **REFUSALS}, summary="List dashboards")
def list_dashboards(request: HttpRequest, asked: PageAsked, tag: str = "") -> Any:
    """All of them, or those with a tag."""
    seen = visible_boards(signed_in(request)).select_related("owner")
    # Not by the database: SQLite has no look into lists.
    chosen = [board.pk for board in seen if tag in board.tags] if tag else None
    return page_of(seen if chosen is None else seen.filter(pk__in=chosen), asked, BoardListed.of)


@router.post("", response={201: BoardShown, **REFUSALS}, summary="Make a dashboard")
def add_dashboard(request: HttpRequest, sent: BoardSent) -> Any:
    """Panels without a place are put where there is room, after those of the template if one is named."""
    person = signed_in(request)
    form, panels = checked_new_board(sent, person), checked_panels(sent.panels, _queries(request))
    with transaction.atomic():
        board = actions.make_board(
            form.cleaned_data["name"], person, form.panels(_queries(request)), tidy_tags(sent.tags)
        )
        for panel in panels:
            actions.add_panel(board, panel)
    return 201, _shown(request, board)


@router.post(
    "/of-query/{slug:query}", response={201: BoardShown, **REFUSALS}, summary="Make a dashboard of a query"
)
def add_dashboard_of_query(request: HttpRequest, query: str) -> Any:
    """It shows the query from all sides."""
    found = _queries(request).filter(key=query).first()
    if found is None:
        raise HttpError(404, f"There is no query “{query}”.")
    return 201, _shown(request, actions.make_board(found.name, signed_in(request), of_one_query(found)))


@router.get("/{slug:key}", response={200: BoardShown, **REFUSALS}, summary="Look at a dashboard")
def show_dashboard(request: HttpRequest, key: str) -> Any:
    return _shown(request, _found(request, key))


@router.patch("/{slug:key}", response={200: BoardShown, **REFUSALS}, summary="Change a dashboard")
def patch_dashboard(request: HttpRequest, key: str, sent: BoardGiven) -> Any:
    """What is not sent stays; panels that are sent take the place of those that you see all of."""
    board, given = _own(request, key), sent.model_fields_set
    panels = checked_panels(sent.panels, _queries(request)) if "panels" in given else None
    with transaction.atomic():
        if "name" in given:
            checked_board(sent.name, board).save()
        if "tags" in given:
            board.tags = tidy_tags(sent.tags)
            board.save(update_fields=["tags"])
        if panels is not None:
            for old in _seen_whole(request, board):
                delete([old], signed_in(request))
            for panel in panels:
                actions.add_panel(board, panel)
    return _shown(request, board)


@router.put("/{slug:key}/layout", response={204: None, **REFUSALS}, summary="Arrange panels")
def arrange_panels(request: HttpRequest, key: str, sent: LayoutGiven) -> Any:
    """Panels that are not sent, or not on this dashboard, stay where they are."""
    actions.move_panels(_own(request, key), checked_layout(sent))
    return 204, None


@router.post("/{slug:key}/duplicate", response={201: BoardShown, **REFUSALS}, summary="Duplicate a dashboard")
def copy_dashboard(request: HttpRequest, key: str) -> Any:
    return 201, _shown(request, actions.duplicate_board(_found(request, key), signed_in(request)))


@router.delete("/{slug:key}", response={200: binned.Deleted, **REFUSALS}, summary="Delete a dashboard")
def remove_dashboard(request: HttpRequest, key: str) -> Any:
    """It goes to the bin with its panels, notes and share links."""
    return binned.delete(request, _found(request, key))


@router.post("/{slug:key}/restore", response={200: BoardShown, **REFUSALS}, summary="Restore a dashboard")
def restore_dashboard(request: HttpRequest, key: str) -> Any:
    board = Board.with_deleted.filter(slug=key).first()
    if board is None:
        raise HttpError(404, f"There is no dashboard “{key}”.")
    binned.restore(board, request)
    return _shown(request, board)


@router.put("/{slug:key}/star", response={204: None, **REFUSALS}, summary="Add to your favourites")
def star_dashboard(request: HttpRequest, key: str) -> Any:
    actions.star(_found(request, key), signed_in(request), True)
    return 204, None


@router.delete("/{slug:key}/star", response={204: None, **REFUSALS}, summary="Remove from your favourites")
def unstar_dashboard(request: HttpRequest, key: str) -> Any:
    actions.star(_found(request, key), signed_in(request), False)
    return 204, None


@router.put("/{slug:key}/first", response={204: None, **REFUSALS}, summary="Open it first")
def see_dashboard_first(request: HttpRequest, key: str) -> Any:
    """Signing in leads you to it."""
    actions.see_first(_found(request, key), signed_in(request), True)
    return 204, None


@router.delete("/{slug:key}/first", response={204: None, **REFUSALS}, summary="Do not open it first")
def see_dashboard_no_longer_first(request: HttpRequest, key: str) -> Any:
    actions.see_first(_found(request, key), signed_in(request), False)
    return 204, None


@router.post("/{slug:key}/panels", response={201: PanelShown, **REFUSALS}, summary="Add a panel")
def add_panel(request: HttpRequest, key: str, sent: PanelGiven) -> Any:
    board = _own(request, key)
    return 201, _shown_panel(request, actions.add_panel(board, checked_panel(sent, _queries(request))))


@router.patch(
    "/{slug:key}/panels/{int:panel}", response={200: PanelShown, **REFUSALS}, summary="Change a panel"
)
def patch_panel(request: HttpRequest, key: str, panel: int, sent: PanelGiven) -> Any:
    """What is not sent stays."""
    found = _panel(request, key, panel)
    check_may_see_all_of(signed_in(request), found)
    changed = checked_panel(sent, _queries(request), found)
    changed.save()
    return _shown_panel(request, changed)


@router.delete(
    "/{slug:key}/panels/{int:panel}", response={200: binned.Deleted, **REFUSALS}, summary="Remove a panel"
)
def remove_panel(request: HttpRequest, key: str, panel: int) -> Any:
    """It goes to the bin."""
    return binned.delete(request, _panel(request, key, panel))


@router.post(
    "/{slug:key}/panels/{int:panel}/restore",
    response={200: PanelShown, **REFUSALS},
    summary="Restore a panel",
)
def restore_panel(request: HttpRequest, key: str, panel: int) -> Any:
    found = _panel(request, key, panel, deleted=True)
    binned.restore(found, request)
    return _shown_panel(request, found)


def _queries(request: HttpRequest) -> QuerySet[SavedQuery]:
    """Those that who asks may show."""
    return visible_queries(signed_in(request))


def _found(request: HttpRequest, key: str) -> Board:
    board = visible_boards(signed_in(request)).select_related("owner").filter(slug=key).first()
    if board is None:
        raise HttpError(404, f"There is no dashboard “{key}”.")
    return board


def _own(request: HttpRequest, key: str) -> Board:
    board = _found(request, key)
    check_may_change(signed_in(request), board)
    return board


def _panel(request: HttpRequest, key: str, number: int, *, deleted: bool = False) -> Panel:
    board = _own(request, key)
    manager = Panel.with_deleted if deleted else Panel.objects
    panel = manager.filter(board=board, pk=number).first() if number <= MOST_NUMBER else None
    if panel is None:
        raise HttpError(404, f"There is no panel {number} on “{board.name}”.")
    check_may_see_panel(signed_in(request), panel)
    return panel


def _seen_whole(request: HttpRequest, board: Board) -> list[Panel]:
    panels = list(board.panels.select_related("query"))
    sight = Sight.of(signed_in(request), panels)
    return [panel for panel in panels if sight.is_whole(panel)]


def _shown(request: HttpRequest, board: Board) -> BoardShown:
    return BoardShown.seen_by(signed_in(request), board)


def _shown_panel(request: HttpRequest, panel: Panel) -> PanelShown:
    return PanelShown.of(panel, Sight.of(signed_in(request), [panel]))
