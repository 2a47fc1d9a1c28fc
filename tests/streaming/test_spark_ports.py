"""What a local Spark listens on: on loopback alone, and nobody is let in without its secret."""

import socket
from pathlib import Path

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

pytestmark = pytest.mark.spark
LISTENING = "0A"
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")


def listening(pid: int) -> list[tuple[str, int]]:
    """Addresses, as the kernel writes them, and ports on which a process listens."""
    own = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(str(entry.readlink()))
        except FileNotFoundError:
            continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in own:
                address, port = fields[1].split(":")
                found.append((address, int(port, 16)))
    return found


@pytest.fixture
def jvm(spark):
    return spark.sparkContext._jvm


@pytest.fixture
def pid(jvm) -> int:
    return jvm.java.lang.ProcessHandle.current().pid()


def test_everything_listens_on_loopback_alone(pid: int):
    assert listening(pid)
    assert [one for one in listening(pid) if one[0] not in LOOPBACK] == []


def test_there_is_no_web_page_of_sparks_own(pid: int):
    for _, port in listening(pid):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.settimeout(1)
            try:
                connection.sendall(b"GET /jobs/ HTTP/1.0\r\n\r\n")
                assert not connection.recv(100).startswith(b"HTTP/")
            except OSError:
                pass


def test_python_s_gateway_refuses_who_does_not_know_its_token(spark):
    port = spark.sparkContext._gateway.gateway_parameters.port
    for token in (None, "guessed"):
        stranger = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        with pytest.raises((Py4JError, OSError)):
            stranger.jvm.java.lang.System.currentTimeMillis()


def reaches_the_driver(spark, jvm, conf) -> bool:
    """Whether somebody with these settings gets a reply of the driver's own listener."""
    options = jvm.java.lang.Class.forName("org.apache.spark.internal.config.package$")
    secret_file = options.getField("MODULE$").get(None).AUTH_SECRET_FILE()
    manager = jvm.org.apache.spark.SecurityManager(conf, jvm.scala.Option.empty(), secret_file)
    stranger = jvm.org.apache.spark.rpc.RpcEnv.create("stranger", "127.0.0.1", 0, conf, manager, True)
    port = int(spark.sparkContext.getConf().get("spark.driver.port"))
    try:
        stranger.setupEndpointRef(jvm.org.apache.spark.rpc.RpcAddress("127.0.0.1", port), "HeartbeatReceiver")
    except Py4JError:
        return False
    finally:
        stranger.shutdown()
    return True


def test_the_driver_answers_nobody_who_does_not_know_its_secret(spark, jvm):
    conf = jvm.org.apache.spark.SparkConf(False)
    for name in ("spark.rpc.askTimeout", "spark.rpc.lookupTimeout"):
        conf.set(name, "5s")
    assert not reaches_the_driver(spark, jvm, conf)
