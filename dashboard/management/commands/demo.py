"""`demo`: sensor events to a topic of their own, until Ctrl-C or SIGTERM."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard import demo_seed
from dashboard.platform.problems import Problem
from streaming import demo

DEFAULT_RATE = 2000


class Command(BaseCommand):
    help = "Produce demo events; the first time, also make the demo's source, queries and dashboard."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--rate", type=int, default=DEFAULT_RATE, help="events per second")
        parser.add_argument("--seed", type=int, default=1, help="another seed makes other events")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["rate"] < 1:
            raise Problem("The rate must be at least 1 event per second.")
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        if demo_seed.seed(settings.KAFKA_BOOTSTRAP):
            self.stdout.write("Made the demo's source, queries and dashboard.")
        demo.produce(settings.KAFKA_BOOTSTRAP, options["rate"], stop, options["seed"])
