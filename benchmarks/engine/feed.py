"""A live stream: so many events a second, each with the time at which it is sent as its event time.

A program of its own, so that sending does not wait for what the benchmark does meanwhile:
`python -m benchmarks.engine.feed BOOTSTRAP_SERVERS TOPIC EVENTS_PER_SECOND SECONDS`.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

from benchmarks.engine.events import PARTITIONS, Phase, Stream, json_messages
from benchmarks.engine.kafka import end_offset, producer
from streaming.tether import tethered

TEMPLATES = 20_000  # different events, sent again and again with new times
EVERY_SECONDS = 0.005


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
    sender = producer(bootstrap_servers, linger_ms=0 if per_second < 10_000 else 5)
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


if __name__ == "__main__":
    feed(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
