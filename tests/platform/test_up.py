"""`up`, `status` and `down` on the real parts: broker, Spark, web server and demo."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from streaming.broker import free_port
from streaming.jars import jars_dir

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 240.0  # s; the tests share the machine with whatever else runs on it

pytestmark = pytest.mark.spark


@dataclass
class Installation:
    """A Millrace of its own: own directory, own ports."""

    var_dir: Path
    port: int
    broker_port: int

    @property
    def environment(self) -> dict[str, str]:
        own = {"MILLRACE_VAR": str(self.var_dir), "MILLRACE_JARS": str(jars_dir(settings.VAR_DIR).resolve())}
        return {**os.environ, **own}

    @property
    def up(self) -> list[str]:
        ports = ["--port", str(self.port), "--broker-port", str(self.broker_port)]
        return [sys.executable, "manage.py", "up", *ports]

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def log(self) -> str:
        return (self.var_dir / "up.log").read_text()

    def pid(self, name: str) -> int:
        services = json.loads((self.var_dir / "run" / "millrace.json").read_text())["services"]
        return next(int(service["pid"]) for service in services if service["name"] == name)

    def processes(self) -> list[int]:
        """Every living process that was started for this installation."""
        mark = f"MILLRACE_VAR={self.var_dir}".encode()
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if mark in _environment_of(path)]


def _environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:  # it has ended, or is not ours
        return b""


def _wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("var"), free_port(), free_port())
    kept = settings.VAR_DIR / "numba"
    kept.mkdir(exist_ok=True)
    (installation.var_dir / "numba").symlink_to(kept)  # compiled kernels, as a second start has them
    for made in settings.VAR_DIR.glob("spark.jsa*"):
        (installation.var_dir / made.name).symlink_to(made)
    with (installation.var_dir / "up.log").open("w") as log:
        process = subprocess.Popen(
            installation.up, cwd=ROOT, env=installation.environment, stdout=log, stderr=log
        )
    try:
        yield installation
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_the_demo_shows_its_first_point_and_says_how_long_it_took(running: Installation) -> None:
    assert _wait_for(lambda: "First live point after" in running.log()), running.log()
    took = re.search(r"First live point after (\d+\.\d) s", running.log())
    assert took is not None
    assert f"Open http://127.0.0.1:{running.port}" in running.log()
    assert "Administrator “admin” created. Password, shown only now: " in running.log()


def test_status_says_that_everything_runs(running: Installation) -> None:
    assert _wait_for(lambda: running.manage("status").returncode == 0), running.manage("status").stdout
    told = running.manage("status").stdout
    assert f"Millrace runs at http://127.0.0.1:{running.port}" in told
    for name in ("broker", "job", "web", "demo", "alerts"):
        assert re.search(rf"^  {name} +running +pid {running.pid(name)} ", told, re.MULTILINE)


def test_nothing_is_shown_to_somebody_who_has_not_signed_in(running: Installation) -> None:
    with urllib.request.urlopen(f"http://127.0.0.1:{running.port}/") as response:
        assert "/sign-in" in response.url


def test_a_second_one_is_refused_with_the_address_of_the_first(running: Installation) -> None:
    second = subprocess.run(
        running.up, cwd=ROOT, env=running.environment, capture_output=True, text=True, check=False
    )
    assert second.returncode == 1
    assert f"Millrace runs here already at http://127.0.0.1:{running.port}" in second.stderr


def test_a_port_that_another_millrace_uses_is_explained(running: Installation, tmp_path: Path) -> None:
    other = Installation(tmp_path, running.port, free_port())
    done = subprocess.run(
        other.up, cwd=ROOT, env=other.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"Port {running.port} on 127.0.0.1 is taken by another Millrace" in done.stderr


def test_a_web_server_that_is_killed_comes_back(running: Installation) -> None:
    killed = running.pid("web")
    os.kill(killed, signal.SIGKILL)
    assert _wait_for(lambda: running.pid("web") != killed)
    assert "web ended (SIGKILL); starting it again in 0.5 s" in running.log()
    assert _wait_for(lambda: running.manage("status").returncode == 0)


def test_down_stops_everything_and_leaves_no_process_behind(running: Installation) -> None:
    assert len(running.processes()) >= 6
    done = running.manage("down")
    assert done.returncode == 0
    assert "Millrace has stopped." in done.stdout
    assert _wait_for(lambda: running.processes() == [])
    assert running.manage("status").returncode == 1
    order = re.findall(r"^millrace \| stopping (\w+)$", running.log(), re.MULTILINE)
    assert order == ["alerts", "demo", "history", "web", "job", "broker"]
