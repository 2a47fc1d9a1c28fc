"""`runbroker`: the embedded Kafka broker in the foreground, until Ctrl-C or SIGTERM."""

import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.platform.problems import Problem, as_problems
from streaming.broker import Broker
from streaming.jars import jars_dir
from streaming.java import find_java


class Command(BaseCommand):
    help = "Run the embedded Kafka broker in the foreground; its data is kept in var/broker."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=_configured_port())

    def handle(self, *args: Any, **options: Any) -> None:
        stopping = False

        def stop(*_: object) -> None:
            nonlocal stopping
            stopping = True
            raise KeyboardInterrupt

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        with as_problems():
            java = find_java()
            broker = Broker(
                settings.VAR_DIR / "broker", options["port"], jars_dir(settings.VAR_DIR) / "broker", java.path
            )
            try:
                broker.start()
                broker.wait_until_ready()
                self.stdout.write(f"Kafka answers at {broker.bootstrap_servers}.")
                code = broker.wait()
            except KeyboardInterrupt:
                code = 0
            finally:
                broker.stop()
        if not stopping:
            raise Problem(f"The Kafka broker ended by itself with exit code {code}; its last lines say why.")


def _configured_port() -> int:
    return int(settings.KAFKA_BOOTSTRAP.rpartition(":")[2])
