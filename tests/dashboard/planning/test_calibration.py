"""Calibration: kept when somebody asks or once a day."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.live.meters import process_meters
from dashboard.models import CalibrationRecord, SavedQuery, Source
from dashboard.planning import calibration, service
from dashboard.planning.samples import note_throughput
from tests.dashboard.planning.heard import heard

pytestmark = pytest.mark.django_db


def test_a_source_without_measurements_is_not_calibrated(sensors: Source, ana: User) -> None:
    with pytest.raises(calibration.TooLittleMeasured, match="not read enough events"):
        calibration.calibrate(sensors, ana)
    note_throughput()
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
    note_throughput()
    process_meters.keep_only(set())
    assert not CalibrationRecord.objects.exists()


def test_millrace_calibrates_by_itself_once_a_day(running: Source) -> None:
    note_throughput()
    note_throughput()
    (made,) = CalibrationRecord.objects.all()
    assert made.automatic
    CalibrationRecord.objects.update(created_at=timezone.now() - timedelta(days=2))
    note_throughput()
    assert CalibrationRecord.objects.count() == 2


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
