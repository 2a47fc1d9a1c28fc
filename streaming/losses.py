"""Messages that Kafka removed unread: Spark passes over them in silence, so they are counted here."""

import json
import time
from contextlib import suppress
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery

from streaming import spark as engine
from streaming.watch import TopicView

LOSS_IS_NEWS = 3_600.0  # seconds for which the page tells of it


class LostMessages:
    """Counts the messages that Kafka removed before they were read; the count outlives the job."""

    def __init__(self, path: Path, topic: str) -> None:
        self._path = path
        self._topic = topic
        self._unjudged: list[tuple[int, engine.BatchRead]] = []  # with the number of looks before it
        self._newest = -1
        self._noticed: float | None = None
        self.total = _read_number(path)

    def take(self, query: StreamingQuery, looks: int) -> None:
        """Note the batches that have finished since the last call."""
        for batch in engine.batches_read(query, self._topic, self._newest):
            self._newest = batch.batch
            self._unjudged.append((looks, batch))

    def judge(self, view: TopicView, looks: int) -> int:
        """How many messages are newly known to be lost, by a look at the topic that began after their batch.

        Not every gap is a loss: compacted topics and transactions leave some. Those lie where the topic
        still holds messages.
        """
        due = [batch for before, batch in self._unjudged if looks >= before + 2]
        self._unjudged = [(before, batch) for before, batch in self._unjudged if looks < before + 2]
        lost = sum(lost_in(batch, view.first) for batch in due)
        if lost:
            self._noticed = time.monotonic()
            self.total += lost
            with suppress(OSError):  # a full disk: the count is told all the same
                engine.write_whole(self._path, json.dumps(self.total))
        return lost

    @property
    def sentence(self) -> str | None:
        """For the page, as long as it is news."""
        if self._noticed is None or time.monotonic() - self._noticed > LOSS_IS_NEWS:
            return None
        return (
            f"Kafka removed {self.total:,} messages of “{self._topic}” before they were read; "
            "the windows that they belong to are incomplete."
        )


def lost_in(batch: engine.BatchRead, first: dict[int, int]) -> int:
    """The messages of a batch that were removed from the topic before they were read.

    >>> lost_in(engine.BatchRead(7, {0: 10}, {0: 50}, messages=25), first={0: 30})
    15
    >>> lost_in(engine.BatchRead(7, {0: 10}, {0: 50}, messages=25), first={0: 0})
    0

    The first batch of all begins where the topic did.

    >>> lost_in(engine.BatchRead(0, {}, {0: 1_050}, messages=50), first={0: 1_000})
    0
    """
    if not batch.start:
        return 0
    # A partition that was added meanwhile is read from its beginning.
    spans = [(part, batch.start.get(part, 0), end) for part, end in batch.end.items()]
    wanted = sum(end - start for _, start, end in spans)
    removed = sum(max(0, min(end, first.get(part, 0)) - start) for part, start, end in spans)
    return max(0, min(wanted - batch.messages, removed))


def _read_number(path: Path) -> int:
    try:
        return int(json.loads(path.read_text()))
    except (OSError, ValueError):
        return 0
