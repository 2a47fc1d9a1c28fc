"""The last quarter of an hour in spans, the peak, and how lag and idle partitions reach the page."""

import pytest

from dashboard.live import spans
from dashboard.live.feed import health_message, source_message
from dashboard.live.hub import Arrivals, Hub
from dashboard.live.viewer import Viewer
from tests.dashboard.live.messages import meter, status

NOW = 1_800_000_000_000  # a whole minute
RUNNING = {"state": "running", "since": NOW - 60_000, "error": None}


def hub_after(seconds: int, **changed: object) -> Hub:
    """One batch a second up to now."""
    hub = Hub()
    hub.caught_up = True
    clocks = range(NOW - seconds * 1000, NOW, 1000)
    hub.take(Arrivals(meters=[meter(n, clock=clock, **changed) for n, clock in enumerate(clocks)]))
    return hub


def test_rates_are_per_second_and_silence_is_a_gap() -> None:
    drawn = health_message(hub_after(30), "sensors", NOW)["rate"]
    assert drawn == [None] * 58 + [1_000, 1_000]


def test_counts_are_by_minute_with_the_current_one() -> None:
    message = health_message(hub_after(120), "sensors", NOW + 20_000)
    assert message["late"] == [0] * 12 + [120, 120, 0]
    assert message["malformed"][-3:] == [60, 60, 0]


def test_the_delay_is_the_watermarks_age_and_unknown_before_the_first_event() -> None:
    assert health_message(hub_after(30), "sensors", NOW)["delay"][-1] == 10_000
    assert set(health_message(hub_after(30, watermark=None), "sensors", NOW)["delay"]) == {None}


def test_lag_comes_from_the_jobs_own_word() -> None:
    hub = hub_after(10)
    for at, lag in ((NOW - 20_000, 500), (NOW - 4_000, 30), (NOW - 2_000, None)):
        hub.state.observe(status(at, sensors={**RUNNING, "lag": lag, "partitions": 12}))
    assert health_message(hub, "sensors", NOW)["lag"][-2:] == [500, 30]
    told = source_message(hub, "sensors", NOW)
    assert (told["lag"], told["partitions"]) == (None, 12)


def test_an_older_job_that_tells_neither_is_understood() -> None:
    hub = hub_after(10)
    hub.state.observe(status(NOW, sensors=RUNNING))
    told = source_message(hub, "sensors", NOW)
    assert (told["state"], told["lag"], told["partitions"], told["active"]) == ("running", None, None, None)


def test_lags_of_the_last_quarter_of_an_hour_are_kept_of_sources_that_are_there() -> None:
    hub = Hub()
    for at in (NOW - spans.KEPT_MS - 5_000, NOW - 1_000):
        hub.state.observe(status(at, sensors={**RUNNING, "lag": 7}))
    assert hub.state.lags("sensors") == [(NOW - 1_000, 7)]
    hub.state.observe(status(NOW))
    assert hub.state.lags("sensors") == []


def test_partitions_that_are_waited_for_are_those_of_the_newest_batch() -> None:
    assert source_message(hub_after(5, active=[0, 3]), "sensors", NOW)["active"] == (0, 3)


def test_the_peak_is_the_best_five_seconds_of_a_day() -> None:
    hub = Hub()
    for second in range(60):
        events = 5_000 if 20 <= second < 25 else 1_000
        hub.take(Arrivals(meters=[meter(second, clock=NOW + second * 1000, events=events)]))
    told = source_message(hub, "sensors", NOW + 60_000)
    assert told["peak"] == pytest.approx(5_000)
    later = NOW + spans.PEAK_HOURS * spans.HOUR_MS + spans.HOUR_MS
    for second in range(20):
        hub.take(Arrivals(meters=[meter(100 + second, clock=later + second * 1000)]))
    told = source_message(hub, "sensors", later + 20_000)
    assert told["peak"] == pytest.approx(1_000)
    assert told["peak_since"] > NOW


def test_who_draws_a_sources_health_is_told_its_spans_now_and_then() -> None:
    viewer = Viewer(hub_after(30))
    viewer.watch({}, ["sensors"], throughput=False, health=True)
    kinds = [message["type"] for message in viewer.news(NOW)]
    assert kinds == ["state", "source", "health", "alerts"]
    assert [message["type"] for message in viewer.news(NOW)] == []
