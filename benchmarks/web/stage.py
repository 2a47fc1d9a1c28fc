"""What the sections share: a broker, an installation of its own, web processes, and results that go on."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from streaming.broker import HOST, Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.tether import tethered
from streaming.topics import Topics, create_topics

PATIENCE_SECONDS = 60.0
PREFIX = "bench-web"
Progress = Callable[[str], None]


@dataclass
class Stage:
    """An installation with a broker; web processes are started on it."""

    broker: Broker
    var_dir: Path
    environment: dict[str, str]
    stack: ExitStack
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def bootstrap_servers(self) -> str:
        return self.broker.bootstrap_servers

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=settings.BASE_DIR,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return done.stdout

    def seed(self, **options: int) -> dict[str, Any]:
        words = [
            word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))
        ]
        self.made = json.loads(self.run("-m", "benchmarks.web.seed", *words).splitlines()[-1])
        return self.made

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """A process that ends with the stage."""
        process = subprocess.Popen(
            tethered((sys.executable, *command)), cwd=settings.BASE_DIR, env=self.environment
        )
        self.stack.callback(_end, process)
        return process

    def web(self, port: int | None = None) -> tuple[int, subprocess.Popen[bytes]]:
        """A web process, ready: its port and itself."""
        port = port or free_port()
        process = self.start("manage.py", "serve", "--port", str(port))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _accepts(port):
            assert process.poll() is None, "the web process ended while starting"
            assert time.monotonic() < deadline, "the web process did not start"
            time.sleep(0.1)
        return port, process

    def feed(self, *, groups: int, slide: int, past: int = 0) -> None:
        """Results of every query once a second, until the stage ends; so many seconds of them are there."""
        windows = [
            one for board in self.made["boards"] for query in board["queries"] for one in query["windows"]
        ]
        path = self.var_dir / "windows.json"
        path.write_text(json.dumps(windows))
        command = ["-m", "benchmarks.web.feed", "--kafka", self.bootstrap_servers, "--prefix", PREFIX]
        command += ["--windows", str(path), "--groups", str(groups), "--slide", str(slide)]
        if past:
            self.run(*command, "--past", str(past))
        self.start(*command)


@contextmanager
def stage() -> Iterator[Stage]:
    with ExitStack() as stack:
        var_dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-web-")))
        broker = Broker(
            var_dir / "broker", free_port(), jars_dir(settings.VAR_DIR) / "broker", find_java().path
        )
        stack.enter_context(broker)
        environment = os.environ | {
            "MILLRACE_VAR": str(var_dir),
            "MILLRACE_KAFKA": broker.bootstrap_servers,
            "MILLRACE_TOPIC_PREFIX": PREFIX,
            "MILLRACE_LOG_LEVEL": "WARNING",
            "MILLRACE_SOCKETS_PER_PERSON": "2000",
            "NUMBA_CACHE_DIR": str(settings.VAR_DIR / "numba"),
        }
        environment.pop("DATABASE_URL", None)  # SQLite in its own directory
        (var_dir / "static").symlink_to(settings.VAR_DIR / "static")  # compressed, as set-up makes them
        create_topics(broker.bootstrap_servers, Topics(PREFIX).shared())
        made = Stage(broker, var_dir, environment, stack)
        made.run("manage.py", "migrate", "--verbosity", "0")
        yield made


def percentile(counts: Sequence[int], share: float) -> float:
    """Of a histogram by milliseconds: the least time that so many of all reach.

    >>> percentile([0, 5, 4, 0, 1], 0.5), percentile([0, 5, 4, 0, 1], 0.99)
    (1.0, 4.0)
    """
    wanted, seen = share * sum(counts), 0
    for milliseconds, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return float(milliseconds)
    return float("nan")


def cpu_seconds(pid: int) -> float:
    """Of a process, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
