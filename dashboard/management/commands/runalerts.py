"""`runalerts`: evaluate alerts and send their messages, until Ctrl-C or SIGTERM; one does it, others wait."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.alerts.delivery import Sender
from dashboard.alerts.evaluator import Runner
from dashboard.alerts.results import Results
from dashboard.alerts.seat import Holder
from streaming.topics import Topics


class Command(BaseCommand):
    help = "Evaluate the alerts on the results as they come, and tell people."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        sender = threading.Thread(target=Sender().run, args=(stop,), name="sender")
        sender.start()
        try:
            Runner(Holder(), Results(settings.KAFKA_BOOTSTRAP, Topics(settings.TOPIC_PREFIX))).run(stop)
        finally:
            stop.set()
            sender.join()
