"""`export`: connections, sources and queries as YAML, without secrets."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.exchange.writing import exported
from dashboard.platform.problems import Problem


class Command(BaseCommand):
    help = "Write all connections (without secrets), sources and queries as YAML, for `import` and for git."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", type=Path, metavar="FILE", help="where to write; else standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        text, out = exported(), options["out"]
        if out is None:
            self.stdout.write(text, ending="")
            return
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Problem(f"{out} cannot be written: {error.strerror}.") from error
