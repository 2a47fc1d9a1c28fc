"""`down`: stop a Millrace that `up` started in another terminal, and wait until it has ended."""

import os
import signal
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.platform.problems import Problem
from dashboard.platform.runfile import RunFile

PATIENCE = 90.0  # s; longer than all services' grace together


class Command(BaseCommand):
    help = "Stop the Millrace that runs here and wait until it has ended."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        run_file = RunFile(settings.VAR_DIR)
        state = run_file.read()
        if state is None:
            self.stdout.write("Millrace does not run here.")
            return
        os.kill(state.pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while run_file.is_claimed():
            if time.monotonic() > deadline:
                raise Problem(f"Millrace (process {state.pid}) did not end within {PATIENCE:.0f} s.")
            time.sleep(0.1)
        self.stdout.write("Millrace has stopped.")
