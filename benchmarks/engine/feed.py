"""A live stream: so many events a second, each with the time at which it is sent as its event time.

A program of its own, so that sending does not wait for what the benchmark does meanwhile:
`python -m benchmarks.engine.feed BOOTSTRAP_SERVERS TOPIC EVENTS_PER_SECOND SECONDS`.
"""

import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice

import numpy as np
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

from benchmarks.engine.events import PARTITIONS, Phase, Stream, json_messages
from benchmarks.engine.kafka import end_offset, producer
from streaming.kafka_connection import Connection, raise_for
from streaming.tether import tethered

TEMPLATES = 20_000  # different events, sent again and again with new times
EVERY_SECONDS = 0.005
FAST = 10_000  # events a second
EVERY_SECONDS_FAST = 0.01
TURNS = 8  # different batches of each partition
MARK = b"0123456789876"  # stands where a time will be
# Places in a record batch (Kafka's protocol guide, “Record Batch”).
CHECKSUM, CHECKED_FROM, FIRST_TIMESTAMP = 17, 21, 27


@contextmanager
def running(
    bootstrap_servers: str, topic: str, per_second: int, seconds: float
) -> Iterator[subprocess.Popen[bytes]]:
    """The feed as a process, ended with the block, which begins when its first events are on the topic."""
    arguments = [bootstrap_servers, topic, str(per_second), str(seconds)]
    process = subprocess.Popen(tethered([sys.executable, "-m", "benchmarks.engine.feed", *arguments]))
    try:
        while not end_offset(bootstrap_servers, topic):
            if process.poll() is not None:
                raise RuntimeError("The feed ended before it had sent anything.")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


def templates() -> list[tuple[bytes, bytes, bytes]]:
    """Key, and what stands before and after the time, of many events."""
    table = Stream([Phase(TEMPLATES, 1)]).table(0, TEMPLATES)
    pieces = []
    for message, key in zip(json_messages(table), table.column("device").to_pylist(), strict=True):
        head, mark, rest = message.partition(b'"ts":')
        pieces.append((key.encode(), head + mark, rest[rest.index(b",") :]))
    return pieces


def feed(bootstrap_servers: str, topic: str, per_second: int, seconds: float) -> None:
    (feed_fast if per_second >= FAST else feed_slowly)(bootstrap_servers, topic, per_second, seconds)


def feed_slowly(bootstrap_servers: str, topic: str, per_second: int, seconds: float) -> None:
    sender = producer(bootstrap_servers, linger_ms=0)
    events = cycle(enumerate(templates()))
    began, sent = time.time(), 0
    while (passed := time.time() - began) < seconds:
        due = int(passed * per_second) - sent
        now = b"%d" % int(time.time() * 1000)
        batch = [
            {"key": key, "value": head + now + tail, "partition": number % PARTITIONS}
            for number, (key, head, tail) in islice(events, due)
        ]
        if batch:
            sender.produce_batch(topic, batch)
        sender.poll(0)
        sent += due
        time.sleep(EVERY_SECONDS)
    sender.flush()


def feed_fast(bootstrap_servers: str, topic: str, per_second: int, seconds: float) -> None:
    """Ready-made record batches with new times: a producer library would take a core for itself."""
    each = max(1, int(per_second * EVERY_SECONDS_FAST / PARTITIONS))
    made = templates()
    turns = [
        [
            RecordBatch(made[(turn * PARTITIONS + number) * each % len(made) :][:each])
            for number in range(PARTITIONS)
        ]
        for turn in range(TURNS)
    ]
    connection = Connection(bootstrap_servers, {})
    began, sent = time.time(), 0
    for batches in cycle(turns):
        while sent > (time.time() - began) * per_second:
            time.sleep(0.001)
        now = int(time.time() * 1000)
        _produce(connection, topic, [batch.at(now) for batch in batches])
        sent += sum(batch.events for batch in batches)
        if time.time() - began > seconds:
            break
    connection.close()


class RecordBatch:
    """Events as Kafka stores them, all of one time, which can be set anew."""

    def __init__(self, events: Sequence[tuple[bytes, bytes, bytes]]) -> None:
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=0,
            is_transactional=False,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 30,
        )
        for offset, (key, head, tail) in enumerate(events):
            builder.append(offset, timestamp=0, key=key, value=head + MARK + tail, headers=[])
        self.events = len(events)
        self._data = np.frombuffer(bytes(builder.build()), np.uint8).copy()
        found = [at.start() for at in re.finditer(MARK, self._data.tobytes())]
        self._digits = np.array(found)[:, None] + np.arange(len(MARK))

    def at(self, now: int) -> bytes:
        self._data[self._digits] = np.frombuffer(b"%013d" % now, np.uint8)
        data = self._data.data
        struct.pack_into(">qq", data, FIRST_TIMESTAMP, now, now)
        struct.pack_into(">I", data, CHECKSUM, calc_crc32c(data[CHECKED_FROM:]))
        return self._data.tobytes()


def _produce(connection: Connection, topic: str, batches: Sequence[bytes]) -> None:
    of_topic = ProduceRequest.TopicProduceData
    parts = [of_topic.PartitionProduceData(index=at, records=data) for at, data in enumerate(batches)]
    request = ProduceRequest(
        version=9,
        transactional_id=None,
        acks=1,
        timeout_ms=10_000,
        topic_data=[of_topic(name=topic, partition_data=parts)],
    )
    for part in connection.ask(request).responses[0].partition_responses:
        raise_for(part.error_code, part.index)


if __name__ == "__main__":
    feed(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
