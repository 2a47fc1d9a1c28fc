"""What a list says of a query: running, paused or failing, and why."""

from dataclasses import dataclass
from datetime import datetime

from dashboard.accounts.people import first_name
from dashboard.live.hub import process_hub
from dashboard.queries.models import SavedQuery


@dataclass(frozen=True)
class QueryState:
    word: str
    dot: str = ""  # the shape and colour of its mark
    note: str = ""
    since: datetime | None = None


def state_of(query: SavedQuery) -> QueryState:
    if query.paused_at is not None:
        return QueryState("Paused", "is-off", f"by {first_name(query.paused_by)}", query.paused_at)
    told = process_hub.state.source(query.source.key)
    if told["state"] == "failing":
        return QueryState("Failing", "is-bad", told["error"] or "unknown cause")
    if told["state"] == "running":
        return QueryState("Running", note=told["error"] or "")
    return QueryState("Waiting", "is-off", "the job has not taken up its source")
