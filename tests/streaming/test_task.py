"""Event times are taken as the source says; what has none is not guessed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streaming.event_time import event_times
from streaming.lanes import EARLIEST
from streaming.sources import SourceSpec
from tests.streaming.engine import SOURCE

NEW_YEAR = 1_767_225_600_000  # 2026-01-01T00:00:00Z
NOW = NEW_YEAR + 1_000
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00")
TWICE = datetime.fromisoformat("2026-10-25T02:30:00")  # in Berlin, where clocks go back an hour at three
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")


def read(source: SourceSpec, values: pa.Array) -> tuple[list[int], list[bool]]:
    timestamps = np.zeros(len(values), np.int64)
    times, known = event_times(source, pa.table({"ts": values}), timestamps, NOW, EARLIEST)
    return times.tolist(), known.tolist()


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("s", NEW_YEAR / 1000, NEW_YEAR),
        ("s", NEW_YEAR / 1000 + 0.25, NEW_YEAR + 250),
        ("ms", float(NEW_YEAR), NEW_YEAR),
        ("us", NEW_YEAR * 1e3, NEW_YEAR),
        ("ns", NEW_YEAR * 1e6, NEW_YEAR),
        ("ns", (NEW_YEAR + 250) * 1e6, NEW_YEAR + 250),
        ("ns", (NEW_YEAR + 250) * 1e6 - 1e3, NEW_YEAR + 249),
        ("iso", "2026-01-01T00:00:00Z", NEW_YEAR),
        ("iso", "2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("iso", "2026-01-01 00:00:00.125", NEW_YEAR + 125),
        ("iso", "2025-12-31T19:00:00-05:00", NEW_YEAR),
    ],
)
def test_a_time_is_read_in_the_unit_of_the_source(unit, value, expected):
    assert read(replace(SOURCE, time_unit=unit), pa.array([value])) == ([expected], [True])


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("ms", None),
        ("ms", float("inf")),
        ("ms", 1e16),
        ("s", -1e13),
        ("iso", "yesterday"),
        ("iso", "290000-01-01T00:00:00Z"),
        ("iso", None),
        ("pattern", "2026-01-01"),
        ("pattern", None),
    ],
)
def test_a_time_that_cannot_be_read_is_not_known(unit, value):
    texts = unit in ("iso", "pattern")
    column = pa.array([value], pa.string() if texts else pa.float64())
    source = replace(SOURCE, time_unit=unit, time_pattern="%d.%m.%Y")
    assert read(source, column)[1] == [False]


@settings(max_examples=60, deadline=None)
@example(zone="Europe/Berlin", moments=[TWICE, TWICE - timedelta(hours=1)], iso=True)
@example(zone="Europe/Berlin", moments=[TWICE, TWICE + timedelta(hours=1)], iso=False)
@given(
    zone=st.sampled_from(ZONES),
    moments=st.lists(st.integers(0, 2_000_000_000).map(lambda s: EPOCH + timedelta(seconds=s)), min_size=1),
    iso=st.booleans(),
)
def test_texts_without_a_zone_are_times_of_the_source_s_zone(zone, moments, iso):
    """Python's zoneinfo is the judge; where clocks go back, the second of two equal times counts."""
    texts = [moment.isoformat() if iso else f"{moment:%d/%m/%Y %H'%M'%S}" for moment in moments]
    unit = "iso" if iso else "pattern"
    source = replace(SOURCE, time_unit=unit, time_pattern="%d/%m/%Y %H'%M'%S", time_zone=zone)
    times, known = read(source, pa.array(texts))
    assert all(known)
    for moment, time in zip(moments, times, strict=True):
        local = moment.replace(tzinfo=ZoneInfo(zone), fold=1)
        wanted = local.astimezone(UTC)
        if wanted.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != moment:
            continue  # clocks went forward over it: no such time
        assert time == wanted.timestamp() * 1_000


def test_a_zone_in_the_text_goes_before_that_of_the_source():
    berlin = replace(SOURCE, time_zone="Europe/Berlin", time_pattern="%Y-%m-%d %H:%M %z")
    assert read(replace(berlin, time_unit="iso"), pa.array(["2025-12-31T19:00:00-05:00"]))[0] == [NEW_YEAR]
    assert read(replace(berlin, time_unit="pattern"), pa.array(["2026-01-01 05:45 +0545"]))[0] == [NEW_YEAR]


def test_without_an_event_time_field_the_message_timestamp_counts():
    source = replace(SOURCE, event_time=None)
    times, known = event_times(source, pa.table({"": pa.nulls(3)}), np.array([5, 7, -1]), NOW, EARLIEST)
    assert (times.tolist()[:2], known.tolist()) == ([5, 7], [True, True, False])


@given(st.integers(NEW_YEAR - 10**9, NEW_YEAR + 10**9), st.integers(0, 999))
def test_nanoseconds_are_in_their_millisecond_though_floats_do_not_hold_them(milliseconds, microseconds):
    value = float(milliseconds * 10**6 + microseconds * 10**3)
    assert read(replace(SOURCE, time_unit="ns"), pa.array([value]))[0] == [milliseconds]


def test_a_timestamp_that_no_calendar_holds_is_no_event_time():
    timestamps = np.array([NEW_YEAR, 2**62, -1])
    nothing = pa.table({"": pa.nulls(3)})
    _, known = event_times(replace(SOURCE, event_time=None), nothing, timestamps, NOW, EARLIEST)
    assert known.tolist() == [True, False, False]


@pytest.mark.parametrize(("watermark", "expected"), [(EARLIEST, NOW), (NOW + 7, NOW + 7)])
def test_processing_time_is_the_batch_s_and_never_before_the_watermark(watermark, expected):
    source = replace(SOURCE, processing_time=True)
    times, known = event_times(source, pa.table({"": pa.nulls(2)}), np.array([5, 7]), NOW, watermark)
    assert (times.tolist(), known.tolist()) == ([expected] * 2, [True, True])


def test_a_source_written_before_a_setting_was_there_has_its_default():
    told = SOURCE.to_json()
    for later in (
        "time_pattern",
        "time_zone",
        "processing_time",
        "future_bound",
        "past_bound",
        "isolation",
    ):
        del told[later]
    assert SourceSpec.from_json(told) == SOURCE
    changed = replace(
        SOURCE, time_zone="Europe/Berlin", processing_time=True, future_bound=None, past_bound=7
    )
    assert SourceSpec.from_json(changed.to_json()) == changed
    assert changed.stream != SOURCE.stream
    assert replace(SOURCE, isolation="read_uncommitted").stream != SOURCE.stream
