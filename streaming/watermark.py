"""Millrace's own watermark: how far event time is complete, from every Kafka partition's own progress.

An event is late when it is older than the greatest event time that its partition has shown before it, less
the allowed lateness; that rule looks at the log alone, not at batches or plans. The watermark is the least
such bound over the partitions that are waited for, and windows that end at or before it are final. An event
that is older than the watermark of the batch before is late, too: only a partition that was not waited for
can bring one. docs/time.md has the rules with examples.
"""

import msgspec
import numpy as np

from streaming.lanes import EARLIEST

IDLE_AFTER_MS = 10_000  # a partition that is silent for so long is not waited for
STILL_AFTER_MS = 60_000  # a source that is silent for so long may be asleep
# Without a heartbeat for longer, the job was down or its broker away. A source asleep has one every 10 s.
BREAK_MS, BREAK_ASLEEP_MS = 10_000, 20_000
HEARTBEAT_MS = 1_000  # mostly between two; a break counts as much, as some jobs know nothing but breaks
LIVE_WITHIN_MS = 300_000  # events this close to the clock are a live stream, whose clock is the wall clock


class PartitionProgress(msgspec.Struct, array_like=True):
    """What is known of one Kafka partition."""

    greatest: int  # the greatest event time it has shown, none counted beyond its message's clock
    active: int  # wall clock (ms) at which it last showed an event, moved on by breaks since then


class Watermark(msgspec.Struct, array_like=True):
    """The state of a source's event time; the same in every shard, since all see every task's report."""

    lateness: int
    awaited: list[int]  # partitions that held messages at the start and have not shown an event yet
    partitions: dict[int, PartitionProgress] = {}
    value: int = EARLIEST
    clock: int = 0  # newest heartbeat, wall clock in ms
    greatest: int | None = None  # the greatest event time accepted, however far ahead of the clock
    began: int = 0  # the first heartbeat
    processing_time: bool = False  # no event will be older than the clock
    unheard: int = 0  # how far breaks have moved on the partition that showed the newest event

    def previous(self, partition: int) -> int:
        """The greatest event time of a partition before the coming batch."""
        progress = self.partitions.get(partition)
        return progress.greatest if progress else EARLIEST

    def tick(self, clock: int) -> None:
        """Hear a heartbeat. What was read before the first one has been silent for no time yet."""
        if self.clock == 0:
            self.began = clock
            for progress in self.partitions.values():
                progress.active = clock
        else:
            self._pass_over_break(clock - self.clock)
        self.clock = max(self.clock, clock)

    def _pass_over_break(self, passed: int) -> None:
        """While nobody listened no partition was silent: what came is still to be read, or to be sent."""
        if passed <= (BREAK_ASLEEP_MS if self._may_be_asleep() else BREAK_MS):
            return
        unheard = passed - HEARTBEAT_MS
        self.began += unheard
        self.unheard += unheard
        for progress in self.partitions.values():
            progress.active += unheard

    def observe(self, partition: int, greatest: int, furthest: int | None = None) -> None:
        """Take in accepted events of a partition: how far they bring it, and the furthest of them."""
        self.partitions[partition] = PartitionProgress(max(greatest, self.previous(partition)), self.clock)
        self.unheard = 0
        furthest = greatest if furthest is None else furthest
        self.greatest = furthest if self.greatest is None else max(self.greatest, furthest)
        if partition in self.awaited:
            self.awaited.remove(partition)

    def advance(self) -> int:
        """Move on, never back, and return the new value."""
        bound = self._bound()
        if bound is not None:
            self.value = max(self.value, bound)
        return self.value

    def active(self) -> list[int]:
        """The partitions that are waited for, since they have shown an event of late."""
        return sorted(
            number for number, part in self.partitions.items() if self.clock - part.active < IDLE_AFTER_MS
        )

    def is_still(self, reach: int) -> bool:
        """Whether more ticks of the clock would end no window that holds an event; `reach` is the longest."""
        if not self._may_be_asleep():
            return False
        if self.greatest is None or self.value >= self.greatest + reach:
            return True
        return not self.processing_time and self._bound_when_silent() is None

    def _may_be_asleep(self) -> bool:
        return not self.awaited and all(
            self.clock - part.active >= STILL_AFTER_MS for part in self.partitions.values()
        )

    def _bound(self) -> int | None:
        if self.processing_time:
            return max(self.clock, self.greatest or 0)
        # A partition that shows nothing readable must not hold up the others for ever.
        awaiting = bool(self.awaited) and self.clock - self.began < IDLE_AFTER_MS
        if awaiting or not self.partitions:
            return None
        busy = [p for p in self.partitions.values() if self.clock - p.active < IDLE_AFTER_MS]
        if busy:
            return min(p.greatest for p in busy) - self.lateness
        return self._bound_when_silent()

    def _bound_when_silent(self) -> int | None:
        """No partition moves. A live stream's clock goes on without it; a historical one has none."""
        last = max(self.partitions.values(), key=lambda p: p.active)
        greatest = max(p.greatest for p in self.partitions.values())
        if abs(last.active - self.unheard - greatest) > LIVE_WITHIN_MS:
            return None
        return greatest - self.lateness + (self.clock - last.active - IDLE_AFTER_MS)


def late(times: np.ndarray, marks: np.ndarray, previous: int, lateness: int) -> np.ndarray:
    """Which of a partition's events, in log order, are late.

    `marks` is how far each of them brings its partition, `previous` how far it had come before them.
    """
    if not len(times):
        return np.zeros(0, np.bool_)
    before = np.empty(len(times), np.int64)
    before[0] = previous
    np.maximum.accumulate(marks[:-1], out=before[1:])
    np.maximum(before, previous, out=before)
    return times < before - lateness
