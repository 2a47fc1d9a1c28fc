"""Runs named processes together: prefixes their log lines, restarts what dies, stops all without orphans.

Own code rather than honcho, which stops everything when one process ends: here the others keep running,
and the one that ended comes back.
"""

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TextIO

from dashboard.platform.runfile import ServiceState
from streaming.tether import tethered

FIRST_DELAY = 0.5  # s before the first restart; doubles up to LONGEST_DELAY
LONGEST_DELAY = 30.0
STEADY_AFTER = 60.0  # s; a process that ran this long starts again with the first delay
COLOURS = (36, 33, 32, 35, 34)  # cyan, yellow, green, magenta, blue
OWN_NAME = "millrace"


@dataclass(frozen=True)
class Service:
    """One process to keep running; `grace` is how long it may take to stop."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    grace: float = 15.0


@dataclass
class _Child:
    service: Service
    process: subprocess.Popen[str]
    since: float
    restarts: int = 0
    failures: int = 0  # in a row, each soon after its start
    due: float | None = None  # monotonic time of the restart, while it is down


class Supervisor:
    """All methods are for the main thread, but for `say` and `request_stop`."""

    def __init__(self, stream: TextIO, on_change: Callable[[tuple[ServiceState, ...]], None]) -> None:
        self._stream = stream
        self._on_change = on_change
        self._children: list[_Child] = []
        self._ended: queue.SimpleQueue[_Child | None] = queue.SimpleQueue()  # None: stop was asked for
        self._printing = threading.Lock()
        self._stop_requests = 0

    def handle_signals(self) -> None:
        """Ctrl-C, SIGTERM and a closed terminal stop everything; a second one does not wait for anybody."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self.request_stop())

    def request_stop(self) -> None:
        self._stop_requests += 1
        self._ended.put(None)
        if self._stop_requests > 1:
            for child in self._children:
                _kill_group(child.process.pid)

    @property
    def stopping(self) -> bool:
        return self._stop_requests > 0

    def start(self, service: Service) -> None:
        process = self._launch(service)
        child = _Child(service, process, time.time())
        self._children.append(child)
        self._watch(child)
        self._changed()

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Keep the processes running until the condition holds; False on time-out or stop."""
        deadline = time.monotonic() + timeout
        while not self.stopping and time.monotonic() < deadline:
            if condition():
                return True
            self._attend(0.1)
        return False

    def run(self) -> None:
        """Keep the processes running until stop is asked for."""
        while not self.stopping:
            self._attend(None)

    def stop(self) -> None:
        """Stop in reverse order of start, so that nobody outlives what it needs."""
        for child in reversed(self._children):
            if child.due is None and child.process.poll() is None:
                self.say(f"stopping {child.service.name}")
                child.process.terminate()
                try:
                    child.process.wait(child.service.grace)
                except subprocess.TimeoutExpired:
                    self.say(f"{child.service.name} did not stop in {child.service.grace:.0f} s: killed")
            _kill_group(child.process.pid)
            child.process.wait()
        self._children.clear()

    def say(self, text: str, name: str = OWN_NAME) -> None:
        prefix = f"{name:<8} | "
        if self._stream.isatty():
            prefix = f"\x1b[{self._colour(name)}m{prefix}\x1b[0m"
        with self._printing:
            self._stream.write(f"{prefix}{text}\n")
            self._stream.flush()

    def _colour(self, name: str) -> int:
        names = [child.service.name for child in self._children]
        return COLOURS[names.index(name) % len(COLOURS)] if name in names else 1

    def _launch(self, service: Service) -> subprocess.Popen[str]:
        """In a session of its own: Ctrl-C reaches the supervisor alone, and the group can be ended whole."""
        return subprocess.Popen(
            tethered(service.command),
            env={**os.environ, "PYTHONUNBUFFERED": "1", **service.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def _watch(self, child: _Child) -> None:
        process = child.process
        assert process.stdout is not None  # noqa: S101 (it was asked for)
        relay = threading.Thread(target=self._relay, args=(child.service.name, process.stdout), daemon=True)
        wait = threading.Thread(target=self._wait, args=(child, process), daemon=True)
        relay.start()
        wait.start()

    def _relay(self, name: str, lines: IO[str]) -> None:
        for line in lines:
            if line.strip():
                self.say(line.rstrip("\n"), name)

    def _wait(self, child: _Child, process: subprocess.Popen[str]) -> None:
        process.wait()
        _kill_group(process.pid)  # whatever it started and left behind
        self._ended.put(child)

    def _attend(self, timeout: float | None) -> None:
        """Handle the next end of a process or restart that is due; at most `timeout` seconds."""
        due = [child.due for child in self._children if child.due is not None]
        if due:
            until_due = max(0.0, min(due) - time.monotonic())
            timeout = until_due if timeout is None else min(timeout, until_due)
        try:
            child = self._ended.get(timeout=timeout)
        except queue.Empty:
            child = None
        if self.stopping:
            return
        if child is not None:
            self._plan_restart(child)
        for down in self._children:
            if down.due is not None and down.due <= time.monotonic():
                self._restart(down)

    def _plan_restart(self, child: _Child) -> None:
        if time.time() - child.since > STEADY_AFTER:
            child.failures = 0
        delay = min(FIRST_DELAY * 2**child.failures, LONGEST_DELAY)
        child.failures += 1
        child.due = time.monotonic() + delay
        child.since = time.time()
        self.say(f"{child.service.name} ended ({_ending(child.process)}); starting it again in {delay:g} s")
        self._changed()

    def _restart(self, child: _Child) -> None:
        child.process = self._launch(child.service)
        child.since, child.due = time.time(), None
        child.restarts += 1
        self._watch(child)
        self._changed()

    def _changed(self) -> None:
        self._on_change(
            tuple(
                ServiceState(
                    name=child.service.name,
                    pid=child.process.pid,
                    state="running" if child.due is None else "restarting",
                    since=child.since,
                    restarts=child.restarts,
                )
                for child in self._children
            )
        )


def _ending(process: subprocess.Popen[str]) -> str:
    code = process.returncode
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _kill_group(leader: int) -> None:
    with suppress(ProcessLookupError):  # nobody is left
        os.killpg(leader, signal.SIGKILL)
