"""The watermark follows the slowest busy partition, and lateness depends on the log alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optimizer.queries import Query
from optimizer.windows import Window
from streaming.lanes import EARLIEST
from streaming.watermark import IDLE_AFTER_MS, Watermark, late
from tests.streaming.engine import Engine, plan_of


@given(st.lists(st.integers(0, 100)), st.integers(0, 30), st.data())
def test_lateness_does_not_depend_on_how_the_log_is_cut_into_batches(times, lateness, data):
    whole = late(np.array(times, np.int64), EARLIEST, lateness).tolist()
    pieces, previous, at = [], EARLIEST, 0
    while at < len(times):
        size = data.draw(st.integers(1, len(times) - at))
        piece = np.array(times[at : at + size], np.int64)
        pieces += late(piece, previous, lateness).tolist()
        previous, at = max(previous, int(piece.max())), at + size
    assert pieces == whole
    assert whole == [t < max(times[:i], default=t) - lateness for i, t in enumerate(times)]


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
    assert [(letter.offset, letter.reason) for letter in engine.dead_letters] == [
        (3, "ts is text, not a number."),
        (5, "Not readable as JSON: Input data was truncated."),
        (4, "No event time in ts."),
        (1, "Late: event time 3999 is more than the allowed lateness behind."),
    ]
    meter = engine.meters[0]
    assert (meter["events"], meter["malformed"], meter["late"]) == (6, 3, 1)
