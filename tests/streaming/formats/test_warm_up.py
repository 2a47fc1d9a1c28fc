"""The warm-up reads a message of every format, so that the scans are compiled."""

from streaming.formats import FORMATS
from streaming.formats.warm_up import warm_up


def test_every_format_is_warmed_up():
    decoded = warm_up()
    assert set(decoded) == set(FORMATS)
    for item in decoded.values():
        assert item.table.to_pylist() == [{"text": "a", "number": 0.0}]
