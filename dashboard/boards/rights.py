"""Who may see and change a dashboard: so far, everybody who has signed in."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet

from dashboard.accounts.people import first_name
from dashboard.boards.models import Board


def boards_seen_by(person: User) -> QuerySet[Board]:
    return Board.objects.all()


def may_change_board(person: User, board: Board) -> bool:
    return True


def check_may_change_board(person: User, board: Board) -> None:
    """Refuse, in the same words on pages and in the API, who may not change a dashboard."""
    if not may_change_board(person, board):
        raise PermissionDenied(f"You may not change this dashboard. {first_name(board.owner)} owns it.")
