"""`bench NAME`: run one benchmark and print its figures as a table, or as JSON alone."""

import importlib
import inspect
import json
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from benchmarks.figures import Figure, table
from dashboard.platform import setup
from dashboard.platform.problems import Problem
from dashboard.platform.progress import Progress


class Command(BaseCommand):
    help = "Run a benchmark of benchmarks/ and print its figures."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=available(settings.BASE_DIR / "benchmarks"))
        parser.add_argument("--quick", action="store_true", help="smaller and less exact")
        parser.add_argument("--json", action="store_true", help="only the figures, as JSON")
        parser.add_argument(
            "--sections", nargs="+", metavar="NAME", help="only these parts of the benchmark; all: every one"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        setup.prepare_files(Progress(sys.stderr))
        began = time.monotonic()

        def progress(text: str) -> None:
            print(f"{time.monotonic() - began:6.1f} s  {text}", file=sys.stderr, flush=True)

        chosen = {"sections": options["sections"]} if options["sections"] else {}
        figures: list[Figure] = _main(options["name"], chosen)(
            quick=options["quick"], progress=progress, **chosen
        )
        if options["json"]:
            print(json.dumps([figure.to_json() for figure in figures]))
        else:
            print(table(figures))


def available(directory: Path) -> list[str]:
    """Names of all benchmarks: files and packages that can be run."""
    packages = {path.parent.name for path in directory.glob("*/__main__.py")}
    files = {path.stem for path in directory.glob("*.py")} - {"__init__", "figures", "report"}
    return sorted(packages | files)


def _main(name: str, chosen: dict[str, list[str]]) -> Any:
    is_package = (settings.BASE_DIR / "benchmarks" / name / "__main__.py").exists()
    module = importlib.import_module(f"benchmarks.{name}.__main__" if is_package else f"benchmarks.{name}")
    if not hasattr(module, "main"):
        raise Problem(f"benchmarks/{name} has no main(quick, progress).")
    known = (*getattr(module, "SECTIONS", ()), *getattr(module, "ON_REQUEST", ()), "all")
    for section in chosen.get("sections", ()):
        if "sections" not in inspect.signature(module.main).parameters or section not in known:
            raise Problem(f"The benchmark “{name}” has no section “{section}”.")
    return module.main
