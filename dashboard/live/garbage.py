"""When Python looks for garbage in the web process: in quiet moments.

With a thousand open dashboards there are a million objects to look at, which takes a third of a second during
which nobody is told anything. By itself it happens whenever memory has grown by a quarter.
"""

import gc
import time

EVERY_SECONDS = 300.0
# Young objects are looked at as ever, if in larger portions; all of them only after ten million new ones.
THRESHOLDS = (10_000, 10, 100)


class QuietCollection:
    """All objects are looked at every five minutes, when whoever uses this says that nobody waits."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what is there by now, modules mostly, stays: it need not be looked at again
        gc.set_threshold(*THRESHOLDS)
        self._due = time.monotonic() + EVERY_SECONDS

    def nobody_waits(self) -> None:
        if time.monotonic() >= self._due:
            gc.collect()
            self._due = time.monotonic() + EVERY_SECONDS
