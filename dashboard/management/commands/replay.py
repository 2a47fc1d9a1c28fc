"""`replay`: back-test queries over a file of events, through the real broker, Spark, plan and kernels."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.platform.problems import Problem, as_problems
from streaming.broker import Broker, answers, free_port
from streaming.java import QUICK_START, find_java
from streaming.spec import InvalidSpec, Spec


class Command(BaseCommand):
    help = "Run queries over a file of events, to the end of the data, and write the final results."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--events", type=Path, required=True, help="JSON lines, one event each")
        parser.add_argument("--spec", type=Path, required=True, help="the source and its queries, as JSON")
        parser.add_argument("--out", type=Path, required=True, help="where the results go, as JSON lines")

    def handle(self, *args: Any, **options: Any) -> None:
        events, out = options["events"], options["out"]
        with as_problems():
            spec = self._spec(options["spec"])
            if not events.is_file():
                raise Problem(f"There is no file {events}.")
            if not out.absolute().parent.is_dir():
                raise Problem(f"There is no directory {out.absolute().parent} to write {out.name} to.")
            find_java()
            with self._broker() as bootstrap_servers:
                self._replay(bootstrap_servers, events, spec, out)

    def _spec(self, path: Path) -> Spec:
        try:
            return Spec.read(path.read_bytes())
        except FileNotFoundError as error:
            raise Problem(f"There is no file {path}.") from error
        except InvalidSpec as error:
            raise Problem(str(error)) from error

    @contextmanager
    def _broker(self) -> Iterator[str]:
        """The broker that runs already, else one for this replay alone, gone with its data afterwards."""
        if answers(settings.KAFKA_BOOTSTRAP):
            yield settings.KAFKA_BOOTSTRAP
            return
        self._say("Starting a broker …")
        with tempfile.TemporaryDirectory(prefix="millrace-replay-") as data:
            broker = Broker(Path(data), free_port(), settings.VAR_DIR / "jars" / "broker", find_java().path)
            broker.start()
            try:
                broker.wait_until_ready()
                yield broker.bootstrap_servers
            finally:
                broker.stop()

    def _replay(self, bootstrap_servers: str, events: Path, spec: Spec, out: Path) -> None:
        from streaming import replay  # here, because it imports Spark
        from streaming import spark as engine

        logging.getLogger("py4j").setLevel(logging.ERROR)
        self._say("Starting Spark …")
        os.environ.setdefault("MILLRACE_SPARK_JAVA_OPTIONS", QUICK_START)
        spark = engine.session(settings.SPARK_MASTER, settings.VAR_DIR / "jars", settings.VAR_DIR)
        work_dir = settings.VAR_DIR / "replay"
        try:
            done = replay.replay(spark, bootstrap_servers, events, spec, out, work_dir, self._say)
        except (InvalidSpec, replay.ReplayFailed) as error:
            raise Problem(str(error)) from error
        finally:
            spark.stop()
        self.stdout.write(
            f"{done.results:,} results of {done.events:,} events in {done.seconds:.1f} s → {out}"
            f" ({done.malformed:,} malformed, {done.late:,} late, {done.misdated:,} wrongly dated)"
        )

    def _say(self, sentence: str) -> None:
        """Progress, on standard error: standard output is for the last line."""
        print(sentence, file=sys.stderr, flush=True)
