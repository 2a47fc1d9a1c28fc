"""`test`: linters, types and every test, in the order in which they are quick to fail.

Takes the place of Django's own `test` on purpose: this project's tests run under pytest.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.platform import setup
from dashboard.platform.progress import Progress

STAGES = (
    ("Lint", ("ruff", "check")),
    ("Format", ("ruff", "format", "--check")),
    ("Types", ("mypy",)),
    ("Imports", ("lint-imports",)),
)
# Side by side: one half calculates, the other mostly waits for brokers, Spark and browsers.
HALVES = (
    ("Tests of parts", ("pytest", "-m", "not spark and not browser")),
    ("Tests of the whole", ("pytest", "-m", "spark or browser")),
)


class Command(BaseCommand):
    help = "Run linters, type checks and all tests; arguments after -- go to pytest, which then runs alone."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pytest", nargs="*", metavar="PYTEST ARGUMENT", help="such as -- -k name")

    def handle(self, *args: Any, **options: Any) -> None:
        setup.prepare_files(Progress(sys.stdout))
        setup.prepare_test_tools(Progress(sys.stdout))
        if options["pytest"]:
            _run("Tests", ("pytest", *options["pytest"]))
            return
        for title, command in STAGES:
            _run(title, command)
        _run_side_by_side(*HALVES)


def _run(title: str, command: tuple[str, ...]) -> None:
    print(f"\n── {title}: {' '.join(command)}", flush=True)
    began = time.monotonic()
    code = _start(command).wait()
    _conclude(title, code, began)


def _run_side_by_side(first: tuple[str, tuple[str, ...]], second: tuple[str, tuple[str, ...]]) -> None:
    """The first one's output is shown as it comes, the second one's when both have ended."""
    print(f"\n── {first[0]} and, at the same time, {second[0].lower()}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        beside = _start(second[1], output)
        code = _start(first[1]).wait()
        print(f"── {first[0]} ended after {time.monotonic() - began:.1f} s", flush=True)
        code_beside = beside.wait()
        output.seek(0)
        print(f"── {second[0]}", flush=True)
        shutil.copyfileobj(output, sys.stdout.buffer)
    sys.stdout.flush()
    _conclude("Tests", code or code_beside, began)


def _start(command: tuple[str, ...], output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    program = str(Path(sys.executable).with_name(command[0]))
    # What set-up has compiled need not be compiled again.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(settings.VAR_DIR / "numba")}
    stderr = subprocess.STDOUT if output else None
    return subprocess.Popen(
        [program, *command[1:]], cwd=settings.BASE_DIR, env=environment, stdout=output, stderr=stderr
    )


def _conclude(title: str, code: int, began: float) -> None:
    outcome = "passed" if code == 0 else "failed"
    print(f"── {title} {outcome} ({time.monotonic() - began:.1f} s)", flush=True)
    if code != 0:
        sys.exit(1)
