"""`test`: linters, types and every test.

Takes the place of Django's own `test` on purpose: this project's tests run under pytest. What people are to
see at once is tested first; tests that only compute take what processor time that leaves. Then those of live
streams run beside all others: both mostly wait.
"""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.platform import setup
from dashboard.platform.progress import Progress

CHECKS = (
    ("Lint", ("ruff", "check")),
    ("Format", ("ruff", "format", "--check")),
    ("Types", ("mypy",)),
    ("Imports", ("lint-imports",)),
)
BROWSER, OPTIMIZER, STREAMING = "tests/browser", "tests/optimizer", "tests/streaming"
LIVE = "broker or spark"  # marked so; the other tests of streaming only compute


class Command(BaseCommand):
    help = "Run linters, type checks and all tests; arguments after -- go to pytest, which then runs alone."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pytest", nargs="*", metavar="PYTEST ARGUMENT", help="such as -- -k name")

    def handle(self, *args: Any, **options: Any) -> None:
        setup.prepare_files(Progress(sys.stdout))
        setup.prepare_test_tools(Progress(sys.stdout))
        chosen = options["pytest"]
        passed = _Stage("Tests", ("pytest", *chosen)).run() if chosen else _everything()
        if not passed:
            sys.exit(1)


def _everything() -> bool:
    if not all(_Stage(*check).run() for check in CHECKS):
        return False
    computing = ("optimizer", "streaming", OPTIMIZER, STREAMING, "-m", f"not ({LIVE})")
    others = ("tests", *(f"--ignore={path}" for path in (BROWSER, OPTIMIZER, STREAMING)))
    with ExitStack() as running:
        beside = [running.enter_context(_Beside(_tests("Tests that compute", *computing), patience=19))]
        passed = [_tests("Tests in a browser", BROWSER).run()]
        beside.append(running.enter_context(_Beside(_tests("All other tests", *others))))
        passed.append(_tests("Tests of the data path, live", STREAMING, "-m", LIVE).run())
        passed += [each.passed() for each in beside]
    return all(passed)


def _tests(title: str, *chosen: str) -> "_Stage":
    return _Stage(title, ("pytest", *chosen))


class _Stage:
    def __init__(self, title: str, command: Sequence[str]) -> None:
        self.title = title
        self._command = command
        self._began = time.monotonic()

    def run(self) -> bool:
        """Whether it passed."""
        print(f"\n── {self.title}: {shlex.join(self._command)}", flush=True)
        return self.told(self.start().wait())

    def start(self, patience: int = 0, **output: Any) -> subprocess.Popen[bytes]:
        """The more patience, the more it leaves the processors to others."""
        self._began = time.monotonic()
        program, *arguments = self._command
        path = str(Path(sys.executable).with_name(program))
        # What set-up has compiled need not be compiled again.
        environment = os.environ | {"NUMBA_CACHE_DIR": str(settings.VAR_DIR / "numba")}
        command = ["nice", "-n", str(patience), path, *arguments]
        return subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, **output)

    def told(self, code: int) -> bool:
        outcome = "passed" if code == 0 else "failed"
        print(f"── {self.title} {outcome} ({time.monotonic() - self._began:.1f} s)", flush=True)
        return code == 0


class _Beside:
    """A stage that runs while others do; what it says is shown when it is waited for."""

    def __init__(self, stage: _Stage, patience: int = 0) -> None:
        self._stage = stage
        self._log = settings.VAR_DIR / f"{stage.title.lower().replace(' ', '-')}.log"
        with self._log.open("wb") as file:
            self._process = stage.start(patience, stdout=file, stderr=subprocess.STDOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    def passed(self) -> bool:
        code = self._process.wait()
        print(f"\n── {self._stage.title}, beside the others:\n{self._log.read_text()}", flush=True)
        return self._stage.told(code)
