"""Back-tests: a draft run over what Kafka holds, in a process of its own, kept in files for a day.

Files, not rows: the process that computes has nothing to do with the database, and what it leaves is easily
thrown away. The lock of a folder is held for as long as its process lives, whatever becomes of this one.
"""

import fcntl
import json
import re
import secrets
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from dashboard.sources.models import Source
from optimizer.queries import QuerySpec

AT_ONCE_EACH = 2  # of one person
AT_ONCE = 4
KEPT_SECONDS = 24 * 3600.0
MOST_RESULTS = 5_000_000
_KEY = re.compile(r"[0-9a-f]{16}")

ASKED, RUNNING, DONE, FAILED, CANCELLED = "asked", "running", "done", "failed", "cancelled"


class TooMany(RuntimeError):
    """No room for another one; the message is the sentence shown to people."""


@dataclass(frozen=True)
class BackTest:
    """One back-test, by its folder."""

    folder: Path

    @classmethod
    def ask(cls, source: Source, spec: QuerySpec, person: User, editing: str = "") -> "BackTest":
        """Keep what is to be run; it starts when somebody says from when on."""
        _tidy()
        test = cls(_root() / secrets.token_hex(8))
        test.folder.mkdir(mode=0o700, parents=True)
        asked = {"person": person.pk, "source": source.key, "spec": spec.to_json(), "editing": editing}
        test.write("asked", asked)
        return test

    @classmethod
    def find(cls, key: str) -> "BackTest | None":
        test = cls(_root() / key)
        return test if _KEY.fullmatch(key) and (test.folder / "asked.json").exists() else None

    @property
    def key(self) -> str:
        return self.folder.name

    @property
    def results(self) -> Path:
        return self.folder / "results.jsonl"

    @property
    def person(self) -> int:
        return int(self.asked["person"])

    @property
    def asked(self) -> dict[str, Any]:
        return self.read("asked") or {}

    def spec(self) -> QuerySpec:
        return QuerySpec.from_json(self.asked["spec"])

    @property
    def state(self) -> str:
        if self._is_alive():
            return RUNNING
        if (self.folder / "summary.json").exists():
            return DONE
        if (self.folder / "cancelled").exists():
            return CANCELLED
        return FAILED if (self.folder / "run.json").exists() else ASKED

    @property
    def problem(self) -> str:
        """Why it failed."""
        told = self.read("problem")
        return str(told["sentence"]) if told else "It ended before its end: run it again."

    def start(self, source: Source, since: int | None) -> None:
        """Run it from this instant on, or from the oldest message; raises TooMany."""
        if self.state == RUNNING:
            return
        _check_room(self.person)
        for name in (
            "run.json",
            "progress.json",
            "summary.json",
            "problem.json",
            "cancelled",
            self.results.name,
        ):
            (self.folder / name).unlink(missing_ok=True)
        self.write("run", {"source": source.spec().to_json(), "since": since, "began": time.time()})
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "backtest", str(self.folder)]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(lock.fileno(),)
            )
        threading.Thread(target=process.wait, daemon=True).start()  # or it would stay as a zombie

    def cancel(self) -> None:
        """It ends with the messages that it has at hand."""
        (self.folder / "cancelled").touch()

    @property
    def is_cancelled(self) -> bool:
        return (self.folder / "cancelled").exists()

    def _is_alive(self) -> bool:
        try:
            with (self.folder / "lock").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
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


def _root() -> Path:
    return Path(settings.VAR_DIR) / "backtests"


def _all() -> list[BackTest]:
    return [BackTest(path.parent) for path in _root().glob("*/asked.json")]


def _check_room(person: int) -> None:
    running = [test for test in _all() if test.state == RUNNING]
    if sum(test.person == person for test in running) >= AT_ONCE_EACH:
        raise TooMany(f"You have {AT_ONCE_EACH} back-tests running: cancel one, or wait for it.")
    if len(running) >= AT_ONCE:
        raise TooMany(f"{AT_ONCE} back-tests are running: wait for one to end.")


def _tidy() -> None:
    """Let go of what is older than a day."""
    for test in _all():
        too_old = time.time() - test.folder.stat().st_mtime > KEPT_SECONDS
        if too_old and test.state != RUNNING:
            shutil.rmtree(test.folder, ignore_errors=True)
