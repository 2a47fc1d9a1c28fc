"""The supervisor keeps processes running, tells what it does, and leaves nobody behind."""

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.platform.runfile import RunFile, RunState, ServiceState
from dashboard.platform.supervisor import Service, Supervisor


class Watched(Supervisor):
    """A supervisor that keeps what it printed and the states it told."""

    def __init__(self) -> None:
        self.printed = io.StringIO()
        self.states: list[tuple[ServiceState, ...]] = []
        super().__init__(self.printed, self.states.append)

    def lines(self) -> list[str]:
        return self.printed.getvalue().splitlines()


@pytest.fixture
def supervisor() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.stop()


def _shell(name: str, script: str, grace: float = 5.0) -> Service:
    return Service(name, ("sh", "-c", script), grace=grace)


def _wait_for(condition: Callable[[], bool], timeout: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_log_lines_carry_the_name_of_their_process(supervisor: Watched) -> None:
    supervisor.start(_shell("mill", "echo grinding; sleep 60"))
    assert supervisor.wait_until(lambda: "mill     | grinding" in supervisor.lines(), 10)


def test_what_dies_is_started_again_with_growing_delay_and_a_word_about_it(supervisor: Watched) -> None:
    supervisor.start(_shell("fragile", "exit 3"))
    said = [f"fragile ended (exit code 3); starting it again in {delay} s" for delay in ("0.5", "1", "2")]
    assert supervisor.wait_until(lambda: all(f"millrace | {s}" in supervisor.lines() for s in said), 15)
    assert supervisor.states[-1][0].restarts == 2


def test_the_others_keep_running_when_one_dies(supervisor: Watched) -> None:
    supervisor.start(_shell("steady", "sleep 60"))
    steady = supervisor.states[-1][0].pid
    supervisor.start(_shell("fragile", "exit 1"))
    assert supervisor.wait_until(lambda: supervisor.states[-1][1].restarts > 0, 10)
    assert _is_alive(steady)
    assert supervisor.states[-1][0].restarts == 0


def test_processes_are_stopped_in_reverse_order(supervisor: Watched) -> None:
    for name in ("first", "second", "third"):
        supervisor.start(
            _shell(
                name, f"trap 'echo {name} ends; exit 0' TERM; echo {name} runs; while :; do sleep 0.1; done"
            )
        )
    assert supervisor.wait_until(lambda: sum("runs" in line for line in supervisor.lines()) == 3, 10)
    supervisor.stop()
    stopping = [line.split()[-1] for line in supervisor.lines() if "stopping" in line]
    assert stopping == ["third", "second", "first"]


def test_a_process_that_does_not_stop_is_killed_after_its_grace(supervisor: Watched) -> None:
    supervisor.start(_shell("stubborn", "trap '' TERM; echo deaf; while :; do sleep 0.1; done", grace=0.5))
    assert supervisor.wait_until(lambda: "stubborn | deaf" in supervisor.lines(), 10)
    pid = supervisor.states[-1][0].pid
    supervisor.stop()
    assert not _is_alive(pid)


def test_what_a_dead_process_started_does_not_outlive_it(supervisor: Watched, tmp_path: Path) -> None:
    child_file = tmp_path / "child"
    supervisor.start(_shell("parent", f"sleep 300 & echo $! > {child_file}; exit 1"))
    assert supervisor.wait_until(lambda: any("ended" in line for line in supervisor.lines()), 10)
    orphan = int(child_file.read_text())
    assert _wait_for(lambda: not _is_alive(orphan))


def test_children_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = textwrap.dedent(
        f"""
        import sys
        from dashboard.platform.supervisor import Service, Supervisor
        supervisor = Supervisor(sys.stdout, lambda states: None)
        supervisor.start(Service("child", ("sh", "-c", "echo $$ > {pid_file}; exec sleep 300")))
        supervisor.run()
        """
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(Path.cwd())}
    )
    try:
        assert _wait_for(lambda: pid_file.exists() and bool(pid_file.read_text().strip()))
        child = int(pid_file.read_text())
        assert _is_alive(child)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    assert _wait_for(lambda: not _is_alive(child))


def test_the_run_file_says_what_runs_only_while_somebody_holds_it(tmp_path: Path) -> None:
    state = RunState(
        1, "http://127.0.0.1:8000", "127.0.0.1:19092", 2.0, (ServiceState("web", 3, "running", 4.0, 0),)
    )
    holder, reader = RunFile(tmp_path), RunFile(tmp_path)
    assert reader.read() is None
    assert holder.claim()
    holder.write(state)
    assert reader.read() == state
    assert not reader.claim()
    holder.release()
    assert reader.read() is None
