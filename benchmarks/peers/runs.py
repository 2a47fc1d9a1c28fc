"""One run of one contestant: started as a process, watched from outside, ended when its work is done."""

import math
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from django.conf import settings
from kafka.admin import NewTopic

from benchmarks.engine.events import START
from benchmarks.engine.kafka import APPEND_TIME, end_offset, read
from benchmarks.engine.memory import Memory, family, watched
from benchmarks.peers.contestants import Installed, environment
from benchmarks.peers.rows import Told, millrace_rows, peer_rows
from streaming.tether import tethered
from streaming.topics import create_topics

TAIL = 200  # newest messages that are looked at to see how far a contestant is
QUIET_SECONDS = 4.0
NOT_IN_TIME = "not all windows answered in its time"
MOST_MEMORY = 16e9  # bytes: what the machine has beside the broker and the benchmark
START_UP_SECONDS = 300.0  # until the first result; a run's time counts from there


class Failed(RuntimeError):
    """A contestant that ended by itself; the message is the last thing that it said."""


@dataclass(frozen=True)
class Ran:
    """A run that is over: its rows are still on the topic."""

    installed: Installed
    bootstrap_servers: str
    results: str
    peak_memory: int = 0
    cut_short: str = ""  # why it was ended before its work was done

    def told(self, first: int = 0) -> Iterator[Told]:
        messages = read(self.bootstrap_servers, self.results, first)
        return (millrace_rows if self.installed.contestant.is_millrace else peer_rows)(messages)


@dataclass(frozen=True)
class Task:
    topic: str
    ranges: Sequence[int]
    until: int | None  # the end of a window, in seconds, after which nothing more is awaited
    most_seconds: float
    live: bool = False


def run(
    installed: Installed, bootstrap_servers: str, task: Task, work_dir: Path, tell: Callable[[str], None]
) -> Ran:
    """Run a contestant until its answers reach `task.until` and it falls silent, or its time is over.

    One that has come less than half of the way in half of the time is not waited for any longer.
    """
    name = f"{installed.contestant.program}-{uuid.uuid4().hex[:8]}"
    results = f"{name}.results"
    create_topics(bootstrap_servers, [NewTopic(results, 1, 1, topic_configs=APPEND_TIME)])
    work = work_dir / name
    work.mkdir(parents=True)
    log = settings.VAR_DIR / "log" / f"peer-{installed.contestant.program}.log"
    variables = environment(
        installed,
        SERVERS=bootstrap_servers,
        TOPIC=task.topic,
        RESULTS=results,
        RANGES=" ".join(map(str, task.ranges)),
        WORK=str(work),
        VAR=str(settings.VAR_DIR),
        LIVE="yes" if task.live else "no",
    )
    *before, program = installed.commands(work)
    for command in before:
        subprocess.run(command, env=variables, check=True, capture_output=True)
    with _process(program, variables, log) as process, watched(process.pid) as memory:
        ran = Ran(installed, bootstrap_servers, results)
        cut_short = _wait(ran, process, memory, task, log, tell)
    return replace(ran, peak_memory=memory.peak, cut_short=cut_short)


@contextmanager
def _process(command: list[str], variables: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            tethered(command), env=variables, stdout=file, stderr=file, cwd=settings.BASE_DIR
        )
        try:
            yield process
        finally:
            for pid in family(process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue  # it ended with its parent
            process.wait()


def _wait(
    ran: Ran,
    process: subprocess.Popen[bytes],
    memory: Memory,
    task: Task,
    log: Path,
    tell: Callable[[str], None],
) -> str:
    """Until its work is done; else why it is not waited for any longer."""
    told = moved = time.monotonic()
    deadline, half_time = told + START_UP_SECONDS, math.inf
    count = looked_at = 0
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failed(_last_words(log))
        if memory.peak > MOST_MEMORY:
            return f"took more than {MOST_MEMORY / 1e9:.0f} GB"
        now = end_offset(ran.bootstrap_servers, ran.results)
        if now and not count:
            half_time = time.monotonic() + task.most_seconds / 2
            deadline = half_time + task.most_seconds / 2
        if now != count:
            count, moved = now, time.monotonic()
        if time.monotonic() - told > 15:
            told = time.monotonic()
            tell(f"{count:,} messages of results")
        if time.monotonic() - moved > QUIET_SECONDS and looked_at != count:
            if _is_done(ran, task, count):
                return ""
            looked_at = count
        if time.monotonic() > half_time:
            if _is_far_off(ran, task, count):
                return NOT_IN_TIME
            half_time = math.inf
        time.sleep(1.0)
    return NOT_IN_TIME if count else f"no answer within {START_UP_SECONDS:.0f} s"


def _is_far_off(ran: Ran, task: Task, count: int) -> bool:
    """Whether its newest answers are not yet half of the way there."""
    if task.until is None:
        return False
    start = START // 1000
    newest = max((row.key[2] for row in ran.told(max(0, count - TAIL))), default=start)
    return newest - start < (task.until - start) / 2


def _is_done(ran: Ran, task: Task, count: int) -> bool:
    """Whether windows of every range are answered to the end; the newest messages tell when not to look."""
    if task.until is None or all(row.key[2] < task.until for row in ran.told(count - TAIL)):
        return False
    reached: dict[int, int] = {}
    for row in ran.told():
        seconds, _, end = row.key
        reached[seconds] = max(reached.get(seconds, 0), end)
    return len(reached) == len(task.ranges) and min(reached.values()) >= task.until


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a word"
