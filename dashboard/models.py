"""All models of the one app, so that Django finds them; each lives in the package of its subject."""

from dashboard.accounts.models import ApiToken
from dashboard.alerts.models import Alert, Delivery, Evaluation, Firing, Seat, Silence
from dashboard.boards.models import Board, Panel
from dashboard.connections.models import Connection
from dashboard.planning.models import PlanVersion
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source

__all__ = [
    "Alert",
    "ApiToken",
    "Board",
    "Connection",
    "Delivery",
    "Evaluation",
    "Firing",
    "Panel",
    "PlanVersion",
    "SavedQuery",
    "Seat",
    "Silence",
    "Source",
]
