"""The events that all benchmarks read: JSON of about 100 bytes, made from their numbers alone.

An event's device, time and temperature follow from its number, so that a topic, a table for DuckDB and a
second topic in another format hold the same events without any of them being kept. The phases of a stream let
windows fill: a thin lead-in as long as the longest range, in which every device still speaks, then the part
that is measured.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

START = 1_767_225_600_000  # ms since the epoch
PARTITIONS = 4
DEVICE_STEP = 7919  # prime to all numbers of devices: a thousand events in a row are of a thousand devices
CHUNK = 40_000


@dataclass(frozen=True)
class Phase:
    """So many seconds of event time at so many events a second."""

    seconds: int
    per_second: int

    @property
    def events(self) -> int:
        return self.seconds * self.per_second


@dataclass(frozen=True)
class Stream:
    """Events in order of time. Device n is always in partition n mod 4, and all partitions go on alike."""

    phases: Sequence[Phase]
    devices: int = 1_000
    jitter: int = 0  # ms that an event may be older than its place says

    @property
    def events(self) -> int:
        return sum(phase.events for phase in self.phases)

    @property
    def end(self) -> int:
        """The end of event time, in ms since the epoch."""
        return START + 1000 * self.seconds

    @property
    def seconds(self) -> int:
        return sum(phase.seconds for phase in self.phases)

    def events_before(self, instant: int) -> int:
        """How many events come before an instant (ms since the epoch), jitter aside.

        >>> stream = Stream([Phase(10, 100), Phase(10, 1_000)])
        >>> [stream.events_before(START + ms) for ms in (-5, 0, 10_000, 10_500, 99_000)]
        [0, 0, 1000, 1500, 11000]
        """
        passed, before = max(0, instant - START), 0
        for phase in self.phases:
            inside = min(passed, 1000 * phase.seconds)
            before += inside * phase.per_second // 1000
            passed -= inside
        return before

    def table(self, low: int, high: int) -> pa.Table:
        """The events with numbers from `low` to below `high`."""
        numbers = np.arange(low, high, dtype=np.int64)
        device = numbers * DEVICE_STEP % self.devices
        scrambled = (numbers.astype(np.uint64) * np.uint64(2_654_435_761)) >> np.uint64(7)
        late = (scrambled % np.uint64(self.jitter + 1)).astype(np.int64)
        return pa.table(
            {
                "device": np.char.add("d", device.astype(np.str_)),
                "ts": self._times(numbers) - late,
                # One division, so that it is the number that its decimals in a message are read as.
                "temp": (scrambled % np.uint64(20_000) + np.uint64(15_000)).astype(np.float64) / 1000,
                "status": np.where(numbers % 8 == 5, "hot", "ok"),
                "site": np.char.add(
                    np.char.add("plant-", np.char.zfill((device % 20).astype(np.str_), 2)),
                    np.char.add("-line-", (device % 8).astype(np.str_)),
                ),
            }
        )

    def tables(self) -> Iterator[tuple[int, pa.Table]]:
        """All events, with the number of the first of each table."""
        for low in range(0, self.events, CHUNK):
            yield low, self.table(low, min(low + CHUNK, self.events))

    def _times(self, numbers: np.ndarray) -> np.ndarray:
        ends = np.cumsum([phase.events for phase in self.phases])
        phase = np.searchsorted(ends, numbers, side="right")
        first = np.concatenate([[0], ends])[phase]
        seconds = np.concatenate([[0], np.cumsum([phase.seconds for phase in self.phases])])[phase]
        rate = np.array([phase.per_second for phase in self.phases])[np.minimum(phase, len(self.phases) - 1)]
        return START + seconds * 1000 + (numbers - first) * 1000 // rate


def json_messages(table: pa.Table) -> list[bytes]:
    """One JSON object for each event, fields in the order of the table.

    >>> json_messages(Stream([Phase(1, 1_000)]).table(1, 2))[0].decode()
    '{"device":"d919","ts":1767225600001,"temp":32.779,"status":"ok","site":"plant-19-line-7","unit":"celsius"}'
    """
    columns = (table.column(name).to_pylist() for name in ("device", "ts", "temp", "status", "site"))
    return [
        b'{"device":"%s","ts":%d,"temp":%.3f,"status":"%s","site":"%s","unit":"celsius"}'
        % (device.encode(), ts, temp, status.encode(), site.encode())
        for device, ts, temp, status, site in zip(*columns, strict=True)
    ]
