"""Back-tests: a draft run over what Kafka holds, in a process of its own, kept in files for a day."""

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from dashboard.accounts import rights
from dashboard.accounts.people import is_administrator
from dashboard.instants import parse_instant
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
KEPT_EACH = 20  # of one person: results may be large
MOST_RESULTS = 5_000_000
_KEY = re.compile(r"[0-9a-f]{16}")

GONE = "There is no such back-test; they are kept for a day."
NO_RESULTS = "There are no results."


@dataclass(frozen=True)
class BackTest(FolderTask):
    """One back-test, by its folder."""

    @classmethod
    def ask(cls, source: Source, spec: QuerySpec, person: User, editing: str = "") -> "BackTest":
        """Keep what is to be run; it starts when somebody says from when on."""
        with _alone():
            _tidy(person.pk)
        test = cls(_root() / secrets.token_hex(8))
        test.folder.mkdir(mode=0o700)
        asked = {
            "person": person.pk,
            "source": source.key,
            "spec": spec.to_json(),
            "editing": editing,
            "at": time.time(),
        }
        test.write("asked", asked)
        return test

    @classmethod
    def find(cls, key: str) -> "BackTest | None":
        test = cls(_root() / key)
        return test if _KEY.fullmatch(key) and (test.folder / "asked.json").exists() else None

    @classmethod
    def of(cls, person: User) -> "list[BackTest]":
        """Those that this person asked for, newest first."""
        return _newest_first(test for test in _all() if test.person == person.pk)

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
        with _alone():
            if self.state == RUNNING:
                return
            _check_room(self.person)
            self.launch("backtest", {"source": source.spec().to_json(), "since": since}, [self.results.name])

    def rows(self, place: int, limit: int) -> tuple[list[dict[str, Any]], int | None]:
        """So many results from this byte of the file on, and where the next begin; None: there are no more.

        Raises ValueError where no result begins there.
        """
        with self.results.open("rb") as file:
            if place:
                file.seek(min(place - 1, os.fstat(file.fileno()).st_size))  # some disks refuse farther ones
                if file.read(1) != b"\n":
                    raise ValueError(
                        "No result begins there: begin with 0, then with “next” of the part before."
                    )
            lines = list(islice(file, limit))
            following = place + sum(map(len, lines))
            return [msgspec.json.decode(line) for line in lines], following if file.read(1) else None


def check_may_see(test: BackTest, person: User) -> None:
    if not is_administrator(person) and person.pk != test.person:
        raise PermissionDenied("You may not see this back-test. Run your own from the query's draft.")
    source = Source.objects.select_related("created_by").filter(key=test.asked["source"]).first()
    if source is not None:
        rights.check_may_see(person, source)


def beginning(typed: str, zone: str = "") -> int | None:
    """When to begin (ms); None, where nothing was typed: with the oldest message. Raises InvalidInstant."""
    return parse_instant(typed, int(time.time() * 1000), zone or "UTC") if typed.strip() else None


def _root() -> Path:
    return Path(settings.VAR_DIR) / "backtests"


@contextmanager
def _alone() -> Iterator[None]:
    """One at a time over all web processes, so that what is counted here holds until it is done."""
    _root().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (_root() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _all() -> list[BackTest]:
    return all_tasks(BackTest, _root())


def _newest_first(tests: Iterable[BackTest]) -> list[BackTest]:
    return sorted(tests, key=lambda test: float(test.asked.get("at", 0)), reverse=True)


def _check_room(person: int) -> None:
    running = [test for test in _all() if test.state == RUNNING]
    if sum(test.person == person for test in running) >= AT_ONCE_EACH:
        raise TooMany(f"You have {AT_ONCE_EACH} back-tests running: cancel one, or wait for it.")
    if len(running) >= AT_ONCE:
        raise TooMany(f"{AT_ONCE} back-tests are running: wait for one to end.")


def _tidy(person: int) -> None:
    """Let go of what is older than a day, and make room for another one of this person."""
    tidy(_all())
    ended = [test for test in _newest_first(_all()) if test.state != RUNNING and test.person == person]
    for test in ended[KEPT_EACH - 1 :]:
        test.forget()
