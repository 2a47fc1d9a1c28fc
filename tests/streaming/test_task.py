"""Event times are taken as the source says; what has none is not guessed."""

from dataclasses import replace

import pyarrow as pa
import pytest

from streaming.task import event_times
from tests.streaming.engine import SOURCE

NEW_YEAR = 1_767_225_600_000  # 2026-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("s", NEW_YEAR / 1000, NEW_YEAR),
        ("s", NEW_YEAR / 1000 + 0.25, NEW_YEAR + 250),
        ("ms", float(NEW_YEAR), NEW_YEAR),
        ("us", NEW_YEAR * 1e3, NEW_YEAR),
        ("ns", NEW_YEAR * 1e6, NEW_YEAR),
        ("iso", "2026-01-01T00:00:00Z", NEW_YEAR),
        ("iso", "2026-01-01T01:00:00+01:00", NEW_YEAR),
        ("iso", "2026-01-01 00:00:00.125", NEW_YEAR + 125),
        ("iso", "2025-12-31T19:00:00-05:00", NEW_YEAR),
    ],
)
def test_a_time_is_read_in_the_unit_of_the_source(unit, value, expected):
    table = pa.table({"ts": pa.array([value])})
    times, known = event_times(replace(SOURCE, time_unit=unit), table, pa.array([0]))
    assert (times.tolist(), known.tolist()) == ([expected], [True])


@pytest.mark.parametrize(("unit", "value"), [("ms", None), ("iso", "yesterday"), ("iso", None)])
def test_a_time_that_cannot_be_read_is_not_known(unit, value):
    table = pa.table({"ts": pa.array([value], pa.string() if unit == "iso" else pa.float64())})
    assert event_times(replace(SOURCE, time_unit=unit), table, pa.array([0]))[1].tolist() == [False]


def test_without_an_event_time_field_the_message_timestamp_counts():
    source = replace(SOURCE, event_time=None)
    times, known = event_times(source, pa.table({"": pa.nulls(2)}), pa.array([5, 7]))
    assert (times.tolist(), known.tolist()) == ([5, 7], [True, True])
