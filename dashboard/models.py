"""All models of the one app, so that Django finds them; each lives in the package of its subject."""

from dashboard.accounts.models import ApiToken
from dashboard.boards.models import Board, Panel
from dashboard.connections.models import Connection
from dashboard.past.models import HistoryPlace, HistoryPolicy, Note, PastWindow, Segment, ShareLink
from dashboard.planning.models import PlanVersion
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source

__all__ = [
    "ApiToken",
    "Board",
    "Connection",
    "HistoryPlace",
    "HistoryPolicy",
    "Note",
    "Panel",
    "PastWindow",
    "PlanVersion",
    "SavedQuery",
    "Segment",
    "ShareLink",
    "Source",
]
