"""Progress for people: what is being done, how far it is, and a tick with the time it took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 100
CLEAR = "\r\x1b[K"


class Progress:
    """Writes a line per step; on a terminal the running step's line is rewritten as it moves on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self.began = time.monotonic()
        self.steps = 0

    @contextmanager
    def step(self, what: str) -> Iterator[Callable[[str], None]]:
        """A step that takes a while; yields a function that says how far it is."""
        self.steps += 1
        began = time.monotonic()

        def tell(detail: str) -> None:
            if self._live:
                self._write(f"{CLEAR}… {what}: {detail}"[:WIDTH])

        self._write(f"… {what}" + ("" if self._live else "\n"))
        try:
            yield tell
        except BaseException:
            self._write(f"{CLEAR}✗ {what}\n" if self._live else f"✗ {what}\n")
            raise
        self._write(f"{CLEAR if self._live else ''}✓ {what} ({time.monotonic() - began:.1f} s)\n")

    def note(self, text: str) -> None:
        self._write(f"{text}\n")

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
