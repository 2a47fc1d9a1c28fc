"""Since when a plan answers a query, which tells one that warms up from one that has nothing to say."""

from collections.abc import Sequence
from datetime import UTC, datetime

from dashboard.planning.models import PlanVersion
from dashboard.sources.models import Source
from optimizer.queries import AnyQuery, Query

SLACK_MS = 60_000  # for a job that takes the plan up late


def joined_at(source: Source, queries: Sequence[AnyQuery], now: int) -> dict[str, int]:
    """When each of these queries joined the plan (ms), for those that may still wait for a whole window.

    The source's first plan does not count: with it, the job reads the past that Kafka still holds.
    """
    timed = (query.window for query in queries if isinstance(query, Query))
    longest = max((window.range + window.slide for window in timed), default=0)
    cut = datetime.fromtimestamp((now - longest - source.allowed_lateness - SLACK_MS) / 1000, UTC)
    versions = PlanVersion.objects.filter(source=source).order_by("version")
    settled = versions.filter(created_at__lt=cut).last() or versions.first()
    if settled is None:
        return {}
    joined: dict[str, int | None] = dict.fromkeys(_ids(settled))
    for version in versions.filter(version__gt=settled.version):
        instant = int(version.created_at.timestamp() * 1000)
        joined = {id_: joined.get(id_, instant) for id_ in _ids(version)}
    asked = {query.id for query in queries}
    return {id_: instant for id_, instant in joined.items() if id_ in asked and instant is not None}


def _ids(version: PlanVersion) -> list[str]:
    return [query.id for query in version.value().all_queries]
