"""Every strategy, adopted on mixed queries: what the job then tells is read, and every page goes on."""

import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.test import Client
from kafka import KafkaProducer

from dashboard.live.hub import process_hub
from dashboard.live.meters import process_meters, statistics
from dashboard.live.reader import Reader
from dashboard.models import PlanVersion, SavedQuery, Source
from dashboard.planning import service
from dashboard.planning.samples import note_throughput
from dashboard.planning.what_if import Comparison
from optimizer.plan import Plan
from optimizer.strategies import STRATEGIES
from streaming.topics import Topics, create_topics
from tests.streaming.engine import Engine

pytestmark = [pytest.mark.django_db, pytest.mark.broker]

BASE = 1_700_000_000_000
BATCHES, EVENTS = 4, 1_500
PATIENCE = 20.0
MIXED: tuple[dict[str, Any], ...] = (
    {
        "name": "Readings",
        "computations": [{"aggregate": "count"}],
        "windows": [{"range": size, "slide": size} for size in ("20s", "30s", "40s")],
        "group_by": ["device"],
    },
    {
        "name": "Hottest",
        "computations": [{"aggregate": "max", "field": "temp"}, {"aggregate": "sum", "field": "temp"}],
        "windows": [{"range": "1m", "slide": "10s"}, {"range": "25s", "slide": "10s"}],
        "group_by": ["device", "ok"],
    },
    {
        "name": "Mean",
        "computations": [{"aggregate": "mean", "field": "temp"}],
        "windows": [{"range": "1m", "slide": "20s"}, {"count": 100, "every": 10}],
        "where": "temp > 3",
    },
)


class Job:
    """What the job would publish of a plan, by way of a real broker."""

    def __init__(self, broker: str) -> None:
        self._topics = Topics(f"strategies-{uuid.uuid4().hex[:8]}")
        create_topics(broker, self._topics.shared())
        self._producer = KafkaProducer(bootstrap_servers=broker)
        self._reader = Reader(broker, self._topics)
        self._reader.open()

    def run(self, plan: Plan, source: Source) -> None:
        """Let it read some batches of events; this process hears of them."""
        process_meters.keep_only(set())
        engine = Engine(plan, source=source.spec())
        for number in range(BATCHES):
            engine.batch({0: [_event(number * EVENTS + at) for at in range(EVENTS)]})
        now = int(time.time() * 1000)
        for meter in engine.meters:
            meter["clock"] = now - (BATCHES - meter["batch"]) * 1_000
            self._producer.send(self._topics.meters, msgspec.json.encode(meter))
        self._producer.flush()
        self._hear(len(engine.meters))

    def _hear(self, messages: int) -> None:
        deadline, heard = time.monotonic() + PATIENCE, 0
        while heard < messages:
            assert time.monotonic() < deadline
            arrivals = self._reader.poll()
            process_hub.take(arrivals)
            heard += len(arrivals.meters)

    def close(self) -> None:
        self._producer.close()
        self._reader.close()


def _event(at: int) -> dict[str, Any]:
    return {"ts": BASE + at * 20, "device": f"d{at % 7}", "temp": at % 11, "ok": at % 3 == 0}


@pytest.fixture
def job(broker: str) -> Iterator[Job]:
    job = Job(broker)
    yield job
    job.close()
    process_meters.keep_only(set())


@pytest.fixture
def mixed(sensors: Source, ana: User) -> list[SavedQuery]:
    return [SavedQuery.objects.create(source=sensors, owner=ana, **one) for one in MIXED]


def kinds(plan: Plan) -> frozenset[tuple[bool, ...]]:
    """Of its trees: with how many queries, made of the events, of slices or of answers."""
    return frozenset(
        (bool(tree.queries), len(tree.queries) > 1, tree.fed_by is not None, tree.through is not None)
        for tree in plan.trees
    )


def look_at_every_page(client: Client, version: PlanVersion, queries: list[SavedQuery]) -> None:
    plan = "/plan/sensors"
    addresses = [
        "/",
        "/queries/",
        "/queries/new/",
        *(f"/queries/{query.key}/" for query in queries),
        f"/queries/{queries[0].key}/edit/",
        "/plan/?source=sensors",
        "/plan/picture/?source=sensors",
        *(f"{plan}/trees/{tree.id}/" for tree in version.value().all_trees),
        *(f"/plan/?source=sensors&tree={tree.id}" for tree in version.value().trees if not tree.queries),
        *(f"{plan}/{each}/" for each in ("estimates", "throughput", "strategies", "what-if", "history")),
        f"{plan}/what-if/best/",
        f"{plan}/history/{version.version}/",
        f"{plan}/history/1/back/",
        "/api/sources/sensors/plan",
        f"/api/sources/sensors/plans/{version.version}",
    ]
    codes = {address: client.get(address, follow=True).status_code for address in addresses}
    assert {address: code for address, code in codes.items() if code >= 400} == {}
    for comparison in (Comparison.of(version, nodes) for nodes in (1, 2)):
        comparison.cancel()


def test_every_strategy_can_be_adopted_looked_at_edited_and_left(
    as_ana: Client, sensors: Source, mixed: list[SavedQuery], job: Job, settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    first = service.replan(sensors, "Ana added queries")
    seen: set[frozenset[tuple[bool, ...]]] = set()
    for strategy in STRATEGIES:
        as_ana.post("/plan/sensors/adopt/", {"strategy": strategy, "nodes": "2"})
        version = service.newest(sensors)
        assert version is not None
        assert version.value().strategy == strategy
        if (kinds_of_trees := kinds(version.value())) in seen:
            continue
        seen.add(kinds_of_trees)
        job.run(version.value(), sensors)
        assert ("device",) in statistics(sensors.key).groups
        look_at_every_page(as_ana, version, mixed)
        edit_release_and_go_back(as_ana, version, first, mixed[0])
    assert {(False, False, False, False), (True, False, True, True)} <= set().union(*seen)  # a factor window


def edit_release_and_go_back(
    client: Client, version: PlanVersion, first: PlanVersion, readings: SavedQuery
) -> None:
    note_throughput()
    typed = {
        "name": "Readings",
        "source": "sensors",
        "aggregate": "count",
        "field": "",
        "group_by": ["device"],
    }
    for windows in ("20s, 30s, 40s, 50s", "20s, 30s, 40s"):
        answer = client.post(f"/queries/{readings.key}/edit/", {**typed, "windows": windows})
        assert answer.status_code == 302
    for address in ("/plan/sensors/release/", f"/plan/sensors/history/{first.version}/go-back/"):
        assert client.post(address).status_code == 302
    assert service.newest(version.source).version == version.version + 4
