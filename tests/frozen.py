"""A process that is there and does nothing."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STOPS_WITHIN = 10.0  # s: its first thread passes the signal on, once it has a processor


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """All of its threads stand still while the block runs."""
    os.kill(pid, signal.SIGSTOP)
    try:
        deadline = time.monotonic() + STOPS_WITHIN
        while not _stands_still(pid):
            assert time.monotonic() < deadline, f"Process {pid} goes on."
            time.sleep(0.01)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _stands_still(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    try:
        return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in threads)
    except (FileNotFoundError, ProcessLookupError):  # a thread ends just now
        return False
