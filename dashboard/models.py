"""All models of the one app, so that Django finds them; each lives in the package of its subject."""

from dashboard.accounts.models import ApiToken
from dashboard.boards.models import Board, Panel
from dashboard.connections.models import Connection
from dashboard.planning.models import CalibrationRecord, PlanVersion, ThroughputSample
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source

__all__ = [
    "ApiToken",
    "Board",
    "CalibrationRecord",
    "Connection",
    "Panel",
    "PlanVersion",
    "SavedQuery",
    "Source",
    "ThroughputSample",
]
