"""Verify: a running query's last minutes computed anew, unshared, in a process of its own, kept for a day."""

import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from dashboard.accounts import rights
from dashboard.accounts.people import is_administrator
from dashboard.planning.steps import joined_at, steps_of, warm_since
from dashboard.platform.folder_tasks import RUNNING, FolderTask, TooMany, all_tasks, tidy
from dashboard.queries.models import SavedQuery
from streaming.topics import Topics

AT_ONCE = 1  # each has a Spark of its own
MINUTES = (5, 15, 60)
MOST_ROWS = 500_000
SHOWN_ROWS = 300
_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Verifying(FolderTask):
    """One verification, by its folder."""

    @classmethod
    def start(cls, query: SavedQuery, minutes: int, person: User) -> "Verifying":
        """Raises TooMany while another one runs, ValueError where it cannot be asked for so."""
        if minutes not in MINUTES:
            raise ValueError(f"Verify the last {MINUTES[0]}, {MINUTES[1]} or {MINUTES[2]} minutes.")
        if query.paused_at is not None:
            raise ValueError(
                f"“{query.name}” is paused: it has no results of the last minutes. Resume it first."
            )
        known = all_tasks(Verifying, _root())
        tidy(known)
        if sum(one.state == RUNNING for one in known) >= AT_ONCE:
            raise TooMany("Another verification is running: wait for it to end, or cancel it.")
        task = cls(_root() / secrets.token_hex(8))
        task.folder.mkdir(mode=0o700, parents=True)
        task.write("asked", {"person": person.pk, "query": query.key, "minutes": minutes})
        task.launch("verifyquery", _run(query, minutes))
        return task

    @classmethod
    def find(cls, key: str) -> "Verifying | None":
        task = cls(_root() / key)
        return task if _KEY.fullmatch(key) and (task.folder / "asked.json").exists() else None

    @classmethod
    def newest(cls, person: User) -> list["Verifying"]:
        """Somebody's last ones, of queries that they may see, the newest first."""
        own = [one for one in all_tasks(Verifying, _root()) if one.asked.get("person") == person.pk]
        newest = sorted(own, key=lambda one: one.folder.stat().st_mtime, reverse=True)
        seen = SavedQuery.with_deleted.filter(source__in=rights.visible_sources(person))
        keys = set(seen.values_list("key", flat=True))
        return [one for one in newest if one.asked["query"] in keys][:10]

    @property
    def asked(self) -> dict[str, Any]:
        return self.read("asked") or {}

    @property
    def rows(self) -> Path:
        """Every row that was compared, as JSON lines."""
        return self.folder / "rows.jsonl"

    def query(self) -> SavedQuery | None:
        return SavedQuery.objects.select_related("source").filter(key=self.asked["query"]).first()

    def progress(self) -> dict[str, Any]:
        told = self.read("progress") or {"percent": 0, "words": "Starting."}
        return {"percent": told["percent"], "words": told["words"]}


def check_may_see(task: Verifying, person: User) -> None:
    """Who started it, as long as they may see the query; and administrators."""
    if not is_administrator(person) and person.pk != task.asked["person"]:
        raise PermissionDenied("You may not see this verification. Run your own from the plan page.")
    queries = SavedQuery.with_deleted.select_related("source__created_by", "owner")
    query = queries.filter(key=task.asked["query"]).first()
    if query is not None:
        rights.check_may_see(person, query)


def _run(query: SavedQuery, minutes: int) -> dict[str, Any]:
    now = int(time.time() * 1000)
    members, lateness = query.queries(), query.source.allowed_lateness
    steps = steps_of(query.source, warm_since(members, lateness, now))
    return {
        "source": query.source.spec().to_json(),
        "spec": query.spec().to_json(),
        "key": query.key,
        "since": now - minutes * 60_000,
        "joined": joined_at(steps, members, lateness, now),
        "bootstrap_servers": settings.KAFKA_BOOTSTRAP,
        "results": Topics(settings.TOPIC_PREFIX).results,
    }


def _root() -> Path:
    return Path(settings.VAR_DIR) / "verifying"
