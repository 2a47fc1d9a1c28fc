"""The web process of an installation: its plans change by the API, as when people save and delete queries."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import yaml
from django.conf import settings

from optimizer.queries import QuerySpec
from streaming.broker import free_port
from streaming.sources import SourceSpec

LOG_SHOWN = 5_000  # characters, where the web process fails
ANSWER_SECONDS = 60.0  # from a request to its answer, a restart of the web process included
MANAGE = (sys.executable, str(settings.BASE_DIR / "manage.py"))
# What an administrator does once: the first account, a token for programs, and what is in a file of `export`.
PREPARE = """
import sys
from django.contrib.auth.models import User
from django.core.management import call_command
from dashboard.accounts.tokens import make_token
from dashboard.exchange.reading import take
call_command("migrate", verbosity=0)
ana = User.objects.create_superuser("ana", first_name="Ana")
take(sys.stdin.read())
print(make_token(ana, "crashes", None)[1])
"""


class Web:
    """A web process that may end at any moment, and somebody who saves and deletes queries meanwhile.

    Who gets no answer looks whether it was done, and asks again if not.
    """

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = os.environ | environment
        self._log = log
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._token = ""
        self._source = ""

    def prepare(self, source: SourceSpec, queries: Sequence[QuerySpec]) -> None:
        """The database, with a source and its first queries, whose keys are their names."""
        self._source = source.id
        done = subprocess.run(
            [*MANAGE, "shell", "-v", "0", "-c", PREPARE],
            env=self._environment,
            input=yaml.safe_dump(_definitions(source, queries)),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        self._token = done.stdout.split()[-1]

    # --- the process ----------------------------------------------------------------------------------

    def keep_running(self) -> None:
        """What the supervisor does."""
        if self._process is None or self._process.poll() is not None:
            command = [*MANAGE, "serve", "--port", str(self._port)]
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    # --- what people do -------------------------------------------------------------------------------

    def add(self, query: QuerySpec) -> QuerySpec:
        """Save a query; returns it under the key that its results have."""
        sent = _as_sent(query) | {"source": self._source}
        known = self._until_done(lambda: self._query_named(query.name), "POST", "/api/queries", sent)
        return replace(query, name=known["key"])

    def remove(self, query: QuerySpec) -> None:
        self._until_done(
            lambda: None if query.name in self._keys() else True, "DELETE", f"/api/queries/{query.name}"
        )

    def adopt(self, strategy: str, nodes: int) -> None:
        """Let a strategy make the plan from now on; that it was adopted twice does no harm."""
        adopted = {"strategy": strategy, "nodes": nodes}
        self._until_answered("POST", f"/api/sources/{self._source}/plan/adopt", adopted)

    def newest_plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = self._until_answered("GET", f"/api/sources/{self._source}/plan")
        return plan

    def _query_named(self, name: str) -> dict[str, Any] | None:
        return next((query for query in self._queries() if query["name"] == name), None)

    def _keys(self) -> set[str]:
        return {query["key"] for query in self._queries()}

    def _queries(self) -> list[dict[str, Any]]:
        queries: list[dict[str, Any]] = self._until_answered("GET", "/api/queries?limit=200")["items"]
        return queries

    def _until_done(self, done: Any, method: str, path: str, sent: Any = None) -> Any:
        deadline = time.monotonic() + ANSWER_SECONDS
        while (found := done()) is None:
            self._ask(method, path, sent, deadline)
        return found

    def _until_answered(self, method: str, path: str, sent: Any = None) -> Any:
        deadline = time.monotonic() + ANSWER_SECONDS
        while (answer := self._ask(method, path, sent, deadline)) is None:
            pass
        return answer

    def _ask(self, method: str, path: str, sent: Any, deadline: float) -> Any:
        """The answer; None where there was none in the first place."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            None if sent is None else msgspec.json.encode(sent),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:  # noqa: S310
                return msgspec.json.decode(response.read() or b"true")
        except urllib.error.HTTPError as error:
            said = f"{method} {path}: {error.code}, {error.read().decode()}"
            raise RuntimeError(f"{said}\n{self._log.read_text()[-LOG_SHOWN:]}") from error
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
            return None


def _definitions(source: SourceSpec, queries: Sequence[QuerySpec]) -> dict[str, Any]:
    """As `export` writes them."""
    return {
        "millrace": 1,
        "connections": [{"key": "here", "name": "here", "bootstrap_servers": source.bootstrap_servers}],
        "sources": [
            {
                "key": source.id,
                "name": source.id,
                "connection": "here",
                "topic": source.topic,
                "format": source.format,
                "fields": [{"name": name, "type": kind} for name, kind in source.schema],
                "event_time": source.event_time,
                "time_unit": source.time_unit,
                "allowed_lateness": f"{source.allowed_lateness}ms",
            }
        ],
        "queries": [_as_sent(query) | {"key": query.name, "source": source.id} for query in queries],
    }


def _as_sent(query: QuerySpec) -> dict[str, Any]:
    return {
        "name": query.name,
        "computations": [{"aggregate": one.aggregate, "field": one.field} for one in query.computations],
        "windows": [window.to_json() for window in query.windows],
        "group_by": list(query.group_by),
        "where": query.where or "",
    }
