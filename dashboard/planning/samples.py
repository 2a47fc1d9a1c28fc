"""What a plan and its trees were estimated to take, beside what the job showed they can: every five minutes.

Written by whoever writes the history of results (dashboard/past/following.py), from the meters that it reads
beside them. A tree goes by its identity, so that it has a past for as long as it is the same tree.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from dashboard.live.batches import Batch
from dashboard.live.meters import process_meters
from dashboard.planning.calibration import calibrate_if_due, calibrated_statistics
from dashboard.planning.identity import tree_identity
from dashboard.planning.models import PlanVersion, ThroughputSample
from dashboard.planning.work import estimated_work, tree_seconds
from dashboard.sources.models import Source
from optimizer.cost import Statistics
from optimizer.plan import Plan
from optimizer.throughput import catching_up_rate

SAMPLE_MS = 5 * 60_000
DETAILED = timedelta(days=1)
THINNED_MS = 30 * 60_000  # of which one sample stays, when it is no longer of the last day
KEPT = timedelta(days=31)
MOST_TREES = 50  # of a sample, the costliest
AGO = (
    ("a week ago", timedelta(days=7)),
    ("a day ago", timedelta(days=1)),
    ("an hour ago", timedelta(hours=1)),
)
NEAR_ENOUGH = timedelta(minutes=15)  # of a sample that is said to be of then

Point = list[float | None]  # when (ms), actual, estimated, plan


def samples_of(source: Source, tree: str | None = None) -> QuerySet[ThroughputSample]:
    """Of the plan, or those that know the tree with this identity; the oldest first."""
    known = ThroughputSample.objects.filter(source=source).order_by("at")
    return known if tree is None else known.filter(trees__has_key=tree)


def past_points(source: Source, span: timedelta, tree: str | None = None) -> list[Point]:
    """The samples of that long; where there are none for a while, a point without values."""
    now = timezone.now()
    points: list[Point] = []
    before = None
    for sample in samples_of(source, tree).filter(at__gte=now - span):
        if before is not None and _is_gap(before.at, sample.at, now):
            points.append([_milliseconds(before.at) + 1, None, None, before.plan])
        estimated, actual = sample.of(tree)
        points.append([_milliseconds(sample.at), actual, estimated, sample.plan])
        before = sample
    return points


def deviation_before(source: Source, tree: str | None = None) -> dict[str, Any] | None:
    """Of the oldest of these times that there is a sample of: how far off the estimate was."""
    for words, ago in AGO:
        then = timezone.now() - ago
        near = samples_of(source, tree).filter(at__range=(then - NEAR_ENOUGH, then + NEAR_ENOUGH))
        sample = min(near, key=lambda one: abs(one.at - then), default=None)
        if sample is not None and sample.of(tree)[0]:
            estimated, actual = sample.of(tree)
            return {"words": words, "deviation": actual / estimated - 1}
    return None


def note_throughput() -> None:
    """For every source that runs: calibrate where that is due, and keep samples of what is over."""
    for source in Source.objects.all():
        _, batches = process_meters.recent(source.key)
        if batches:
            calibrate_if_due(source, batches)
            _note_samples(source, batches)
    ThroughputSample.objects.filter(at__lt=timezone.now() - KEPT).delete()


def _note_samples(source: Source, batches: Sequence[Batch]) -> None:
    """One for each span of five minutes that is over and has none yet."""
    spans: dict[datetime, list[Batch]] = {}
    for batch in batches:
        end = (batch.clock // SAMPLE_MS + 1) * SAMPLE_MS
        if batch.events and end <= batches[-1].clock:
            spans.setdefault(datetime.fromtimestamp(end / 1000, UTC), []).append(batch)
    known = set(samples_of(source).filter(at__in=list(spans)).values_list("at", flat=True))
    made = [_sample(source, at, told) for at, told in spans.items() if at not in known]
    new = [sample for sample in made if sample is not None]
    if new:
        ThroughputSample.objects.bulk_create(new, ignore_conflicts=True)
        _thin(source)


def _sample(source: Source, at: datetime, told: list[Batch]) -> ThroughputSample | None:
    seconds = sum(batch.busy_seconds for batch in told)
    version = PlanVersion.objects.filter(source=source, version=told[-1].plan).first()
    plan = version.value() if version is not None else None
    if seconds <= 0 or plan is None or not plan.all_trees:
        return None
    known = calibrated_statistics(source)
    return ThroughputSample(
        source=source,
        at=at,
        plan=plan.version,
        estimated=catching_up_rate(plan, known),
        actual=sum(batch.events for batch in told) / seconds * known.calibration.cores,
        trees=_trees(plan, [batch for batch in told if batch.plan == plan.version], known),
    )


def _trees(plan: Plan, told: list[Batch], known: Statistics) -> dict[str, list[int]]:
    """By identity: the events a second that the cores could take for it alone, estimated and actual."""
    estimates = estimated_work(plan, known)
    seconds = tree_seconds(told, estimates)
    events, cores = sum(batch.events for batch in told), known.calibration.cores
    costly = sorted(plan.all_trees, key=lambda tree: seconds[tree.id], reverse=True)[:MOST_TREES]
    return {
        tree_identity(tree): [
            round(known.rate / estimates[tree.id].total * cores),
            round(events / seconds[tree.id] * cores),
        ]
        for tree in costly
        if seconds[tree.id] > 0 and estimates[tree.id].total > 0
    }


def _is_gap(one: datetime, next_one: datetime, now: datetime) -> bool:
    apart = SAMPLE_MS if now - one < DETAILED else THINNED_MS
    return _milliseconds(next_one) - _milliseconds(one) > 2 * apart


def _thin(source: Source) -> None:
    """Of what is no longer of the last day, the first sample of each half hour stays."""
    old = samples_of(source).filter(at__lt=timezone.now() - DETAILED).values_list("pk", "at")
    kept: set[int] = set()
    gone: list[int] = []
    for key, at in old:
        half_hour = _milliseconds(at) // THINNED_MS
        if half_hour in kept:
            gone.append(key)
        kept.add(half_hour)
    ThroughputSample.objects.filter(pk__in=gone).delete()


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
