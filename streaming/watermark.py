"""Millrace's own watermark: how far event time is complete, from every Kafka partition's own progress.

An event is late when it is older than the greatest event time that its partition has shown before it, less
the allowed lateness. That rule looks at the log alone, not at batches or plans, so a replay judges every
event the same way. The watermark is the least such bound over the partitions, and windows that end at or
before it are final.
"""

import msgspec
import numpy as np

from streaming.lanes import EARLIEST

IDLE_AFTER_MS = 10_000  # a partition that is silent for so long is not waited for
LIVE_WITHIN_MS = 300_000  # events this close to the clock are a live stream, whose clock is the wall clock


class PartitionProgress(msgspec.Struct, array_like=True):
    """What is known of one Kafka partition."""

    greatest: int  # the greatest event time it has shown
    active: int  # wall clock (ms) at which it last showed an event


class Watermark(msgspec.Struct, array_like=True):
    """The state of a source's event time; the same in every shard, since all see every task's report."""

    lateness: int
    awaited: list[int]  # partitions that held messages at the start and have not been read yet
    partitions: dict[int, PartitionProgress] = {}
    value: int = EARLIEST
    clock: int = 0  # newest heartbeat, wall clock in ms

    @property
    def greatest(self) -> int | None:
        return max((p.greatest for p in self.partitions.values()), default=None)

    def previous(self, partition: int) -> int:
        """The greatest event time of a partition before the coming batch."""
        progress = self.partitions.get(partition)
        return progress.greatest if progress else EARLIEST

    def observe(self, partition: int, greatest: int) -> None:
        self.partitions[partition] = PartitionProgress(max(greatest, self.previous(partition)), self.clock)
        if partition in self.awaited:
            self.awaited.remove(partition)

    def advance(self) -> int:
        """Move on, never back, and return the new value."""
        bound = self._bound()
        if bound is not None:
            self.value = max(self.value, bound)
        return self.value

    def _bound(self) -> int | None:
        if self.awaited or not self.partitions:
            return None
        busy = [p for p in self.partitions.values() if self.clock - p.active < IDLE_AFTER_MS]
        if busy:
            return min(p.greatest for p in busy) - self.lateness
        return self._bound_when_silent()

    def _bound_when_silent(self) -> int | None:
        """No partition moves. A live stream's clock goes on without it; a historical one has none."""
        last = max(self.partitions.values(), key=lambda p: p.active)
        greatest = max(p.greatest for p in self.partitions.values())
        if abs(last.active - greatest) > LIVE_WITHIN_MS:
            return None
        return greatest - self.lateness + (self.clock - last.active - IDLE_AFTER_MS)


def late(times: np.ndarray, previous: int, lateness: int) -> np.ndarray:
    """Which of a partition's events, in log order, are late; `previous` is the greatest time before them."""
    if not len(times):
        return np.zeros(0, np.bool_)
    before = np.empty(len(times), np.int64)
    before[0] = previous
    np.maximum.accumulate(times[:-1], out=before[1:])
    np.maximum(before, previous, out=before)
    return times < before - lateness
