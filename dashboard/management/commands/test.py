"""`test`: linters, types and every test, in the order in which they are quick to fail.

Takes the place of Django's own `test` on purpose: this project's tests run under pytest.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

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


class Command(BaseCommand):
    help = "Run linters, type checks and all tests; arguments after -- go to pytest, which then runs alone."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pytest", nargs="*", metavar="PYTEST ARGUMENT", help="such as -- -k name")

    def handle(self, *args: Any, **options: Any) -> None:
        setup.prepare_files(Progress(sys.stdout))
        setup.prepare_test_tools(Progress(sys.stdout))
        if not options["pytest"]:
            for title, command in STAGES:
                self._run(title, command)
        self._run("Tests", ("pytest", *options["pytest"]))

    def _run(self, title: str, command: tuple[str, ...]) -> None:
        print(f"\n── {title}: {' '.join(command)}", flush=True)
        began = time.monotonic()
        program = str(Path(sys.executable).with_name(command[0]))
        # What set-up has compiled need not be compiled again.
        environment = os.environ | {"NUMBA_CACHE_DIR": str(settings.VAR_DIR / "numba")}
        arguments = [program, *command[1:]]
        code = subprocess.run(arguments, cwd=settings.BASE_DIR, env=environment, check=False).returncode
        outcome = "passed" if code == 0 else "failed"
        print(f"── {title} {outcome} ({time.monotonic() - began:.1f} s)", flush=True)
        if code != 0:
            sys.exit(1)
