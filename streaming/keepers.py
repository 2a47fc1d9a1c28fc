"""Processes that keep shards in memory: Spark gives a task to whichever worker is free, state cannot move.

Keeper `n` has shard `n` of every source that runs here. It is forked from the process that Spark's workers
are forked from (`streaming/worker_daemon.py`), when a worker first asks for it, and ends with that process.
A worker hands a batch's reports over and gets messages back; whichever of the two is lost, the task fails and
is run again, from the state on disk if need be (`streaming/kept_shards.py`).
"""

import ctypes
import fcntl
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from types import FrameType

from streaming.kept_shards import IDLE_SECONDS, KeptShards, Message, ShardSetup

PLACE = "MILLRACE_KEEPERS"  # where workers find the sockets of keepers, and the process that forks them
START_SECONDS = 20.0
_PR_SET_PDEATHSIG = 1


class KeeperFailed(RuntimeError):
    """A shard could not be worked on; the message says why."""


# --- in Spark's workers -------------------------------------------------------------------------------

_connections: dict[int, Connection] = {}


def run_shard(setup: ShardSetup, number: int, batch: int, reports: list[bytes]) -> list[Message]:
    """Have a shard's keeper run a batch."""
    request = (setup, number, batch, reports)
    try:
        answer = _ask(number, request)
    except (OSError, EOFError):  # it was lost since the last batch, or just now: a new one reads the state
        lost = _connections.pop(number, None)
        if lost is not None:
            lost.close()
        answer = _ask(number, request)
    if isinstance(answer, str):
        raise KeeperFailed(answer)
    return answer


def _ask(number: int, request: tuple[ShardSetup, int, int, list[bytes]]) -> list[Message] | str:
    if number not in _connections:
        _connections[number] = _connect(number)
    _connections[number].send(request)
    answer: list[Message] | str = _connections[number].recv()
    return answer


def _connect(number: int) -> Connection:
    place, daemon = os.environ[PLACE].rsplit(":", 1)
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return Client(str(Path(place) / f"{number}.socket"), family="AF_UNIX")
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > deadline:
                raise KeeperFailed(f"The process that keeps shard {number} did not start.") from None
        (Path(place) / f"{number}.wanted").touch()
        os.kill(int(daemon), signal.SIGUSR1)
        time.sleep(0.05)


# --- in the process that forks ------------------------------------------------------------------------


def offer() -> Path:
    """Let workers that are forked from now on ask for keepers; returns the directory to remove at the end."""
    place = Path(tempfile.mkdtemp(prefix="millrace-keepers-"))
    os.environ[PLACE] = f"{place}:{os.getpid()}"
    signal.signal(signal.SIGUSR1, lambda number, frame: _fork_wanted(place, number, frame))
    return place


def _fork_wanted(place: Path, _signal: int, _frame: FrameType | None) -> None:
    for wanted in place.glob("*.wanted"):
        wanted.unlink(missing_ok=True)
        if os.fork() == 0:
            _be_keeper(place / wanted.stem)


# --- in a keeper --------------------------------------------------------------------------------------


def _be_keeper(path: Path) -> None:
    try:
        _end_with_parent()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        # Sockets and pipes of the parent: Spark waits for their ends.
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        with suppress(BlockingIOError):  # there is one already
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _serve(path.with_suffix(".socket"))
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _end_with_parent() -> None:
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _serve(socket: Path) -> None:
    socket.unlink(missing_ok=True)
    shards, turn = KeptShards(), threading.Lock()
    threading.Thread(target=_forget_idle, args=(shards, turn), daemon=True).start()
    with Listener(str(socket), family="AF_UNIX") as listener:
        while True:
            connection = listener.accept()
            threading.Thread(target=_answer, args=(connection, shards, turn), daemon=True).start()


def _forget_idle(shards: KeptShards, turn: threading.Lock) -> None:
    while True:
        time.sleep(IDLE_SECONDS / 3)
        with turn:
            shards.forget_idle(time.monotonic())


def _answer(connection: Connection, shards: KeptShards, turn: threading.Lock) -> None:
    """Until the worker at the other end is gone."""
    with connection, suppress(OSError, EOFError):
        while True:
            setup, number, batch, reports = connection.recv()
            try:
                with turn:
                    answer: list[Message] | str = shards.run(setup, number, batch, reports)
            except Exception as error:  # the task that asked fails with it, and is run again
                answer = f"{type(error).__name__}: {error}"
            connection.send(answer)
