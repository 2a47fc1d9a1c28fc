"""`setup`: everything that must be there before Millrace starts. A second run skips what is done."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dashboard.platform import setup
from dashboard.platform.progress import Progress

PARTS = ("files", "database", "topics")


class Command(BaseCommand):
    help = "Fetch front-end files and jars, migrate the database, create the administrator."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tests", action="store_true", help="also what only the tests need")
        parser.add_argument(
            "--only",
            action="append",
            choices=PARTS,
            help="just this part, may be repeated (topics are made only when asked for: they need a broker)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        progress = Progress(sys.stdout)
        parts = options["only"] or ("files", "database")
        if "files" in parts:
            setup.prepare_files(progress)
        if "database" in parts:
            admin = setup.prepare_database(progress)
            if admin is not None:
                progress.note(setup.admin_sentence(admin))
        if "topics" in parts:
            with progress.step("Kafka topics"):
                setup.prepare_topics()
                if setup.plans_are_lost():
                    setup.restore_plans()
        if options["tests"]:
            setup.prepare_test_tools(progress)
        did = "Set-up complete" if progress.steps else "Set-up was complete already"
        progress.note(f"✓ {did} ({progress.elapsed():.1f} s)")
