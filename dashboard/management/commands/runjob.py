"""`runjob`: the streaming job in the foreground, until Ctrl-C or SIGTERM."""

import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dashboard.platform.kernels import CompiledKernels
from dashboard.platform.problems import as_problems
from streaming.java import find_java

COMPILE_AFTER = 30.0  # s: what people wait for comes first


class Command(BaseCommand):
    help = "Run the streaming job: plans from Kafka in, results, meters and dead letters out."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        with as_problems():
            find_java()
        from streaming.job import run  # here, because it imports Spark

        compiled = CompiledKernels(settings.BASE_DIR, settings.VAR_DIR)
        later = threading.Timer(COMPILE_AFTER, compiled.complete)
        later.daemon = True  # what it starts ends with this process, too
        later.start()
        run(settings.KAFKA_BOOTSTRAP, settings.TOPIC_PREFIX, settings.SPARK_MASTER, settings.VAR_DIR)
