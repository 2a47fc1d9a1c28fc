"""What a list says of a query: running, paused or failing, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dashboard.live.hub import process_hub
from dashboard.live.relay import wall_clock
from dashboard.live.warnings import left_out, warning_of
from dashboard.planning.places import places_of
from dashboard.queries.models import SavedQuery


@dataclass(frozen=True)
class QueryState:
    word: str
    dot: str = ""  # the shape and colour of its mark
    note: str = ""
    since: datetime | None = None


def warnings_of(queries: Sequence[SavedQuery]) -> dict[str, str]:
    """By key of those that leave something out, what is said of it: looked up once for all of a list."""
    now = wall_clock()
    sources = {query.source.key for query in queries}
    found = {key: left_out(process_hub.meters.recent(key)[1], now) for key in sources}
    concerned = [query for query in queries if found[query.source.key]]
    places = places_of(concerned, now)
    said = {query.key: warning_of(found[query.source.key], places[query.key]) for query in concerned}
    return {key: words for key, words in said.items() if words}


def state_of(query: SavedQuery, warning: str = "") -> QueryState:
    """`warning` is what `warnings_of` says of it."""
    if query.paused_at is not None:
        return QueryState("Paused", "is-off", f"by {query.paused_by_words}", query.paused_at)
    outage = _outage()
    if outage is not None:
        return outage
    told = process_hub.state.source(query.source.key)
    if told["state"] == "failing":
        return QueryState("Failing", "is-bad", told["error"] or "unknown cause")
    if told["state"] == "running":
        note = " ".join(filter(None, (told["error"], warning)))
        return QueryState("Running", "is-warn" if warning else "", note)
    return QueryState("Starting", "is-off", "waiting for the job to pick up the source")


def _outage() -> QueryState | None:
    """What keeps every query from running; before the past has been read, old signs of life tell nothing."""
    state = process_hub.state
    if state.broker()["state"] == "down":
        return QueryState("Broker not reachable", "is-bad")
    job = state.job(wall_clock())
    if not process_hub.caught_up or job["state"] not in ("stopped", "unknown"):
        return None
    if job["since"] is None:
        return QueryState("Job stopped", "is-bad", "start it with ./millrace up")
    since = datetime.fromtimestamp(job["since"] / 1000, UTC)
    return QueryState("Job stopped", "is-bad", "was last heard of", since)
