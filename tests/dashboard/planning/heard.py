"""Batches as this process has heard of them."""

import time
from collections.abc import Iterable
from typing import Any

from dashboard.live.meters import process_meters
from tests.dashboard.live.messages import meter

CLOCK = (int(time.time()) // 300 - 4) * 300_000  # where five minutes begin


def heard(seconds: Iterable[int], **changed: Any) -> None:
    for second in seconds:
        process_meters.add(meter(second, clock=CLOCK + second * 1_000, **changed))  # type: ignore[arg-type]
