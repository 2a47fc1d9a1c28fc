"""Where the last batch ended: written by a shard, read by the next batch's map tasks.

Map tasks are stateless, but two things they do depend on the past: which plan cuts an event, and whether an
event is late, for its partition or for the source. Both are in the progress record of the batch before.
Shards check that a task used the right one (`StaleTask`). The planning of batches reads here whether there is
a past to read back (`streaming/recall.py`); it loads nothing that is compiled, so the timeline stays encoded.
"""

import time

import msgspec
from kafka import KafkaConsumer, TopicPartition

from streaming.accounting import Counts

WAIT_SECONDS = 15.0
LOOK_BACK = 16  # a crashed attempt may have written newer records than the one a replayed batch needs


class Progress(msgspec.Struct, array_like=True):
    batch: int
    timeline: msgspec.Raw  # an encoded streaming.lanes.Timeline
    greatest: dict[int, int]  # per Kafka partition, the greatest event time so far, none beyond the clock
    watermark: int
    ended: bool = False  # the end of the data was reached and every window is closed
    totals: Counts = msgspec.field(default_factory=Counts)  # since the stream's start
    wanted: tuple[int, int] | None = None  # the plan that a past is to be read for next, and from when on
    is_still: bool = False  # nothing happens, and nothing is due: the clock need not tick every second
    recalled: tuple[int, dict[int, int]] = (0, {})  # the plan one was last read for; greatest times so far
    refused: dict[int, bytes] = {}  # while a past is wanted (`streaming/refused.py`)


class ProgressReader:
    """Reads one source's progress topic; kept by a worker process from batch to batch."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._partition = TopicPartition(topic, 0)
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            group_id=None,
            enable_auto_commit=False,
            fetch_max_wait_ms=20,
            fetch_min_bytes=1,
            reconnect_backoff_max_ms=1_000,
        )
        self._consumer.assign([self._partition])
        self._known_end = self._consumer.end_offsets([self._partition])[self._partition]
        self._consumer.seek(self._partition, max(0, self._known_end - LOOK_BACK))
        self._records: dict[int, Progress] = {}

    def after(self, batch: int) -> Progress:
        """The progress after `batch`; it is there before the next batch starts, but may be in flight."""
        deadline = time.monotonic() + WAIT_SECONDS
        rewound = False
        self._take(timeout_ms=0)  # of a batch that was run again, the last record counts
        while batch not in self._records:
            if self._records and batch < min(self._records) and not rewound:
                self._consumer.seek_to_beginning(self._partition)  # a batch that failed often pushed it back
                rewound = True
            self._take(timeout_ms=100)
            if time.monotonic() > deadline and batch not in self._records:
                _readers.clear()  # a connection that is broken for good must not be used again
                raise RuntimeError(
                    f"Kafka did not tell the progress of batch {batch} from topic {self._partition.topic}."
                )
        return self._records[batch]

    def newest(self, timeout_ms: int = 100) -> Progress | None:
        """The newest record there is by now; None before all that there were at first have been read."""
        self._take(timeout_ms)
        if not self._records or self._consumer.position(self._partition) < self._known_end:
            return None
        return self._records[max(self._records)]

    def _take(self, timeout_ms: int) -> None:
        """Take in what has come. Only the newest are kept: each holds a whole timeline."""
        for record in self._consumer.poll(timeout_ms=timeout_ms).get(self._partition, []):
            progress = msgspec.msgpack.decode(record.value, type=Progress)
            self._records[progress.batch] = progress
        for old in sorted(self._records)[:-LOOK_BACK]:
            del self._records[old]

    def close(self) -> None:
        self._consumer.close()


_readers: dict[tuple[str, str], ProgressReader] = {}


def reader(bootstrap_servers: str, topic: str) -> ProgressReader:
    """This process's reader of a topic."""
    key = (bootstrap_servers, topic)
    if key not in _readers:
        _readers[key] = ProgressReader(*key)
    return _readers[key]
