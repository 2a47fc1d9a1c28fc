"""A real Apache Kafka broker on this machine: one JVM in KRaft mode, its data in one directory."""

import base64
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from streaming.tether import tethered

HOST = "127.0.0.1"
# One compiler is enough for a broker of this size, and it starts with half the work.
JAVA_OPTIONS = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class BrokerError(RuntimeError):
    """The broker cannot run; the message is the sentence shown to people."""


class Broker:
    """Starts, watches and stops the broker. Its data outlives it: a restart goes on where it stopped.

    The JVM ends with the thread that called `start()` (`streaming/tether.py`).
    """

    def __init__(self, data_dir: Path, port: int, jars_dir: Path, java: Path) -> None:
        self.data_dir = data_dir
        self.port = port
        self._jars_dir = jars_dir
        self._java = java
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        if self._process is None:
            raise BrokerError("The Kafka broker was not started.")
        return self._process.pid

    def start(self) -> None:
        """Start the JVM; its log lines go where this process's go. `wait_until_ready()` comes next."""
        if not port_is_free(self.port):
            raise BrokerError(
                f"Port {self.port} on {HOST} is taken by another program: stop it, or use another port."
            )
        if not any(self._jars_dir.glob("kafka_2.13-*.jar")):
            raise BrokerError(f"The broker's jars are not in {self._jars_dir}: run ./millrace setup first.")
        self._write_configuration()
        if not (self._log_dir / "meta.properties").exists():
            self._format_storage()
        command = self._java_command("kafka.Kafka", str(self._properties), options=JAVA_OPTIONS)
        self._process = subprocess.Popen(tethered(command))

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Return once the broker answers and counts itself as part of the cluster."""
        deadline = time.monotonic() + timeout
        while not answers(self.bootstrap_servers):
            if self._process is None or self._process.poll() is not None:
                raise BrokerError("The Kafka broker ended while starting; its log lines above say why.")
            if time.monotonic() > deadline:
                raise BrokerError(f"The Kafka broker did not answer within {timeout:.0f} s.")
            time.sleep(0.1)

    def wait(self) -> int:
        """Block until the JVM ends; its exit code."""
        if self._process is None:
            raise BrokerError("The Kafka broker was not started.")
        return self._process.wait()

    def stop(self, grace: float = 30.0) -> None:
        """Let the broker close its log files; kill it only if it does not."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End the JVM without a chance to close its files, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> "Broker":
        self.start()
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _properties(self) -> Path:
        return self.data_dir / "server.properties"

    @property
    def _log_dir(self) -> Path:
        return self.data_dir / "data"

    def _write_configuration(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._properties.write_text(_server_properties(self.port, free_port(), self._log_dir))
        (self.data_dir / "log4j2.properties").write_text(_LOG4J2)

    def _format_storage(self) -> None:
        """KRaft wants its directory formatted with a cluster id before the first start."""
        command = self._java_command(
            "kafka.tools.StorageTool",
            *("format", "-t", _new_cluster_id(), "-c", str(self._properties), *self._format_options()),
        )
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BrokerError(
                f"Kafka could not prepare {self._log_dir}: {(done.stderr or done.stdout).strip()}"
            )

    def _format_options(self) -> list[str]:
        """What else the storage is to hold from the start."""
        return []

    def _java_command(self, main: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.data_dir / 'log4j2.properties'}"
        return [str(self._java), *options, logging, "-cp", f"{self._jars_dir}/*", main, *arguments]


def _new_cluster_id() -> str:
    """A random UUID as Kafka writes it; one that begins with a dash would be read as an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def port_is_free(port: int, host: str = HOST) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        # As servers do: a connection that is just closing does not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(bootstrap_servers: str) -> bool:
    """Whether a Kafka cluster with at least one live broker answers there."""
    host, _, port = bootstrap_servers.split(",")[0].strip().rpartition(":")
    try:
        # A plain connection first: it fails at once, where the client would try for seconds.
        with socket.create_connection((host.strip("[]"), int(port)), timeout=2):
            pass
        admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers, request_timeout_ms=5000)
    except (OSError, ValueError, KafkaError):
        return False
    try:
        return bool(admin.describe_cluster()["brokers"])
    except KafkaError:
        return False
    finally:
        admin.close()


def _server_properties(port: int, controller_port: int, log_dir: Path) -> str:
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{HOST}:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}
advertised.listeners=PLAINTEXT://{HOST}:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={log_dir}
# A topic that nobody made on purpose is a mistyped name.
auto.create.topics.enable=false
# One broker holds the only copy.
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
# Small: it shares the machine with Spark and the web server.
num.network.threads=2
num.io.threads=2
num.replica.fetchers=1
background.threads=2
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=4194304
"""


_LOG4J2 = """\
status=error
appender.console.type=Console
appender.console.target=SYSTEM_ERR
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%p %c{1}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
"""
