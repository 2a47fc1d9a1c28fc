"""Calibration: what the job's steps take here, kept when somebody asks for it or when it is a day old.

Plans are made with what is measured at the moment. Estimates on the plan page reckon with the newest kept
calibration instead, at today's rate and groups: what the job does since then shows how good they are.
"""

from dataclasses import replace
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.live.batches import Batch
from dashboard.live.meters import CALIBRATION_BATCHES, ENOUGH_EVENTS, process_meters, statistics
from dashboard.planning.models import CalibrationRecord
from dashboard.sources.models import Source
from optimizer.cost import Statistics

RENEWED_AFTER = timedelta(days=1)
SETTLED_BATCHES = 2 * CALIBRATION_BATCHES  # of one plan: the first ones catch up with the past, or warm up
TOO_LITTLE = "Not calibrated: the job has not read enough events lately. Try again when the source has some."


class TooLittleMeasured(RuntimeError):
    """The message is the sentence shown to people."""


def newest_calibration(source: Source) -> CalibrationRecord | None:
    return CalibrationRecord.objects.filter(source=source).select_related("made_by").first()


def calibrated_statistics(source: Source) -> Statistics:
    """What estimates reckon with: the kept calibration, at the rate and groups of now."""
    now = statistics(source.key)
    kept = newest_calibration(source)
    return now if kept is None else replace(now, calibration=kept.value().calibration)


def calibrate(source: Source, person: User | None) -> CalibrationRecord:
    """Keep what the newest batches took; None as the person: by Millrace itself."""
    _, batches = process_meters.recent(source.key)
    recent = batches[-CALIBRATION_BATCHES:]
    if sum(batch.events for batch in recent) < ENOUGH_EVENTS:
        raise TooLittleMeasured(TOO_LITTLE)
    return CalibrationRecord.objects.create(
        source=source,
        plan=recent[-1].plan,
        statistics=statistics(source.key).to_json(),
        measured=per_event(recent),
        made_by=person,
        automatic=person is None,
    )


def per_event(batches: list[Batch]) -> dict[str, float]:
    """Core seconds of an event: in all, and what of it in map tasks, shards and their kernels."""
    events = max(1, sum(batch.events for batch in batches))
    return {
        "total": sum(batch.busy_seconds for batch in batches) / events,
        "map": sum(batch.map_seconds for batch in batches) / events,
        "shard": sum(batch.shard_seconds for batch in batches) / events,
        "kernel": sum(batch.kernel_seconds for batch in batches) / events,
    }


def measured_now(source: Source) -> dict[str, float] | None:
    """The same of the newest batches; None where they have too few events to tell."""
    _, batches = process_meters.recent(source.key)
    recent = batches[-CALIBRATION_BATCHES:]
    return per_event(recent) if sum(batch.events for batch in recent) >= ENOUGH_EVENTS else None


def calibrate_if_due(source: Source, batches: list[Batch]) -> None:
    """Where none is kept, or an old one, and the plan has run for a while."""
    newest = newest_calibration(source)
    if newest is not None and timezone.now() - newest.created_at < RENEWED_AFTER:
        return
    if sum(batch.plan == batches[-1].plan for batch in batches) < SETTLED_BATCHES:
        return
    try:
        calibrate(source, None)
    except TooLittleMeasured:
        return
