"""Messages that Kafka removed unread: map tasks count them, and the job says so while it is news."""

import time

from streaming.progress import ProgressReader

LOSS_IS_NEWS = 3_600.0  # seconds for which the page tells of it


class LostMessages:
    """How many messages of a source Kafka removed before they were read."""

    def __init__(self, topic: str, progress: ProgressReader) -> None:
        self._topic = topic
        self._progress = progress
        self._noticed: float | None = None
        self.total = 0

    def look(self) -> int:
        """How many are newly known to be lost."""
        newest = self._progress.newest(timeout_ms=0)
        if newest is None:
            return 0
        newly = newest.totals.removed - self.total
        self.total = newest.totals.removed
        if newly:
            self._noticed = time.monotonic()
        return newly

    def close(self) -> None:
        self._progress.close()

    @property
    def sentence(self) -> str | None:
        """For the page, as long as it is news."""
        if self._noticed is None or time.monotonic() - self._noticed > LOSS_IS_NEWS:
            return None
        return (
            f"Kafka removed {self.total:,} messages of “{self._topic}” before they were read; "
            "the windows that they belong to are incomplete."
        )
