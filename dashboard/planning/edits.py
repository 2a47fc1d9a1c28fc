"""What people changed of a query of late, told from the plans that this made: charts mark it."""

from collections.abc import Callable
from datetime import UTC, datetime

from dashboard.planning.models import PlanVersion
from dashboard.sources.models import Source
from optimizer.queries import AnyQuery

VERBS = (" changed ", " paused ", " resumed ")
PARTS: dict[str, Callable[[AnyQuery], object]] = {
    "filter": lambda query: query.where,
    "grouping": lambda query: query.group_by,
    "computation": lambda query: (query.aggregate, query.field),
    "windows": lambda query: query.window,
}


def edits_of(source: Source, key: str, since: int) -> tuple[tuple[int, str], ...]:
    """When (ms) and how a query was changed: `Ana: filter changed`."""
    versions = PlanVersion.objects.filter(source=source).order_by("version")
    start = datetime.fromtimestamp(since / 1000, UTC)
    known = _members(versions.filter(created_at__lt=start).last(), key)
    edits = []
    for version in versions.filter(created_at__gte=start):
        now = _members(version, key)
        if what := _difference(known, now):
            who = _who(version.cause)
            edits.append((int(version.created_at.timestamp() * 1000), f"{who}: {what}" if who else what))
        known = now
    return tuple(edits)


def _members(version: PlanVersion | None, key: str) -> list[AnyQuery]:
    """The single-window queries of one saved query, as a plan has them."""
    queries = version.value().all_queries if version is not None else ()
    return [query for query in queries if query.id.startswith(f"{key}@")]


def _difference(before: list[AnyQuery], after: list[AnyQuery]) -> str:
    """In words; a query that is new or was brought back begins where its line does."""
    if not before:
        return ""
    if not after:
        return "paused"
    changed = [part for part, of in PARTS.items() if set(map(of, before)) != set(map(of, after))]
    if not changed:
        return ""  # its name alone
    return f"{changed[0] if len(changed) == 1 else 'query'} changed"


def _who(cause: str) -> str:
    return next((cause.partition(verb)[0] for verb in VERBS if verb in cause), "")
