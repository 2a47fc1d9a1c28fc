"""Calibration: kept when somebody asks or once a day; samples of what was estimated beside what was done."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.live.meters import process_meters
from dashboard.models import CalibrationRecord, SavedQuery, Source, ThroughputSample
from dashboard.planning import calibration, service
from tests.dashboard.live.messages import meter

pytestmark = pytest.mark.django_db
CLOCK = (int(time.time()) // 300 - 4) * 300_000  # where five minutes begin


@pytest.fixture
def running(hot: SavedQuery, sensors: Source) -> Iterator[Source]:
    """A source whose job has told of ten minutes of batches."""
    service.replan(sensors, "Ana added “Hot devices”")
    heard(range(0, 600, 5))
    yield sensors
    process_meters.keep_only(set())


def heard(seconds: Any, **changed: Any) -> None:
    for second in seconds:
        process_meters.add(meter(second, clock=CLOCK + second * 1_000, **changed))  # type: ignore[arg-type]


def test_a_source_without_measurements_is_not_calibrated(sensors: Source, ana: User) -> None:
    with pytest.raises(calibration.TooLittleMeasured, match="not read enough events"):
        calibration.calibrate(sensors, ana)
    calibration.note_throughput()
    assert not CalibrationRecord.objects.exists()


def test_what_an_event_took_is_kept_and_estimates_stay_with_it(running: Source, ana: User) -> None:
    kept = calibration.calibrate(running, ana)
    assert kept.measured["total"] == pytest.approx(0.03 / 1_000)
    assert kept.measured["map"] == pytest.approx(0.02 / 1_000)
    assert (kept.made_by, kept.automatic) == (ana, False)
    before = calibration.calibrated_statistics(running).calibration
    heard(range(600, 1_200, 5), map_seconds=0.2)  # the machine is slower now
    assert calibration.calibrated_statistics(running).calibration == before
    now = calibration.measured_now(running)
    assert now is not None
    assert now["total"] > 5 * kept.measured["total"]
    calibration.calibrate(running, ana)
    assert calibration.calibrated_statistics(running).calibration != before


def test_a_plan_that_has_just_begun_is_not_calibrated_by_itself(hot: SavedQuery, sensors: Source) -> None:
    service.replan(sensors, "one")
    heard(range(0, 300, 5))
    calibration.note_throughput()
    process_meters.keep_only(set())
    assert not CalibrationRecord.objects.exists()


def test_millrace_calibrates_by_itself_once_a_day(running: Source) -> None:
    calibration.note_throughput()
    calibration.note_throughput()
    (made,) = CalibrationRecord.objects.all()
    assert made.automatic
    CalibrationRecord.objects.update(created_at=timezone.now() - timedelta(days=2))
    calibration.note_throughput()
    assert CalibrationRecord.objects.count() == 2


def test_a_sample_is_kept_for_every_five_minutes_that_are_over(running: Source) -> None:
    calibration.note_throughput()
    calibration.note_throughput()
    (sample,) = ThroughputSample.objects.all()
    assert int(sample.at.timestamp() * 1000) == CLOCK + 300_000
    assert sample.actual == pytest.approx(1_000 / 0.03 * 2)
    assert sample.estimated > 0
    heard(range(600, 910, 5))
    calibration.note_throughput()
    assert ThroughputSample.objects.count() == 2


def test_samples_that_are_too_old_go(running: Source) -> None:
    old = timezone.now() - timedelta(days=40)
    ThroughputSample.objects.create(source=running, at=old, plan=1, estimated=1.0, actual=1.0)
    calibration.note_throughput()
    assert not ThroughputSample.objects.filter(at=old).exists()


def test_the_page_shows_calibrations_now_and_then_and_makes_one(as_ana: Client, running: Source) -> None:
    page = as_ana.get("/plan/?source=sensors").content.decode()
    assert "Calibrate anew" in page
    assert "measured" in page
    answer = as_ana.post("/plan/sensors/calibrate/", follow=True).content.decode()
    assert "Calibrated: estimates reckon with what the newest batches took." in answer
    assert "in use" in answer


def test_only_who_added_the_source_calibrates_it(as_bo: Client, running: Source) -> None:
    assert as_bo.post("/plan/sensors/calibrate/").status_code == 403
    assert "Calibrate anew" not in as_bo.get("/plan/").content.decode()
    assert not CalibrationRecord.objects.exists()


def test_the_deviation_of_a_week_ago_is_told(as_ana: Client, running: Source) -> None:
    then = timezone.now() - timedelta(days=7) + timedelta(minutes=5)
    ThroughputSample.objects.create(source=running, at=then, plan=1, estimated=100.0, actual=91.6)
    told = as_ana.get("/plan/sensors/estimates/").json()["before"]
    assert told["words"] == "a week ago"
    assert told["deviation"] == pytest.approx(-0.084)
    points = as_ana.get("/plan/sensors/throughput/?span=7d").json()["points"]
    assert points == [[int(then.timestamp() * 1000), 91.6, 100.0, 1]]
    assert as_ana.get("/plan/sensors/throughput/?span=24h").json()["points"] == []


def test_a_trees_own_throughput_is_told(as_ana: Client, running: Source) -> None:
    told = as_ana.get("/plan/sensors/estimates/?tree=1").json()["tree"]
    assert told["estimate"] > 0
    assert len(told["points"]) == 39  # quarters of a minute, the newest is not over
    assert as_ana.get("/plan/sensors/estimates/?tree=99").json()["tree"] == {"estimate": None, "points": []}
