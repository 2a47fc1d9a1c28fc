"""Planning: all queries of a source go through the optimizer; the plan is stored, then told to the job."""

import logging
import time
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils import timezone

from dashboard.live.meters import statistics
from dashboard.planning.measured import with_measured_kernels
from dashboard.planning.models import PlanVersion
from dashboard.planning.wire import WireDown, send_plan
from dashboard.queries.models import SavedQuery
from dashboard.sources.models import Source
from optimizer.explain import Joining, joining
from optimizer.incremental import adapt
from optimizer.plan import Plan
from optimizer.queries import AnyQuery, Query, QuerySpec
from optimizer.throughput import estimated_throughput, load

logger = logging.getLogger(__name__)
DRAFT_KEY = "draft"  # the key of a query that is not saved yet, in previews alone
STRATEGY = "best_woven"  # of those whose trees all read the events, as the job's do
BATCH_SECONDS = 1.0  # from an event's arrival to its result, about


@dataclass(frozen=True)
class Preview:
    """What saving a query would do."""

    joinings: list[Joining]  # per tree that its windows join
    load_before: float  # fraction of the capacity at the measured rate
    load_after: float
    first_result_seconds: float

    @property
    def saving(self) -> float:
        """How much cheaper it is than running alone, 0 to 1, over all its windows."""
        alone = sum(part.cost_alone for part in self.joinings)
        return sum(part.saving * part.cost_alone for part in self.joinings) / alone if alone else 0.0


def replan(source: Source, cause: str) -> PlanVersion:
    """Make the next version of a source's plan from all its queries; the job is told after the commit."""
    with transaction.atomic():
        # One after another per source: versions count up, and no query is forgotten between two of them.
        Source.objects.select_for_update().get(pk=source.pk)
        previous = newest(source)
        known = with_measured_kernels(statistics(source.key))
        running = _running(source, previous)
        plan = adapt(running, _all_queries(source), known).settled()
        made = PlanVersion.objects.create(
            source=source,
            version=plan.version,
            plan=plan.to_json(),
            cause=cause,
            statistics=known.to_json(),
            estimated_throughput=estimated_throughput(plan, known) if plan.all_trees else None,
        )
        transaction.on_commit(lambda: _try_to_publish(source))
    return made


def newest(source: Source) -> PlanVersion | None:
    return PlanVersion.objects.filter(source=source).order_by("-version").first()


def publish_pending() -> int:
    """Tell the job of every newest plan that it has not heard of; the number that went out."""
    return sum(_try_to_publish(source) for source in Source.objects.all() if _is_pending(newest(source)))


def _is_pending(version: PlanVersion | None) -> bool:
    return version is not None and version.published_at is None


def _try_to_publish(source: Source) -> bool:
    try:
        _publish_newest(source)
    except WireDown as error:
        logger.warning("The plan of %s is stored but not published: %s", source.key, error)
        return False
    return True


def _publish_newest(source: Source) -> None:
    """Send the newest version, and again if one came meanwhile: whoever sends last has sent the newest.

    Versions that were overtaken stay unpublished, and the topic never ends on an old one, without a lock
    held over the network.
    """
    sent: PlanVersion | None = None
    while (version := newest(source)) is not None and version != sent:
        send_plan(source.key, {"source": source.spec().to_json(), "plan": version.plan})
        PlanVersion.objects.filter(pk=version.pk).update(published_at=timezone.now())
        sent = version


def retire(source: Source) -> None:
    """Tell the job that a source is gone; raises WireDown if it cannot be told."""
    if newest(source) is not None:
        send_plan(source.key, None)


def preview(source: Source, spec: QuerySpec, *, replacing: SavedQuery | None = None) -> Preview:
    """What saving `spec` would do to the plan, in place of `replacing` if it is an edit. Writes nothing."""
    known = with_measured_kernels(statistics(source.key))
    key = replacing.key if replacing else DRAFT_KEY
    added = spec.queries(key=key)
    others = [query for query in _all_queries(source) if not query.id.startswith(f"{key}@")]
    before = adapt(_running(source, newest(source)), others, known).plan
    after = adapt(before, others + added, known).plan
    return Preview(
        joinings=joining(before, after, [query.id for query in added], known),
        load_before=load(before, known),
        load_after=load(after, known),
        first_result_seconds=_first_result_seconds(source, added),
    )


def _running(source: Source, version: PlanVersion | None) -> Plan:
    """The plan that the next one follows: its trees stay as they are where that costs little."""
    if version is None:
        return Plan(source.key, 0, STRATEGY)
    return replace(version.value(), strategy=STRATEGY)


def _all_queries(source: Source) -> list[AnyQuery]:
    saved = SavedQuery.objects.filter(source=source, paused_at__isnull=True).order_by("pk")
    return [query for row in saved for query in row.queries()]


def _first_result_seconds(source: Source, queries: list[AnyQuery]) -> float:
    """Until the first window ends, its lateness has passed and the batch that holds both is done.

    When a count or session window ends is for the events to say: it may be the next one.
    """
    now = time.time_ns() // 1_000_000
    ends = (query.window.first_end_after(now) for query in queries if isinstance(query, Query))
    until_end = min(ends, default=now) - now
    return (until_end + source.allowed_lateness) / 1000 + BATCH_SECONDS
