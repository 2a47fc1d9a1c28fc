"""`import`: take over what a file of `export` says, all of it or nothing."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.exchange.reading import UnreadableFile, take
from dashboard.platform.problems import Problem


class Command(BaseCommand):
    help = "Add and change connections, sources and queries as a file of `export` says."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file of `export`")
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            taken = take(path.read_text(encoding="utf-8"), dry_run=options["dry_run"])
        except FileNotFoundError as error:
            raise Problem(f"There is no file {path}.") from error
        except OSError as error:
            raise Problem(f"{path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise Problem(f"{path} is not a text in UTF-8.") from error
        except UnreadableFile as error:
            raise Problem(f"{error}\nNothing was changed.") from error
        for line in taken.words():
            self.stdout.write(f"{line}.")
        for note in taken.notes:
            self.stdout.write(note)
        if options["dry_run"]:
            self.stdout.write("Only looked: nothing was changed.")
