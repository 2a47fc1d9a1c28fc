"""Work that a page asked for, in a process of its own, kept in a folder: what was asked, how far it is.

Files, not rows: the process that computes has nothing to do with the database, and what it leaves is easily
thrown away. The lock of a folder is held for as long as its process lives, whatever becomes of this one.
"""

import fcntl
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings

KEPT_SECONDS = 24 * 3600.0
ASKED, RUNNING, DONE, FAILED, CANCELLED = "asked", "running", "done", "failed", "cancelled"
OF_A_RUN = ("run.json", "progress.json", "summary.json", "problem.json", "cancelled")


class TooMany(RuntimeError):
    """No room for another one; the message is the sentence shown to people."""


class Cancelled(Exception):
    """Somebody does not want it any more."""


@dataclass(frozen=True)
class FolderTask:
    """One task, by its folder."""

    folder: Path

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def state(self) -> str:
        if self._is_alive():
            return RUNNING
        if (self.folder / "summary.json").exists():
            return DONE
        if self.is_cancelled:
            return CANCELLED
        return FAILED if (self.folder / "run.json").exists() else ASKED

    @property
    def problem(self) -> str:
        """Why it failed."""
        told = self.read("problem")
        return str(told["sentence"]) if told else "It ended before its end: run it again."

    def launch(self, command: str, run: dict[str, Any], left_over: Iterable[str] = ()) -> None:
        """Run `manage.py COMMAND FOLDER` with what `run` says; nothing happens where it runs already."""
        with (self.folder / "launch").open("w") as alone, (self.folder / "lock").open("w") as lock:
            fcntl.flock(alone, fcntl.LOCK_EX)
            if self._is_alive():
                return
            fcntl.flock(lock, fcntl.LOCK_EX)  # waits for nobody but who looks whether it lives
            for name in (*OF_A_RUN, *left_over):
                (self.folder / name).unlink(missing_ok=True)
            self.write("run", {**run, "began": time.time()})
            process = subprocess.Popen(
                [sys.executable, str(settings.BASE_DIR / "manage.py"), command, str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(lock.fileno(),),
            )
        threading.Thread(target=process.wait, daemon=True).start()  # or it would stay as a zombie

    def cancel(self) -> None:
        """It ends at its next step; one that has ended stays as it is."""
        if self.state == RUNNING:
            (self.folder / "cancelled").touch()

    def forget(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def is_cancelled(self) -> bool:
        return (self.folder / "cancelled").exists()

    def _is_alive(self) -> bool:
        try:
            with (self.folder / "lock").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: who else asks is not its process
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def read(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads((self.folder / f"{name}.json").read_text()))
        except FileNotFoundError:
            return None

    def write(self, name: str, value: dict[str, Any]) -> None:
        """Replace the file in one step, so that nobody reads half of it."""
        part = self.folder / f".{name}.part"
        part.write_text(json.dumps(value))
        part.replace(self.folder / f"{name}.json")


Task = TypeVar("Task", bound=FolderTask)


def all_tasks(kind: type[Task], root: Path, has: str = "asked.json") -> list[Task]:
    return [kind(path.parent) for path in root.glob(f"*/{has}")]


def tidy(tasks: Iterable[FolderTask]) -> None:
    """Let go of what is older than a day."""
    for task in tasks:
        too_old = time.time() - task.folder.stat().st_mtime > KEPT_SECONDS
        if too_old and task.state != RUNNING:
            task.forget()
