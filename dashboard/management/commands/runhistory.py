"""`runhistory`: writes results down for the past of charts, until Ctrl-C or SIGTERM; one is enough."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.past.following import Follower
from streaming.topics import Topics


class Command(BaseCommand):
    help = "Write final results from Kafka to the database, for as long as each query's policy keeps them."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopped.set())
        Follower(settings.KAFKA_BOOTSTRAP, Topics(settings.TOPIC_PREFIX), stopped.is_set).run()
