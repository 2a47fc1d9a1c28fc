"""How far a long run is, for people: one line that moves on a terminal, else a line every few seconds."""

import time
from typing import TextIO

from dashboard.platform.progress import CLEAR, WIDTH

LIVE_SECONDS = 0.1
LOG_SECONDS = 5.0


class Meter:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._began = self._told = time.monotonic()

    def show(self, step: str, events: int, done: int, total: int) -> None:
        """`done` of `total`, in whatever unit; without a total only what is being done is told."""
        now = time.monotonic()
        if now - self._told < (LIVE_SECONDS if self._live else LOG_SECONDS) and total:
            return
        self._told = now
        text = progress_text(step, events, done, total, now - self._began)
        self._stream.write(f"{CLEAR}{text}"[:WIDTH] if self._live else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave no half line behind."""
        if self._live:
            self._stream.write(CLEAR)
            self._stream.flush()


def progress_text(step: str, events: int, done: int, total: int, seconds: float) -> str:
    """
    >>> progress_text("reading", 1_500_000, 30, 120, 2.0)
    'reading: 25 %, 1,500,000 events, 750,000 events/s, 6 s left'
    >>> progress_text("writing results", 2_000, 0, 0, 0.5)
    'writing results: 2,000 events'
    """
    if not total:
        return f"{step}: {events:,} events"
    rate = events / seconds if seconds else 0.0
    left = f", {seconds * (total - done) / done:,.0f} s left" if done else ""
    return f"{step}: {100 * done // total} %, {events:,} events, {rate:,.0f} events/s{left}"
