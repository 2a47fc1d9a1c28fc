"""Event times are read alike, whatever was read before, and only from fields that can hold them."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from streaming.event_time import UnfitTime, check_field, event_times
from streaming.lanes import EARLIEST
from streaming.sources import TIME_UNITS, SourceSpec


def times_of(column: pa.Array, **source: str) -> list[int]:
    spec = SourceSpec("s", "", "", event_time="at", **source)
    times, known = event_times(spec, pa.table({"at": column}), np.zeros(len(column)), 0, EARLIEST)
    assert known.all()
    return times.tolist()


def test_a_reading_that_fails_spoils_no_other() -> None:
    for zone, expected in (("Europe/Berlin", 1_767_222_000_000), ("UTC", 1_767_225_600_000)):
        iso = {"time_unit": "iso", "time_zone": zone}
        pattern = {"time_unit": "pattern", "time_pattern": "%d.%m.%Y", "time_zone": zone}
        for _ in range(2):
            with pytest.raises(duckdb.Error):
                times_of(pa.array([1.5]), **pattern)
            assert times_of(pa.array(["2026-01-01T00:00:00"]), **iso) == [expected]
            assert times_of(pa.array(["01.01.2026"]), **pattern) == [expected]


@pytest.mark.parametrize("unit", TIME_UNITS)
def test_a_field_fits_the_unit_that_its_values_can_be_written_in(unit: str) -> None:
    for kind in ("text", "integer", "number"):
        if (kind == "text") == (unit in ("iso", "pattern")):
            check_field("at", kind, unit)
            continue
        with pytest.raises(UnfitTime) as refused:
            check_field("at", kind, unit)
        assert refused.value.about == "time_unit"
    for unfit in ("boolean", None):
        with pytest.raises(UnfitTime, match=r"^“at” cannot hold the event time: choose") as refused:
            check_field("at", unfit, unit)
        assert refused.value.about == "event_time"
