"""Back-tests: a draft run over what Kafka holds, in a process of its own, kept in files for a day."""

import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from dashboard.platform.folder_tasks import (
    ASKED,
    CANCELLED,
    DONE,
    FAILED,
    RUNNING,
    FolderTask,
    TooMany,
    all_tasks,
    tidy,
)
from dashboard.sources.models import Source
from optimizer.queries import QuerySpec

__all__ = ["ASKED", "CANCELLED", "DONE", "FAILED", "RUNNING", "BackTest", "TooMany"]

AT_ONCE_EACH = 2  # of one person
AT_ONCE = 4
MOST_RESULTS = 5_000_000
_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class BackTest(FolderTask):
    """One back-test, by its folder."""

    @classmethod
    def ask(cls, source: Source, spec: QuerySpec, person: User, editing: str = "") -> "BackTest":
        """Keep what is to be run; it starts when somebody says from when on."""
        tidy(_all())
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

    def start(self, source: Source, since: int | None) -> None:
        """Run it from this instant on, or from the oldest message; raises TooMany."""
        if self.state == RUNNING:
            return
        _check_room(self.person)
        self.launch("backtest", {"source": source.spec().to_json(), "since": since}, [self.results.name])


def _root() -> Path:
    return Path(settings.VAR_DIR) / "backtests"


def _all() -> list[BackTest]:
    return all_tasks(BackTest, _root())


def _check_room(person: int) -> None:
    running = [test for test in _all() if test.state == RUNNING]
    if sum(test.person == person for test in running) >= AT_ONCE_EACH:
        raise TooMany(f"You have {AT_ONCE_EACH} back-tests running: cancel one, or wait for it.")
    if len(running) >= AT_ONCE:
        raise TooMany(f"{AT_ONCE} back-tests are running: wait for one to end.")
