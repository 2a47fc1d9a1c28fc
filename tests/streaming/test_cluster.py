"""The same job on a Spark cluster: exactly once, also when one of its machines ends."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyspark
import pytest
from django.conf import settings

from benchmarks.crashes.installation import Installation, kill_tree, wait_until
from benchmarks.crashes.rounds import Trial
from streaming import security
from streaming.broker import free_port, port_is_free
from streaming.jars import jars_dir
from streaming.tether import tethered

pytestmark = pytest.mark.spark
SEED = 4
ASK_FOR_KEYS = """
import os, sys
from pathlib import Path
from streaming import spark

name, master, jars, var_dir = sys.argv[1:]
session = spark.session(master, Path(jars), Path(var_dir))
context = session.sparkContext
told = context.parallelize([0], 1).map(lambda _: os.environ.get(name)).collect()
java = context._jvm.java.lang.ProcessHandle.current().pid()
arguments = Path(f"/proc/{java}/cmdline").read_text().split("\\0")
session.stop()
assert told == [os.environ[name]], told
assert "spark.master=" + master in arguments
assert not [each for each in arguments if os.environ[name] in each]
"""


class Cluster:
    """A standalone master and two workers of one core each, from Spark's own programs."""

    def __init__(self, directory: Path) -> None:
        self._port = free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        master = ["master.Master", "--host", "127.0.0.1", "--port", str(self._port), "--webui-port", "0"]
        self._processes = [self._start(master)]
        wait_until("The master’s start", lambda: not port_is_free(self._port), 60)
        for number in range(2):
            work = str(directory / f"worker{number}")
            place = ["--host", "127.0.0.1", "--webui-port", "0", "--work-dir", work]
            size = ["--cores", "1", "--memory", "1g"]
            self._processes.append(self._start(["worker.Worker", *place, *size, self.master]))

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        program = Path(pyspark.__path__[0]) / "bin" / "spark-class"
        first, *rest = command
        # Machines of a cluster have no keys but those that the job gives to its tasks.
        environment = {name: value for name, value in os.environ.items() if name != security.KEYS}
        command = [str(program), f"org.apache.spark.deploy.{first}", *rest]
        return subprocess.Popen(tethered(command), env=environment)

    def end_a_worker(self) -> None:
        worker = self._processes.pop()
        kill_tree(worker.pid)
        worker.wait()

    def close(self) -> None:
        for process in reversed(self._processes):
            kill_tree(process.pid)
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with closing(Cluster(tmp_path)) as made:
        yield made


def test_tasks_have_the_keys_to_secrets_and_no_command_line_shows_them(
    cluster: Cluster, tmp_path: Path
) -> None:
    jars = jars_dir(settings.VAR_DIR)
    arguments = [security.KEYS, cluster.master, str(jars), str(tmp_path)]
    environment = os.environ | {security.KEYS: security.new_key()}
    program = [sys.executable, "-c", ASK_FOR_KEYS, *arguments]
    told = subprocess.run(
        program, cwd=settings.BASE_DIR, env=environment, stderr=subprocess.PIPE, text=True, check=False
    )
    assert told.returncode == 0, told.stderr


def test_a_cluster_that_loses_a_worker_tells_every_answer_once(cluster: Cluster, tmp_path: Path) -> None:
    with Installation(tmp_path / "installation", SEED, cluster.master, per_second=500) as installation:
        trial = Trial(installation, SEED, print, more_strikes={"node": cluster.end_a_worker})
        verdict = trial.run(["node"])
    assert verdict.problems == []
    assert verdict.answers > 100
    assert installation.job_starts == 1
