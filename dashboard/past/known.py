"""Which windows have a past, how far apart their results are, and how long they are kept."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Min, Sum
from django.db.models.functions import Length

from dashboard.past.models import DETAIL_DAYS, KEPT_DAYS, Segment
from dashboard.queries.models import SavedQuery
from optimizer.queries import AnyQuery, Query

IRREGULAR_SLIDE_MS = 10_000  # of windows that end when events say so: only the size of segments hangs on it


@dataclass(frozen=True)
class KnownWindow:
    query: str  # key of the saved query
    slide: int
    detail_days: int
    kept_days: int


def slide_of(query: AnyQuery) -> int:
    return query.window.slide if isinstance(query, Query) else IRREGULAR_SLIDE_MS


def days_kept(saved: SavedQuery) -> tuple[int, int]:
    """In full, and in all."""
    policy = getattr(saved, "history_policy", None)
    if policy is None:
        return DETAIL_DAYS, KEPT_DAYS
    return policy.detail_days, max(policy.detail_days, policy.kept_days)


def kept(saved: SavedQuery) -> dict[str, Any]:
    """What a query's page says of its past."""
    segments = Segment.objects.filter(window__query__in=[one.id for one in saved.queries()])
    found = segments.aggregate(first=Min("oldest"), size=Sum(Length("data")))
    first = None if found["first"] is None else datetime.fromtimestamp(found["first"] / 1000, UTC)
    detail_days, kept_days = days_kept(saved)
    return {"first": first, "size": found["size"] or 0, "detail_days": detail_days, "kept_days": kept_days}


def known_windows() -> dict[str, KnownWindow]:
    """By single-window id; of deleted queries, too, as Undo may bring them back."""
    found: dict[str, KnownWindow] = {}
    for saved in SavedQuery.with_deleted.select_related("history_policy"):
        detail, in_all = days_kept(saved)
        for one in saved.queries():
            found[one.id] = KnownWindow(saved.key, slide_of(one), detail, in_all)
    return found
