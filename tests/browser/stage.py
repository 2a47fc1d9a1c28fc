"""A web server on a real broker, with results written to Kafka as the job writes them: pages without Spark.

What is tested with it is what browsers show of results and what people do to pages; `conftest.millrace` has
the job, too.
"""

import json
import math
import os
import random
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from django.conf import settings
from kafka import KafkaProducer
from playwright.sync_api import Browser, StorageState

from streaming.results import ResultBlock, encode
from streaming.topics import Topics, create_topics
from tests.browser.conftest import sign_in
from tests.dashboard.live.messages import meter, status

PASSWORD = "kingfisher-under-9"
PREFIX = "stage"
SOURCE = "web"
LATENESS_MS = 10_000
PAST_MS = 14 * 60_000
START_SECONDS = 60
SEED = """
import json, sys
from django.contrib.auth.models import User
from dashboard.models import Connection, SavedQuery, Source
User.objects.create_superuser("admin", password={password!r}, first_name="Ana")
connection = Connection.objects.create(key="here", name="here", bootstrap_servers={broker!r})
source = Source.objects.create(
    key={source!r}, name="web.requests", topic="web.requests", connection=connection, event_time="at",
    schema=[["at", "integer"], ["route", "text"], ["region", "text"], ["ms", "number"], ["bytes", "integer"]],
)
for key, name, computations, windows, group_by in json.loads(sys.stdin.read()):
    SavedQuery.objects.create(
        key=key, name=name, source=source, computations=computations, windows=windows, group_by=group_by
    )
"""


@dataclass(frozen=True)
class Staged:
    """A query and the values that its results have: by group, a level around which they go up and down."""

    key: str
    name: str
    aggregate: str
    of: str | None
    windows: tuple[tuple[str, str], ...]
    levels: dict[tuple[str, ...], float]
    group_by: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # groups that have no results for a while

    def definition(self) -> list[Any]:
        computations = [{"aggregate": self.aggregate, "field": self.of}]
        windows = [{"range": size, "slide": slide} for size, slide in self.windows]
        return [self.key, self.name, computations, windows, list(self.group_by)]


ROUTES = ("checkout", "cart/items", "search", "products/{id}", "session", "recommend", "media/thumb", "login")
REGIONS = ("eu-west", "eu-central", "eu-north", "us-east", "us-west", "sa-east", "ap-south", "ap-east")
QUERIES = (
    Staged(
        "latency", "Latency, average", "mean", "ms", (("1m", "5s"), ("5m", "5s"), ("1h", "10s")), {(): 212}
    ),
    Staged("requests", "Requests", "count", None, (("1m", "5s"),), {(): 1_450_000}),
    Staged("errors", "Error ratio", "mean", "ms", (("5m", "10s"),), {(): 0.84}),
    Staged(
        "routes",
        "Route bytes",
        "sum",
        "bytes",
        (("1m", "5s"), ("5m", "10s")),
        {(f"/api/{name}",): 412 - 45.0 * at for at, name in enumerate(ROUTES)}
        | {(f"/assets/{number}.js",): 40 - number / 40 for number in range(1_200)},
        ("route",),
    ),
    Staged(
        "regions",
        "Slowest regions",
        "max",
        "ms",
        (("15s", "15s"),),
        {(name,): 180 + 60.0 * at for at, name in enumerate(REGIONS)},
        ("region",),
        missing=("sa-east",),
    ),
    Staged(
        "failed",
        "Failed requests",
        "count",
        None,
        (("1m", "1m"),),
        {("5xx",): 110, ("4xx",): 440},
        ("status",),
    ),
)
MANAGE = (sys.executable, str(settings.BASE_DIR / "manage.py"))
UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000}


def milliseconds(text: str) -> int:
    return int(text[:-1]) * UNITS[text[-1]]


@dataclass
class Stage:
    address: str
    bootstrap_servers: str
    var_dir: Path
    environment: dict[str, str]
    queries: tuple[Staged, ...] = QUERIES
    paused: threading.Event = field(default_factory=threading.Event)
    _batch: int = 0

    def shell(self, code: str) -> None:
        """Something that nobody could wait for, such as what happened hours ago."""
        command = [*MANAGE, "shell", "-v", "0", "-c", code]
        subprocess.run(command, env=self.environment, check=True)

    def play(self, stop: threading.Event) -> None:
        """The past at once, then as it comes, once a second."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap_servers, linger_ms=5)
        topics, told = Topics(PREFIX), int(time.time() * 1000) - PAST_MS
        while not stop.wait(1.0):
            now = int(time.time() * 1000)
            self._batch += 1
            if not self.paused.is_set():
                for block in self._blocks(told, now):
                    producer.send(topics.results, encode([block]))
                told = now - LATENESS_MS - 1_000
            told_of = meter(self._batch, clock=now, source=SOURCE, watermark=now - LATENESS_MS)
            producer.send(topics.meters, json.dumps(told_of).encode())
            state = status(now, **{SOURCE: {"state": "running", "since": now, "error": None}})
            producer.send(topics.status, json.dumps(state).encode())
            producer.flush()
        producer.close()

    def _blocks(self, since: int, now: int) -> Iterator[ResultBlock]:
        for query in self.queries:
            for size, slide_text in query.windows:
                span, slide = milliseconds(size), milliseconds(slide_text)
                for end in range(since // slide * slide + slide, now + slide, slide):
                    yield self._block(query, f"{query.key}@{size}/{slide_text}", end, span, now)

    def _block(self, query: Staged, query_id: str, end: int, span: int, now: int) -> ResultBlock:
        quiet = 6 * 60_000 < now % 10**12 - end % 10**12 < 7 * 60_000
        groups = {
            g: level for g, level in query.levels.items() if not (quiet and g and g[0] in query.missing)
        }
        values = [value_at(query, group, end, span) for group in groups]
        return ResultBlock(
            source=SOURCE,
            query=query_id,
            plan=1,
            start=end - span,
            end=end,
            shard=0,
            batch=self._batch,
            final=end <= now - LATENESS_MS,
            keys=msgspec.Raw(msgspec.msgpack.encode(list(groups))),
            values=np.array(values, np.float64).tobytes(),
            counts=np.full(len(groups), 7, np.int64).tobytes(),
        )


def value_at(query: Staged, group: tuple[str, ...], end: int, span: int) -> float:
    """The same at the same time, calmer the longer the window is."""
    level = query.levels[group]
    if group and group[0].startswith("/assets/"):
        return level  # who is among the greatest does not change from one moment to the next
    noise = random.Random(f"{query.key}{group}{end}").gauss(0, 0.06) / math.sqrt(span / 60_000)
    phase = sum(map(ord, "".join(group) + query.key))
    wave = 0.12 * math.sin(end / 90_000 + phase) / max(1.0, math.log10(span / 6_000))
    value = level * (1 + wave + noise)
    return float(round(value)) if query.aggregate == "count" else value


@contextmanager
def staged(broker: str, var_dir: Path, port: int) -> Iterator[Stage]:
    """The server, its data and its stream, until the end of the block."""
    create_topics(broker, Topics(PREFIX).shared())
    environment = os.environ | {
        "MILLRACE_VAR": str(var_dir),
        "MILLRACE_KAFKA": broker,
        "MILLRACE_TOPIC_PREFIX": PREFIX,
        "DATABASE_URL": f"sqlite:///{var_dir / 'stage.sqlite3'}",
    }
    subprocess.run([*MANAGE, "migrate", "-v", "0"], env=environment, check=True)
    seed = SEED.format(password=PASSWORD, broker=broker, source=SOURCE)
    definitions = json.dumps([query.definition() for query in QUERIES])
    subprocess.run(
        [*MANAGE, "shell", "-v", "0", "-c", seed], env=environment, input=definitions.encode(), check=True
    )
    stage, stop = Stage(f"http://127.0.0.1:{port}", broker, var_dir, environment), threading.Event()
    stream = threading.Thread(target=stage.play, args=[stop], daemon=True)
    with (var_dir / "web.log").open("w") as log:
        command = [*MANAGE, "serve", "--port", str(port)]
        web = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        stream.start()
        _wait_until_served(stage, web)
        yield stage
    finally:
        stop.set()
        web.terminate()
        web.wait(30)
        stream.join(10)


def _wait_until_served(stage: Stage, web: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert web.poll() is None, (stage.var_dir / "web.log").read_text()
        try:
            with urllib.request.urlopen(f"{stage.address}/sign-in/") as answer:
                if answer.status == 200:
                    return
        except urllib.error.URLError:
            time.sleep(0.2)
    raise AssertionError((stage.var_dir / "web.log").read_text())


def session_of_admin(browser: Browser, address: str) -> StorageState:
    """Signed in once, for all pages of a module."""
    context = browser.new_context(base_url=address)
    page = context.new_page()
    sign_in(page, "admin", PASSWORD)
    page.wait_for_url(lambda url: "sign-in" not in url)
    state = context.storage_state()
    context.close()
    return state
