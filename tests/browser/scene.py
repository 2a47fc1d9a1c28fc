"""A dashboard on a real broker and web process, and a job whose every message is told by the test."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from kafka import KafkaProducer
from playwright.sync_api import Page

from benchmarks.web.stage import PREFIX, Stage
from streaming.results import ResultBlock, encode
from streaming.topics import Topics

SLIDE_MS = 1_000
LATENESS_MS = 5_000


class Job:
    """What a job tells, message by message; its sign of life every second, until it is stopped."""

    def __init__(self, made: Stage) -> None:
        self._windows = [one["windows"][0] for one in made.made["boards"][0]["queries"]]
        self._producer = KafkaProducer(bootstrap_servers=made.bootstrap_servers, linger_ms=0)
        self._topics = Topics(PREFIX)
        self._batch = clock()  # greater than what an earlier test told
        self._stopped = threading.Event()
        self._pulse = threading.Thread(target=self._live, daemon=True)
        self._pulse.start()

    def tell(self, end: int, value: float, *, final: bool = True) -> None:
        self._batch += 1
        for window in self._windows:
            block = ResultBlock(
                source="bench",
                query=window,
                plan=1,
                start=end - 60_000,
                end=end,
                shard=0,
                batch=self._batch,
                final=final,
                keys=msgspec.Raw(msgspec.msgpack.encode([[]])),
                values=np.array([value]).tobytes(),
                counts=np.array([9], np.int32).tobytes(),
            )
            self._producer.send(self._topics.results, encode([block]))
        self._producer.flush()

    def tell_meters(self, *, events: int, clock: int, heard: int) -> None:
        """Of a batch at `clock` with so many events, the newest of which is from `heard`."""
        self._batch += 1
        told = {
            **dict.fromkeys(("malformed", "late", "future", "past", "shard"), 0),
            **dict.fromkeys(("map_seconds", "shard_seconds", "kernel_seconds"), 0.01),
            "source": "bench",
            "batch": self._batch,
            "clock": clock,
            "plan": 1,
            "events": events,
            "watermark": heard - LATENESS_MS,
            "max_event_time": heard,
            "partials": 9,
            "kernel_steps": 9,
            "trees": {},
        }
        self._producer.send(self._topics.meters, json.dumps(told).encode())
        self._producer.flush()

    def stop(self) -> None:
        self._stopped.set()
        self._pulse.join(30)

    def _live(self) -> None:
        source = {"state": "running", "since": 0, "error": None}
        while not self._stopped.wait(1):
            told = {"state": "running", "since": 0, "clock": clock(), "sources": {"bench": source}}
            self._producer.send(self._topics.status, json.dumps(told).encode())


class Scene:
    """A dashboard of two panels, seen by who owns it, and the job that tells their results."""

    def __init__(self, made: Stage, page: Page) -> None:
        self.made, self.page, self.job = made, page, Job(made)

    def open(self, since: int) -> Page:
        """The dashboard, with a result for every second from `since` until now."""
        now = clock() // SLIDE_MS * SLIDE_MS
        for end in range(since // SLIDE_MS * SLIDE_MS, now, SLIDE_MS):
            self.job.tell(end, 10.0)
        self.page.goto("/dashboards/board-0/")
        until(lambda: len(points(self.page)) > 5, "results")
        return self.page


def clock() -> int:
    return int(time.time() * 1000)


def points(page: Page) -> list[list[Any]]:
    """[end, value, final] of the first panel's line, as it is drawn."""
    series = page.evaluate("document.querySelector('canvas')?.millraceSeries?.() ?? []")
    return [point for one in series for point in one["points"]]


def until(condition: Callable[[], object], what: str, patience: float = 30.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {patience:.0f} s"
        time.sleep(0.2)
