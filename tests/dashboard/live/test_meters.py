"""Rates, capacity and statistics from what the job measured."""

from dataclasses import replace

import pytest

from dashboard.live.meters import KEPT_MS, Meters, calibrate, measured, statistics
from dashboard.models import PlanVersion
from optimizer import Statistics, optimize
from optimizer.cost import Calibration
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.throughput import busy
from optimizer.windows import Window
from streaming.path_costs import measured_path
from tests.dashboard.live.messages import meter
from tests.dashboard.places import source_at

NOW = 1_800_000_000_000


def running_for(seconds: int, **changed: object) -> Meters:
    """One batch a second, two shards."""
    meters = Meters()
    for at in range(seconds):
        for shard in (0, 1):
            meters.add(meter(at, clock=NOW + at * 1000, shard=shard, **changed))
    return meters


def test_what_belongs_to_the_whole_batch_is_counted_once_and_shards_are_added_up() -> None:
    batch = running_for(1).source("sensors").newest
    assert batch is not None
    assert (batch.events, batch.late, batch.malformed, batch.map_seconds) == (1_000, 2, 1, 0.02)
    assert (batch.partials, batch.kernel_steps, batch.state_bytes) == (200, 4_000, 2_000)
    assert batch.busy_seconds == pytest.approx(0.04)
    assert batch.trees["1"].groups == 20


def test_what_the_job_does_not_know_is_none() -> None:
    message = meter(0, clock=NOW, watermark=-(2**62), max_event_time=-(2**62))
    del message["state_bytes"]
    meters = Meters()
    meters.add(message)
    batch = meters.source("sensors").newest
    assert batch is not None
    assert (batch.watermark, batch.max_event_time, batch.state_bytes) == (None, None, None)


def test_the_rate_is_events_per_second_of_the_wall_clock() -> None:
    assert running_for(60).source("sensors").rate() == pytest.approx(1_000)


def test_a_batch_told_twice_counts_once() -> None:
    meters = running_for(20)
    for shard in (0, 1):
        meters.add(meter(19, clock=NOW + 19_000, shard=shard))
    assert meters.source("sensors").rate() == pytest.approx(1_000)


def test_capacity_is_events_per_busy_second_times_the_cores() -> None:
    points = running_for(30).source("sensors").throughput(cores=2)
    assert points
    assert all(point.capacity == pytest.approx(1_000 / 0.04 * 2) for point in points)
    assert points[1].rate == pytest.approx(1_000)


def test_one_slow_batch_weighs_on_the_capacity_of_a_quarter_of_a_minute_and_no_longer() -> None:
    meters = running_for(40)
    meters.add(meter(7, clock=NOW + 7_000, shard=0, map_seconds=1.02))  # a second more
    points = [round(point.capacity or 0) for point in meters.source("sensors").throughput(cores=1)]
    usual = round(1_000 / 0.04)
    assert points[0] == usual
    assert points[1] < points[2] == points[3] < usual  # over 10 s as no more is known, then over 15
    assert set(points[4:]) == {usual}


def test_a_span_without_events_has_no_capacity() -> None:
    meters = running_for(30, events=0)
    assert {point.capacity for point in meters.source("sensors").throughput(2)} == {None}


def test_a_source_is_idle_since_its_last_event_after_half_a_minute() -> None:
    meters = running_for(10)
    for at in range(10, 70):
        meters.add(meter(at, clock=NOW + at * 1000, events=0))
        idle = meters.source("sensors").idle_since()
        assert idle == (NOW + 9_000 if at > 39 else None)


def test_batches_older_than_fifteen_minutes_are_dropped() -> None:
    meters = running_for(2)
    meters.add(meter(2, clock=NOW + KEPT_MS + 500))
    assert [batch.number for batch in meters.source("sensors").batches()] == [1, 2]


def test_calibration_makes_the_model_cost_what_the_batches_cost() -> None:
    _, batches = running_for(30).recent("sensors")
    found = calibrate(batches)
    per_event = found.seconds_per_event + found.seconds_per_partial  # one tree
    assert per_event == pytest.approx((0.04 - 0.008) / 1_000)
    assert found.seconds_per_step == pytest.approx(0.008 / 4_000)


def test_too_few_events_leave_the_calibration_as_it_was() -> None:
    _, batches = running_for(3).recent("sensors")
    assert calibrate(batches) == Calibration()


@pytest.mark.django_db
def test_before_anything_was_measured_statistics_know_what_the_benchmark_found() -> None:
    known = statistics("sensors", Meters())
    assert known.calibration.path == measured_path()
    assert replace(known, calibration=Calibration()) == Statistics()
    assert not measured("sensors", Meters())


@pytest.mark.django_db
def test_statistics_count_the_groups_of_each_group_by() -> None:
    stored_plan()
    known = statistics("sensors", running_for(30))
    assert known.groups == {("device",): 20}
    assert known.rate == pytest.approx(1_000)
    assert measured("sensors", running_for(30))


@pytest.mark.django_db
def test_estimates_make_the_running_plan_cost_what_its_batches_cost() -> None:
    plan = stored_plan()
    for changed in ({}, {"map_seconds": 0.2}, {"shard_seconds": 0.3}):
        known = statistics("sensors", running_for(30, **changed))
        assert known.batch_seconds == pytest.approx(1)
        [seconds] = {batch.busy_seconds for batch in running_for(30, **changed).source("sensors").batches()}
        assert busy(plan, known).total == pytest.approx(seconds, rel=1e-3)


def stored_plan() -> Plan:
    source = source_at("b:9092", key="sensors", name="s", topic="t")
    query = Query("q@1m/10s", "q", "max", "temp", Window(60_000, 10_000), ("device",))
    plan = optimize([query], Statistics(), source="sensors", version=1)
    PlanVersion.objects.create(source=source, version=1, plan=plan.to_json(), cause="", statistics={})
    return plan
