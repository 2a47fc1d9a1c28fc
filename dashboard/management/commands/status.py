"""`status`: what runs, since when, and whether the broker and the job show signs of life."""

import sys
import time
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.alerts.states import is_attended
from dashboard.past.results import written_at
from dashboard.platform.checks import SILENT_AFTER, last_status
from dashboard.platform.runfile import RunFile, ServiceState
from streaming.broker import answers
from streaming.topics import Topics

HISTORY_SILENT_AFTER = 120.0  # s


class Command(BaseCommand):
    help = "Say what runs; exit code 0 only if everything does."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--job", action="store_true", help="only the job, however it was started")
        parser.add_argument("--history", action="store_true", help="only whether results are written down")
        parser.add_argument("--alerts", action="store_true", help="only whether alerts are evaluated")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["alerts"]:
            attended = is_attended()
            self.stdout.write(f"Alerts are {'' if attended else 'not '}evaluated.")
            sys.exit(0 if attended else 1)
        if options["job"]:
            kafka = settings.KAFKA_BOOTSTRAP
            sys.exit(0 if self._kafka_answers(kafka) and self._job_lives(kafka) else 1)
        if options["history"]:
            sys.exit(0 if self._history_is_written() else 1)
        state = RunFile(settings.VAR_DIR).read()
        if state is None:
            self.stdout.write("Millrace does not run here: start it with ./millrace up.")
            sys.exit(1)
        self.stdout.write(f"Millrace runs at {state.address} since {_clock(state.since)} (pid {state.pid}).")
        for service in state.services:
            self.stdout.write(f"  {_line(service)}")
        alive = self._kafka_answers(state.kafka) and self._job_lives(state.kafka)
        if not (alive and all(service.state == "running" for service in state.services)):
            sys.exit(1)

    def _kafka_answers(self, bootstrap_servers: str) -> bool:
        lives = answers(bootstrap_servers)
        self.stdout.write(f"  Kafka at {bootstrap_servers} {'answers' if lives else 'does not answer'}.")
        return lives

    def _job_lives(self, bootstrap_servers: str) -> bool:
        status = last_status(bootstrap_servers, Topics(settings.TOPIC_PREFIX).status)
        if status is None:
            self.stdout.write("  The job has not reported yet.")
            return False
        age = max(0.0, time.time() - status["clock"] / 1000)
        self.stdout.write(f"  The job said “{status['state']}” {age:.1f} s ago.")
        return bool(status["state"] == "running" and age <= SILENT_AFTER)

    def _history_is_written(self) -> bool:
        written = written_at()
        if written is None:
            self.stdout.write("  No history has been written yet.")
            return False
        age = max(0.0, time.time() - written / 1000)
        self.stdout.write(f"  History was written {age:.0f} s ago.")
        return age <= HISTORY_SILENT_AFTER


def _line(service: ServiceState) -> str:
    times = f", started again {service.restarts}×" if service.restarts else ""
    return f"{service.name:<8} {service.state:<10} pid {service.pid:<8} since {_clock(service.since)}{times}"


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
