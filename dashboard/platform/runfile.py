"""What a running `up` leaves for other terminals: a lock that ends with it, a file that says what runs."""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True)
class ServiceState:
    name: str
    pid: int
    state: str  # running, restarting, stopped
    since: float  # seconds since the epoch
    restarts: int


@dataclass(frozen=True)
class RunState:
    pid: int
    address: str
    kafka: str
    since: float
    services: tuple[ServiceState, ...] = ()

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "RunState":
        services = tuple(ServiceState(**service) for service in value["services"])
        return cls(**{**value, "services": services})


class RunFile:
    """`var/run/millrace.json`. The lock beside it tells a living `up` from one that was killed."""

    def __init__(self, var_dir: Path) -> None:
        self._path = var_dir / "run" / "millrace.json"
        self._lock: IO[str] | None = None

    def claim(self) -> bool:
        """Take the lock for as long as this process lives; False if another process holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = self._path.with_suffix(".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def release(self) -> None:
        self._path.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def is_claimed(self) -> bool:
        """Whether some process holds the lock."""
        probe = RunFile(self._path.parent.parent)
        if not probe.claim():
            return True
        if probe._lock is not None:
            probe._lock.close()
        return False

    def write(self, state: RunState) -> None:
        """Replace the file in one step, so that nobody reads half of it."""
        new = self._path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(asdict(state)))
        new.replace(self._path)

    def read(self) -> RunState | None:
        """What runs now; None if nothing does."""
        if not self.is_claimed():
            return None
        try:
            return RunState.from_json(json.loads(self._path.read_text()))
        except FileNotFoundError:  # it is just starting, or just ending
            return None
