"""What people do to dashboards, from pages and over the API."""

from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.accounts.rights import visible_boards
from dashboard.boards.forms import free_slug
from dashboard.boards.places import Place, free_place, laid_out
from dashboard.models import Board, FirstBoard, Panel


def places_of(board: Board) -> list[Place]:
    return [
        Place(one.x, one.y, one.w, one.h)
        for one in board.panels.all()
        if one.x is not None and one.y is not None
    ]


@transaction.atomic
def add_panel(board: Board, panel: Panel) -> Panel:
    """Put a panel that has no place yet where there is room."""
    panel.board = board
    if panel.x is None or panel.y is None:
        place = free_place(places_of(board), panel.w, panel.h)
        panel.x, panel.y = place.x, place.y
    panel.save()
    return panel


@transaction.atomic
def make_board(name: str, person: User | None, panels: Sequence[Panel], tags: Sequence[str] = ()) -> Board:
    """A new dashboard with these panels, one after the other."""
    board = Board.objects.create(slug=free_slug(name), name=name[:80], owner=person, tags=list(tags))
    for panel, place in zip(panels, laid_out((panel.w, panel.h) for panel in panels), strict=True):
        panel.board, panel.x, panel.y = board, place.x, place.y
        panel.save()
    return board


@transaction.atomic
def duplicate_board(board: Board, person: User) -> Board:
    copy = make_board(f"Copy of {board.name}", person, [], board.tags)
    for panel in board.panels.all():
        panel.pk, panel.board = None, copy
        panel.save(force_insert=True)
    return copy


@transaction.atomic
def duplicate_panel(panel: Panel) -> Panel:
    copy = Panel(**{name: getattr(panel, name) for name in ("query", "kind", "shows", "settings", "w", "h")})
    copy.title = f"Copy of {panel.title}"[:120]
    return add_panel(panel.board, copy)


@transaction.atomic
def move_panels(board: Board, places: Mapping[int, Place]) -> None:
    """Panels by their number; of those that are not on this dashboard (any more) nothing is moved."""
    for panel in board.panels.filter(pk__in=places):
        panel.x, panel.y, panel.w, panel.h = places[panel.pk]
        panel.save(update_fields=["x", "y", "w", "h"])


def star(board: Board, person: User, starred: bool) -> None:
    if starred:
        board.starred_by.add(person)
    else:
        board.starred_by.remove(person)


def first_board_of(person: User) -> Board | None:
    own = FirstBoard.objects.filter(person=person).values("board")
    return visible_boards(person).filter(pk__in=own).first()


def see_first(board: Board, person: User, first: bool) -> None:
    """Make it the dashboard that signing in leads somebody to, or no longer."""
    if first:
        FirstBoard.objects.update_or_create(person=person, defaults={"board": board})
    else:
        FirstBoard.objects.filter(person=person, board=board).delete()
