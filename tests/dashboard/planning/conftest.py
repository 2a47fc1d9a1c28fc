from collections.abc import Iterator

import pytest

from dashboard.live.meters import process_meters
from dashboard.models import SavedQuery, Source
from dashboard.planning import service
from tests.dashboard.planning.heard import heard


@pytest.fixture
def running(hot: SavedQuery, sensors: Source) -> Iterator[Source]:
    """A source whose job has told of ten minutes of batches."""
    service.replan(sensors, "Ana added “Hot devices”")
    heard(range(0, 600, 5))
    yield sensors
    process_meters.keep_only(set())
