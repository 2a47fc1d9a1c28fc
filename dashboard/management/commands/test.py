"""`test`: linters, types and every test.

Takes the place of Django's own `test` on purpose: this project's tests run under pytest. What people are to
see at once is tested with the machine to itself; then tests that compute, and those of the dashboard, run
beside all the rest, which mostly waits for brokers and Spark.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
BROWSER = "tests/browser"
BESIDE = (
    "optimizer",  # doctests
    "streaming",
    "tests/optimizer",
    "tests/streaming/aggregates",
    "tests/streaming/formats",
    "tests/streaming/kernels",
    "tests/dashboard",
)


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
    shown = _Stage("Tests in a browser", ("pytest", BROWSER)).run()
    beside = _Stage("Tests that compute, and of the dashboard", ("pytest", *BESIDE))
    others = (f"--ignore={path}" for path in (BROWSER, *BESIDE))
    log = settings.VAR_DIR / "tests-beside.log"
    process = beside.start_beside(log)
    try:
        passed = _Stage("All other tests", ("pytest", "tests", *others)).run()
    except BaseException:
        process.kill()
        raise
    code = process.wait()
    print(f"\n── {beside.title}, beside the others:\n{log.read_text(encoding='utf-8')}", flush=True)
    return beside.told(code) and passed and shown


class _Stage:
    def __init__(self, title: str, command: Sequence[str]) -> None:
        self.title = title
        self._command = command
        self._began = time.monotonic()

    def run(self) -> bool:
        """Whether it passed."""
        print(f"\n── {self.title}: {' '.join(self._command)}", flush=True)
        self._began = time.monotonic()
        return self.told(self._start().wait())

    def start_beside(self, log: Path) -> subprocess.Popen[bytes]:
        """Start it; what it says goes to the log."""
        with log.open("wb") as file:
            return self._start(stdout=file, stderr=subprocess.STDOUT)

    def told(self, code: int) -> bool:
        outcome = "passed" if code == 0 else "failed"
        print(f"── {self.title} {outcome} ({time.monotonic() - self._began:.1f} s)", flush=True)
        return code == 0

    def _start(self, **output: Any) -> subprocess.Popen[bytes]:
        program = str(Path(sys.executable).with_name(self._command[0]))
        # What set-up has compiled need not be compiled again.
        environment = os.environ | {"NUMBA_CACHE_DIR": str(settings.VAR_DIR / "numba")}
        return subprocess.Popen(
            [program, *self._command[1:]], cwd=settings.BASE_DIR, env=environment, **output
        )
