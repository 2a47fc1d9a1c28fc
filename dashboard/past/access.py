"""Who may see what, asked in one place: by people who have signed in, and by links."""

from django.contrib.auth.models import User

from dashboard.boards.models import Board
from dashboard.queries.models import SavedQuery


def may_see_query(person: User, query: SavedQuery) -> bool:
    """Whoever has signed in sees every query, until rights per source say otherwise."""
    return person.is_authenticated


def may_see_board(person: User, board: Board) -> bool:
    return person.is_authenticated


def queries_of(board: Board) -> set[str]:
    """Keys of the queries that a dashboard shows: all that a link to it opens."""
    return set(board.panels.values_list("query__key", flat=True))
