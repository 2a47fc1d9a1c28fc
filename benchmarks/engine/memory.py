"""Memory of a process and all that it started, sampled while it runs."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

EVERY_SECONDS = 0.5


@dataclass
class Memory:
    """Bytes over time: proportional shares (PSS), so that pages shared between forked workers count once."""

    samples: list[tuple[float, int]] = field(default_factory=list)  # monotonic seconds, bytes

    @property
    def peak(self) -> int:
        return max((size for _, size in self.samples), default=0)

    def between(self, low: float, high: float) -> list[int]:
        """Samples from `low` to `high` seconds after the first."""
        began = self.samples[0][0]
        return [size for at, size in self.samples if low <= at - began <= high]


@contextmanager
def watched(root: int, leave_out: frozenset[int] = frozenset()) -> Iterator[Memory]:
    """Samples the memory of `root` and its descendants, except those below `leave_out`, in the background."""
    memory, ended = Memory(), threading.Event()

    def sample() -> None:
        while not ended.wait(EVERY_SECONDS):
            size = sum(_share(pid) for pid in family(root, leave_out))
            memory.samples.append((time.monotonic(), size))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        ended.set()
        thread.join()


def family(root: int, leave_out: frozenset[int] = frozenset()) -> list[int]:
    """A process and all its descendants that are alive, without the branches of `leave_out`."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may hold spaces; the parent is the second field after it.
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue  # it ended meanwhile
        children.setdefault(parent, []).append(int(path.parent.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        if pid not in leave_out:
            found.append(pid)
            waiting += children.get(pid, [])
    return found


def _share(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
