"""`up`: broker, job, web server, alerts and demo under one supervisor, until Ctrl-C."""

import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from dashboard.management.commands.demo import DEFAULT_RATE
from dashboard.platform import setup
from dashboard.platform.checks import FirstResult, require_free_port
from dashboard.platform.clock import seconds_since_start
from dashboard.platform.problems import Problem, as_problems
from dashboard.platform.progress import Progress
from dashboard.platform.runfile import RunFile, RunState
from dashboard.platform.supervisor import Service, Supervisor
from streaming.broker import HOST, answers
from streaming.java import QUICK_START
from streaming.topics import Topics

DEFAULT_BROKER_PORT = 19092
BROKER_PATIENCE = 60.0  # s
FIRST_RESULT_PATIENCE = 180.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Command(BaseCommand):
    help = "Start Millrace: broker, streaming job, web server and demo; Ctrl-C stops all of it."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="of the web server")
        parser.add_argument("--host", default="127.0.0.1", help="address the web server listens on")
        parser.add_argument("--no-demo", action="store_true", help="start without demo data")
        parser.add_argument("--rate", type=int, default=DEFAULT_RATE, help="demo events per second")
        parser.add_argument("--kafka", metavar="HOST:PORT", help="use this cluster, start no broker")
        parser.add_argument("--broker-port", type=int, default=DEFAULT_BROKER_PORT)

    def handle(self, *args: Any, **options: Any) -> None:
        run_file = RunFile(settings.VAR_DIR)
        if not run_file.claim():
            running = run_file.read()
            where = f" at {running.address} (pid {running.pid})" if running else ""
            raise Problem(f"Millrace runs here already{where}: stop it with ./millrace down.")
        try:
            with as_problems():
                _Start(options, run_file).run()
        finally:
            run_file.release()


class _Start:
    """One run of `up`. The job is started as early as it can be: Spark takes longest."""

    def __init__(self, options: dict[str, Any], run_file: RunFile) -> None:
        self.options = options
        self.host, self.port = options["host"], options["port"]
        self.cluster = options["kafka"] or os.environ.get("MILLRACE_KAFKA")
        self.kafka = self.cluster or f"{HOST}:{options['broker_port']}"
        settings.KAFKA_BOOTSTRAP = self.kafka  # this process and its children use the same cluster
        shown_host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        self.address = f"http://{shown_host}:{self.port}"
        self.progress = Progress(sys.stdout)
        since = time.time()
        self.supervisor = Supervisor(
            sys.stdout,
            lambda services: run_file.write(RunState(os.getpid(), self.address, self.kafka, since, services)),
        )

    def run(self) -> None:
        require_free_port(self.port, self.host, "--port")
        if self.cluster is None:
            require_free_port(self.options["broker_port"], HOST, "--broker-port")
        setup.prepare_files(self.progress)
        self.supervisor.handle_signals()
        try:
            if self._start():
                self.supervisor.run()
        finally:
            self.supervisor.stop()

    def _start(self) -> bool:
        """Start everything; False if stop was asked for meanwhile."""
        if self.cluster is None:
            port = str(self.options["broker_port"])
            self.supervisor.start(self._service("broker", "runbroker", "--port", port, grace=40.0))
        elif not self._wait_for_kafka():  # a cluster that is not there is said before anything is started
            return False
        self.supervisor.start(self._job())  # it waits for the broker by itself
        admin = setup.prepare_database(self.progress)
        if not self._wait_for_kafka():
            return False
        topics = Topics(settings.TOPIC_PREFIX)
        setup.prepare_topics()
        web = ("serve", "--host", self.host, "--port", str(self.port))
        self.supervisor.start(self._service("web", *web))
        self.supervisor.start(self._service("history", "runhistory"))
        if not self.options["no_demo"]:
            self.supervisor.start(self._service("demo", "demo", "--rate", str(self.options["rate"])))
            self._announce_first_result(topics.results)
        if setup.plans_are_lost():
            # In a process of its own, so that no producer stays open here to outlive the broker.
            restore = self._service("topics", "setup", "--only", "topics")
            subprocess.run(restore.command, env={**os.environ, **restore.environment}, check=True)
        is_served = self.supervisor.wait_until(self._web_accepts, timeout=60)
        if self.supervisor.stopping:
            return False
        self.supervisor.start(self._alerts())  # last: what people wait for comes first
        if not is_served:
            return True
        self.supervisor.say(f"Open {self.address}")
        if admin is not None:
            self.supervisor.say(setup.admin_sentence(admin))
        if self.host not in LOOPBACK and "MILLRACE_ALLOWED_HOSTS" not in os.environ:
            self.supervisor.say("Set MILLRACE_ALLOWED_HOSTS to the names that people use for this server.")
        return True

    def _service(self, name: str, *command: str, grace: float = 15.0) -> Service:
        manage = str(settings.BASE_DIR / "manage.py")
        environment = {"MILLRACE_KAFKA": self.kafka}
        return Service(name, (sys.executable, manage, *command), environment, grace)

    def _job(self) -> Service:
        job = self._service("job", "runjob", grace=30.0)
        if "MILLRACE_SPARK_JAVA_OPTIONS" in os.environ or not settings.SPARK_MASTER.startswith("local"):
            return job
        return replace(job, environment={**job.environment, "MILLRACE_SPARK_JAVA_OPTIONS": QUICK_START})

    def _alerts(self) -> Service:
        alerts = self._service("alerts", "runalerts")
        address = os.environ.get("MILLRACE_ADDRESS", self.address)
        return replace(alerts, environment={**alerts.environment, "MILLRACE_ADDRESS": address})

    def _wait_for_kafka(self) -> bool:
        if self.supervisor.wait_until(lambda: answers(self.kafka), 5 if self.cluster else BROKER_PATIENCE):
            return True
        if self.supervisor.stopping:
            return False
        if self.cluster:
            raise Problem(f"No Kafka broker answers at {self.kafka}: check the address and that it runs.")
        raise Problem("The embedded Kafka broker did not start: its log lines above say why.")

    def _web_accepts(self) -> bool:
        host = "127.0.0.1" if self.host == "0.0.0.0" else self.host  # noqa: S104
        try:
            socket.create_connection((host, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def _announce_first_result(self, topic: str) -> None:
        first = FirstResult(self.kafka, topic)

        def watch() -> None:
            if first.wait(lambda: self.supervisor.stopping, FIRST_RESULT_PATIENCE):
                self.supervisor.say(f"First live point after {seconds_since_start():.1f} s")

        threading.Thread(target=watch, daemon=True).start()
