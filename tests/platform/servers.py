"""Real PostgreSQL and Redis servers on loopback, each with a port and a directory of its own."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dashboard.platform.test_tools import postgres_bin, redis_server
from streaming.broker import free_port

ROOT = Path(__file__).resolve().parents[2]


def require(found: Path | None, what: str) -> Path:
    """Skip where a server is not installed; in CI that is a failure."""
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{what} is not installed, and CI must not skip its tests.")
        pytest.skip(f"{what} is not installed.")
    return found


def manage(*arguments: str, **environment: str) -> str:
    """Run a management command as an operator would, and return what it printed."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def postgres() -> Iterator[str]:
    """The DATABASE_URL of an empty PostgreSQL, which refuses to run as root."""
    programs = require(postgres_bin(), "PostgreSQL")
    user = "postgres" if os.geteuid() == 0 else None
    directory = Path(tempfile.mkdtemp(prefix="millrace-postgres-"))
    port = free_port()
    try:
        if user:
            shutil.chown(directory, user)
        initdb = [
            programs / "initdb",
            "--pgdata",
            directory / "data",
            "--username",
            "millrace",
            "--auth",
            "trust",
        ]
        subprocess.run(initdb, user=user, cwd=directory, check=True, capture_output=True)
        options = ["-D", directory / "data", "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
        options += ["-c", f"unix_socket_directories={directory}", "-c", "fsync=off"]
        server = subprocess.Popen(
            [programs / "postgres", *options], user=user, cwd=directory, stderr=subprocess.DEVNULL
        )
        with _running(server, lambda: _postgres_accepts(programs, port)):
            yield f"postgres://millrace@127.0.0.1:{port}/postgres"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def redis() -> Iterator[str]:
    """The REDIS_URL of an empty Redis."""
    program = require(redis_server(), "Redis")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="millrace-redis-") as directory:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", directory, "--save", ""]
        server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        with _running(server, lambda: _connects(port)):
            yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def _running(server: subprocess.Popen[bytes], is_ready: Callable[[], bool]) -> Iterator[None]:
    try:
        deadline = time.monotonic() + 30
        while not is_ready():
            assert server.poll() is None, "the server ended while starting"
            assert time.monotonic() < deadline, "the server did not become ready in 30 s"
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.wait(30)


def _postgres_accepts(programs: Path, port: int) -> bool:
    command = [programs / "pg_isready", "--host", "127.0.0.1", "--port", str(port), "--quiet"]
    return subprocess.run(command, check=False).returncode == 0


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
