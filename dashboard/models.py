"""All models of the one app, so that Django finds them; each lives in the package of its subject."""

from dashboard.accounts.models import ApiToken, Grant, Notice, SignIn
from dashboard.alerts.models import Alert, Delivery, Evaluation, Firing, Seat, Silence
from dashboard.audit.models import AuditEntry
from dashboard.boards.models import Board, FirstBoard, Panel
from dashboard.connections.models import Connection
from dashboard.past.models import HistoryPlace, HistoryPolicy, Note, PastWindow, Segment, ShareLink
from dashboard.planning.models import CalibrationRecord, PlanVersion, ThroughputSample
from dashboard.queries.models import QueryVersion, SavedQuery
from dashboard.sources.models import Source

__all__ = [
    "Alert",
    "ApiToken",
    "AuditEntry",
    "Board",
    "CalibrationRecord",
    "Connection",
    "Delivery",
    "Evaluation",
    "Firing",
    "FirstBoard",
    "Grant",
    "HistoryPlace",
    "HistoryPolicy",
    "Note",
    "Notice",
    "Panel",
    "PastWindow",
    "PlanVersion",
    "QueryVersion",
    "SavedQuery",
    "Seat",
    "Segment",
    "ShareLink",
    "SignIn",
    "Silence",
    "Source",
    "ThroughputSample",
]
