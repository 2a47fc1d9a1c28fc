"""Sends results as a job would: every query once a second, the value being the time at which it was sent.

With `--past` it sends what so many seconds have brought, at once, and ends.
"""

import argparse
import json
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import numpy as np
from confluent_kafka import Producer

from streaming.results import ResultBlock, encode
from streaming.topics import Topics

LATENESS_MS = 3_000


class Feed:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self._producer = Producer({"bootstrap.servers": arguments.kafka, "linger.ms": 0})
        self._topics = Topics(arguments.prefix)
        self._windows: list[str] = json.loads(Path(arguments.windows).read_text())
        self._slide = arguments.slide * 1000
        self._groups = max(1, arguments.groups)
        names = [[f"d{at}"] for at in range(self._groups)] if arguments.groups else [[]]
        self._keys = msgspec.Raw(msgspec.msgpack.encode(names))
        self._batch = 0

    def tick(self, ago: int = 0) -> None:
        """One batch of so many ms ago: the newest window final where it is over, the next one provisional."""
        now = int(time.time() * 1000) - ago
        self._batch = now // 1000
        end = now // self._slide * self._slide
        for window in self._windows:
            blocks = [self._block(window, end, now, final=True)]
            if self._slide > 1_000:
                blocks.append(self._block(window, end + self._slide, now, final=False))
            for block in blocks:
                self._producer.produce(self._topics.results, encode([block]))
        self._producer.produce(self._topics.meters, json.dumps(self._meter(now)))
        self._producer.produce(self._topics.status, json.dumps(self._status(now)))
        self._producer.flush()

    def _block(self, window: str, end: int, now: int, *, final: bool) -> ResultBlock:
        values = now + np.arange(self._groups) / 1_000
        return ResultBlock(
            source="bench",
            query=window,
            plan=1,
            start=end - 60_000,
            end=end,
            shard=0,
            batch=self._batch,
            final=final,
            keys=self._keys,
            values=values.tobytes(),
            counts=np.full(self._groups, 9, np.int32).tobytes(),
        )

    def _meter(self, now: int) -> dict[str, Any]:
        counted = {"partials": 9, "kernel_steps": 9, "groups": 9, "results": 9}
        return {
            **dict.fromkeys(("malformed", "late", "future", "past"), 0),
            **dict.fromkeys(("map_seconds", "shard_seconds", "kernel_seconds"), 0.01),
            "partials": 9,
            "kernel_steps": 9,
            "source": "bench",
            "shard": 0,
            "batch": self._batch,
            "clock": now,
            "plan": 1,
            "watermark": now - LATENESS_MS,
            "max_event_time": now,
            "events": 1_000,
            "trees": {"1": {**counted, "seconds": 0.001}},
        }

    def _status(self, now: int) -> dict[str, Any]:
        source = {"state": "running", "since": now - 60_000, "error": None}
        return {"state": "running", "since": now - 60_000, "clock": now, "sources": {"bench": source}}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--kafka", "--prefix", "--windows"):
        parser.add_argument(name, required=True)
    parser.add_argument("--groups", type=int, default=0)
    parser.add_argument("--slide", type=int, default=1)
    parser.add_argument("--past", type=int, default=0, help="send the results of so many seconds, and end")
    arguments = parser.parse_args()
    feed, stopped = Feed(arguments), arguments.past > 0
    for seconds in range(arguments.past, 0, -1):
        feed.tick(seconds * 1000)

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    due = time.monotonic()
    while not stopped:
        feed.tick()
        due += 1.0
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
