"""The watermark follows the slowest busy partition, and lateness depends on the log alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.queries import Query
from optimizer.windows import Window
from streaming.lanes import EARLIEST
from streaming.watermark import BREAK_MS, HEARTBEAT_MS, IDLE_AFTER_MS, STILL_AFTER_MS, Watermark, late
from tests.streaming.engine import Engine, plan_of

NOW = 1_800_000_000_000
HOUR = 3_600_000


def beat(watermark: Watermark, milliseconds: int, every: int = HEARTBEAT_MS) -> None:
    """Nothing but heartbeats for so long."""
    for _ in range(milliseconds // every):
        watermark.tick(watermark.clock + every)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100))), st.integers(0, 30), st.data())
def test_lateness_does_not_depend_on_how_the_log_is_cut_into_batches(log, lateness, data):
    """Each event with its clock: it brings its partition no further than that."""
    times = np.array([time for time, _ in log], np.int64)
    marks = np.array([min(pair) for pair in log], np.int64)
    whole = late(times, marks, EARLIEST, lateness).tolist()
    pieces, previous, at = [], EARLIEST, 0
    while at < len(log):
        part = slice(at, at + data.draw(st.integers(1, len(log) - at)))
        pieces += late(times[part], marks[part], previous, lateness).tolist()
        previous, at = max(previous, int(marks[part].max())), part.stop
    assert pieces == whole
    reached = [max(map(min, log[:i]), default=time) for i, (time, _) in enumerate(log)]
    assert whole == [time < mark - lateness for (time, _), mark in zip(log, reached, strict=True)]


def test_the_slowest_partition_holds_the_watermark_until_it_is_idle():
    watermark = Watermark(lateness=10, awaited=[], clock=1_000)
    watermark.observe(0, 500)
    watermark.observe(1, 90_000_000)
    assert watermark.advance() == 490
    watermark.clock += IDLE_AFTER_MS
    watermark.observe(1, 90_000_100)
    assert watermark.advance() == 90_000_090


def test_partitions_that_hold_messages_are_waited_for_from_the_start():
    watermark = Watermark(lateness=0, awaited=[0, 1], clock=0)
    watermark.observe(0, 500)
    assert watermark.advance() == EARLIEST
    watermark.observe(1, 400)
    assert watermark.advance() == 400


def test_a_partition_that_never_shows_an_event_is_waited_for_as_long_as_an_idle_one():
    watermark = Watermark(lateness=0, awaited=[0, 1])
    watermark.tick(50_000)
    watermark.observe(0, 500)
    assert watermark.advance() == EARLIEST
    watermark.tick(50_000 + IDLE_AFTER_MS - 1)
    watermark.observe(0, 600)
    assert watermark.advance() == EARLIEST
    watermark.tick(50_000 + IDLE_AFTER_MS)
    watermark.observe(0, 700)
    assert watermark.advance() == 700


def test_a_partition_read_before_the_first_heartbeat_is_not_idle_at_once():
    watermark = Watermark(lateness=0, awaited=[0, 1])
    watermark.observe(0, 500)
    watermark.observe(1, 9_000)
    watermark.tick(1_800_000_000_000)
    watermark.observe(1, 9_500)
    assert watermark.advance() == 500


def test_a_partition_that_is_added_holds_the_watermark_from_its_first_event_on():
    watermark = Watermark(lateness=0, awaited=[0], clock=1)
    watermark.observe(0, 500)
    assert watermark.advance() == 500
    watermark.observe(0, 900)
    watermark.observe(7, 600)
    assert watermark.advance() == 600


def test_processing_time_is_complete_up_to_the_clock():
    watermark = Watermark(lateness=60_000, awaited=[0], processing_time=True)
    watermark.tick(70_000)
    assert watermark.advance() == 70_000
    watermark.observe(0, 71_500)
    assert watermark.advance() == 71_500


def test_a_silent_live_stream_follows_the_clock_and_a_silent_old_one_stays():
    now = 1_800_000_000_000
    live = Watermark(lateness=1_000, awaited=[], clock=now)
    live.observe(0, now - 200)
    live.clock = now + IDLE_AFTER_MS + 60_000
    assert live.advance() == now - 200 - 1_000 + 60_000
    old = Watermark(lateness=1_000, awaited=[], clock=now)
    old.observe(0, now - 86_400_000)
    old.advance()
    old.clock = now + IDLE_AFTER_MS + 60_000
    assert old.advance() == now - 86_400_000 - 1_000


def test_late_and_malformed_events_are_counted_told_and_left_out():
    query = Query("q", "q", "count", None, Window(1_000, 1_000))
    engine = Engine(plan_of([[query]]))
    events = [{"ts": 5_000}, {"ts": 3_999}, {"ts": 4_000}, {"ts": "x"}, {}, b"{"]
    engine.batch({0: events})
    engine.batch(end=True)
    assert engine.finals() == {("q", 5_000, ()): (1.0, 1), ("q", 6_000, ()): (1.0, 1)}
    assert [(letter.offset, letter.kind, letter.reason) for letter in engine.dead_letters] == [
        (5, "malformed", "Not readable as JSON: Input data was truncated."),
        (3, "malformed", "ts is text, not a number."),
        (4, "malformed", "No event time in ts."),
        (
            1,
            "late",
            "Late: event time 1970-01-01T00:00:03.999Z is more than the allowed lateness of 1s"
            " behind its partition.",
        ),
    ]
    meter = engine.meters[0]
    assert (meter["events"], meter["accepted"], meter["malformed"], meter["late"]) == (6, 2, 3, 1)


def test_a_source_is_still_when_it_is_silent_and_all_windows_with_events_are_told():
    live = Watermark(lateness=0, awaited=[], clock=1_000_000)
    live.observe(0, 1_000_000)
    assert not live.is_still(reach=30_000)
    beat(live, STILL_AFTER_MS)
    assert not live.is_still(reach=120_000)  # a window is still open, and will end by the clock
    live.advance()
    assert live.is_still(reach=30_000)
    live.observe(0, 1_100_000)
    assert not live.is_still(reach=30_000)


def test_a_historical_source_that_is_silent_is_still_for_no_clock_ends_its_windows():
    historical = Watermark(lateness=0, awaited=[], clock=1_000_000)
    historical.observe(0, 5)
    assert not historical.is_still(reach=1)
    beat(historical, STILL_AFTER_MS)
    assert historical.is_still(reach=1_000)


def test_a_source_that_waits_for_its_first_events_is_not_still():
    assert not Watermark(lateness=0, awaited=[0], clock=1_000_000).is_still(reach=0)
    assert Watermark(lateness=0, awaited=[], clock=1_000_000).is_still(reach=0)


def test_partitions_that_were_silent_for_ten_seconds_are_not_waited_for() -> None:
    mark = Watermark(lateness=0, awaited=[2])
    mark.tick(1_000_000)
    mark.observe(0, 999_000)
    mark.observe(1, 999_500)
    assert mark.active() == [0, 1]  # the one that has shown nothing yet is none of them
    mark.tick(1_009_000)
    mark.observe(1, 1_008_000)
    mark.tick(1_010_500)
    assert mark.active() == [1]


def live_stream(lateness: int = 1_000) -> Watermark:
    """Two partitions that have just shown an event."""
    watermark = Watermark(lateness, awaited=[])
    watermark.tick(NOW)
    watermark.observe(0, NOW - 300)
    watermark.observe(1, NOW - 200)
    assert watermark.advance() == NOW - 300 - lateness
    return watermark


def test_a_broker_that_was_away_for_an_hour_made_no_partition_idle() -> None:
    watermark = live_stream()
    watermark.tick(NOW + HOUR)
    watermark.observe(1, NOW + HOUR)
    assert watermark.active() == [0, 1]
    assert watermark.advance() == NOW - 1_300
    beat(watermark, 8_000)
    watermark.observe(1, NOW + HOUR + 8_000)
    assert watermark.advance() == NOW - 1_300
    beat(watermark, 1_000)
    assert watermark.active() == [1]
    assert watermark.advance() == NOW + HOUR + 7_000


def test_a_live_stream_that_nobody_heard_for_an_hour_closes_its_windows_when_it_is_silent() -> None:
    watermark = live_stream()
    watermark.tick(NOW + HOUR)
    assert watermark.advance() == NOW - 1_300
    beat(watermark, 8_000)
    assert watermark.advance() == NOW - 1_300
    beat(watermark, 61_000)
    assert watermark.advance() == NOW - 1_200 + 60_000
    assert watermark.is_still(reach=50_000)


def test_an_old_stream_that_nobody_heard_for_long_is_still_an_old_one() -> None:
    old = Watermark(lateness=0, awaited=[])
    old.tick(NOW)
    old.observe(0, NOW - 24 * HOUR)
    assert old.advance() == NOW - 24 * HOUR
    old.tick(NOW + 24 * HOUR)
    beat(old, STILL_AFTER_MS)
    assert old.advance() == NOW - 24 * HOUR
    assert old.is_still(reach=HOUR)


def test_a_break_at_the_start_takes_nothing_of_the_time_that_partitions_are_waited_for() -> None:
    watermark = Watermark(lateness=0, awaited=[0, 1])
    watermark.tick(NOW)
    watermark.observe(0, 500)
    watermark.tick(NOW + HOUR)
    beat(watermark, 8_000)
    assert watermark.advance() == EARLIEST
    beat(watermark, 1_000)
    watermark.observe(0, 700)
    assert watermark.advance() == 700


def test_a_job_whose_heartbeats_are_all_far_apart_does_not_wait_for_ever() -> None:
    watermark = live_stream()
    for _ in range(IDLE_AFTER_MS // HEARTBEAT_MS):
        assert watermark.active() == [0, 1]
        watermark.tick(watermark.clock + 3 * BREAK_MS)
        watermark.observe(1, watermark.clock)
    assert watermark.active() == [1]


def test_a_source_asleep_follows_the_clock_at_its_slower_heartbeats() -> None:
    watermark = live_stream()
    beat(watermark, STILL_AFTER_MS)
    beat(watermark, HOUR, every=12_000)
    assert watermark.advance() == NOW - 1_200 + STILL_AFTER_MS + HOUR - IDLE_AFTER_MS
    watermark.tick(watermark.clock + HOUR)
    assert watermark.advance() == NOW - 1_200 + STILL_AFTER_MS + HOUR - IDLE_AFTER_MS + HEARTBEAT_MS


def test_processing_time_goes_on_while_nobody_listens() -> None:
    watermark = Watermark(lateness=0, awaited=[], processing_time=True)
    watermark.tick(NOW)
    watermark.observe(0, NOW)
    watermark.tick(NOW + HOUR)
    assert watermark.advance() == NOW + HOUR


@given(
    steps=st.lists(
        st.tuples(st.integers(1, 3_000), st.booleans(), st.sets(st.integers(0, 2))), min_size=1, max_size=15
    ),
    away=st.integers(BREAK_MS + 1, 24 * HOUR),
)
def test_a_break_counts_as_one_heartbeat_whenever_it_is(steps, away) -> None:
    broken, whole = Watermark(lateness=0, awaited=[3]), Watermark(lateness=0, awaited=[3])
    broken.tick(NOW)
    whole.tick(NOW)
    for step, is_break, heard in steps:
        broken.tick(broken.clock + (away if is_break else step))
        whole.tick(whole.clock + (HEARTBEAT_MS if is_break else step))
        for partition in heard:
            broken.observe(partition, NOW)
            whole.observe(partition, NOW)
        assert broken.active() == whole.active()
        assert broken.advance() == whole.advance() or not broken.active()
