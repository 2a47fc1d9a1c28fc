"""Verify: a real topic's events computed anew by a real Spark, against what the job told of them."""

import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from confluent_kafka import Producer
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from kafka.admin import NewTopic

from dashboard.models import SavedQuery, Source
from dashboard.planning.verifying import Verifying
from optimizer import Statistics, optimize
from streaming.replay.engine import Engine
from streaming.replay.topics import SourceSpan
from streaming.results import ResultBlock, messages
from streaming.topics import Topics, create_topics
from tests.dashboard.places import connection_to
from tests.dashboard.queries.test_sampling import SCHEMA, events

pytestmark = [pytest.mark.django_db, pytest.mark.spark]
PATIENCE = 120.0


@pytest.fixture(autouse=True)
def own_places(settings: LazySettings, tmp_path: Path, broker: str) -> None:
    settings.VAR_DIR = tmp_path
    settings.KAFKA_BOOTSTRAP = broker
    settings.TOPIC_PREFIX = f"verify-{uuid4().hex[:8]}"
    create_topics(broker, Topics(settings.TOPIC_PREFIX).shared())


@pytest.fixture
def by_device(broker: str, ana: User) -> SavedQuery:
    """A query over five minutes that lie a little back; some messages have a text where it reads a number."""
    topic = f"readings-{uuid4().hex[:8]}"
    create_topics(broker, [NewTopic(topic, 2, 1)])
    began = int(time.time()) // 10 * 10_000 - 10 * 60_000
    producer = Producer({"bootstrap.servers": broker})
    for place, event in enumerate(events()):
        at = began + place * 100
        temp = "n/a" if place % 50 == 7 else event["temp"]
        value = json.dumps({**event, "ts": at, "temp": temp})
        producer.produce(topic, value, partition=place % 2, timestamp=at)
    producer.flush()
    source = Source.objects.create(
        connection=connection_to(broker),
        key=topic,
        name=topic,
        topic=topic,
        event_time="ts",
        allowed_lateness=5_000,
        schema=SCHEMA,
        created_by=ana,
    )
    return SavedQuery.objects.create(
        source=source,
        name="By device",
        computations=[{"aggregate": "mean", "field": "temp"}, {"aggregate": "p95", "field": "temp * 2"}],
        windows=[{"range": "1m", "slide": "10s"}],
        group_by=["device"],
        where="temp < 2",
        owner=ana,
    )


def results_of_the_job(*running: SavedQuery) -> list[ResultBlock]:
    """What the job makes of the topic: its own map task and shard."""
    spec = running[0].source.spec()
    span = SourceSpan(spec)
    queries = [one for query in running for one in query.queries()]
    engine = Engine(spec, optimize(queries, Statistics()), span.partitions, span.whole)
    for batch in span.batches(spec.types, int(time.time() * 1000)):
        engine.take(batch.rows)
    return engine.blocks


def told(broker: str, topic: str, blocks: list[ResultBlock]) -> None:
    producer = Producer({"bootstrap.servers": broker})
    for key, value in messages(blocks):
        producer.produce(topic, value, key)
    producer.flush()


def verified(client: Client, query: SavedQuery, **sent: Any) -> Verifying:
    answer = client.post(f"/plan/{query.source.key}/verify/", {"query": query.key, "minutes": "15", **sent})
    assert answer.status_code == 302, answer.content.decode()
    task = Verifying.find(answer.headers["Location"].rstrip("/").rpartition("/")[2])
    assert task is not None
    deadline = time.monotonic() + PATIENCE
    while task.state == "running":
        assert time.monotonic() < deadline
        assert client.get(f"/plan/verified/{task.key}/state/").status_code == 200
        time.sleep(0.3)
    return task


def test_all_rows_of_an_honest_job_are_equal_and_a_wrong_one_is_found(
    as_ana: Client, as_bo: Client, by_device: SavedQuery, broker: str, settings: LazySettings
) -> None:
    results, blocks = Topics(settings.TOPIC_PREFIX).results, results_of_the_job(by_device)
    told(broker, results, blocks)
    task = verified(as_ana, by_device)
    page = as_ana.get(f"/plan/verified/{task.key}/").content.decode()
    assert task.state == "done", task.problem
    summary = task.read("summary") or {}
    assert summary["rows"] == sum(block.size for block in blocks) > 80
    assert summary["different"] == 0
    assert summary["equal"] + summary["within"] == summary["rows"]
    assert ("rows are equal." if summary["within"] == 0 else "No row differs by more than") in page
    assert "Approximate: exact up to 400 values" in page
    assert "mean of temp, 1 m every 10 s" in page

    wrong = max(blocks, key=lambda block: block.end)
    values = np.frombuffer(wrong.values).copy()
    values[0] += 1
    lie = ResultBlock(
        **{name: getattr(wrong, name) for name in wrong.__struct_fields__} | {"values": values.tobytes()}
    )
    told(broker, results, [lie])
    task = verified(as_ana, by_device)
    page = as_ana.get(f"/plan/verified/{task.key}/").content.decode()
    assert f"1 of {summary['rows']} rows differ." in page
    rows = [
        json.loads(line)
        for line in b"".join(as_ana.get(f"/plan/verified/{task.key}/rows/").streaming_content).splitlines()
    ]
    assert [row["end"] for row in rows if row["likeness"] == "different"] == [wrong.end]
    assert as_bo.get(f"/plan/verified/{task.key}/").status_code == 403
    assert "1 of" in as_ana.get(f"/plan/{by_device.source.key}/verify/").content.decode()


def test_messages_count_in_which_another_query_reads_a_wrong_value(
    as_ana: Client, by_device: SavedQuery, broker: str, settings: LazySettings
) -> None:
    counted = SavedQuery.objects.create(
        source=by_device.source,
        name="All",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "1m", "slide": "10s"}],
        owner=by_device.owner,
    )
    blocks = results_of_the_job(by_device, counted)
    alone = results_of_the_job(counted)
    of_all = {one.id for one in counted.queries()}
    assert {one.place: list(one.rows()) for one in blocks if one.query in of_all} == {
        one.place: list(one.rows()) for one in alone
    }
    told(broker, Topics(settings.TOPIC_PREFIX).results, blocks)
    summary = verified(as_ana, counted).read("summary") or {}
    assert summary["rows"] > 20
    assert summary["different"] == 0


def test_a_query_without_results_says_so(as_ana: Client, by_device: SavedQuery) -> None:
    task = verified(as_ana, by_device)
    page = as_ana.get(f"/plan/verified/{task.key}/").content.decode()
    assert "Nothing to compare." in page
    assert "No final result in these minutes" in page


def test_what_cannot_be_verified_is_refused_and_one_runs_at_a_time(
    as_ana: Client, by_device: SavedQuery
) -> None:
    address = f"/plan/{by_device.source.key}/verify/"
    answer = as_ana.post(address, {"query": by_device.key, "minutes": "7"})
    assert answer.status_code == 422
    assert "Verify the last 5, 15 or 60 minutes." in answer.content.decode()
    started = as_ana.post(address, {"query": by_device.key, "minutes": "5"}).headers["Location"]
    second = as_ana.post(address, {"query": by_device.key, "minutes": "5"})
    assert second.status_code == 422
    assert "Another verification is running" in second.content.decode()
    as_ana.post(f"{started}cancel/")
    task = Verifying.find(started.rstrip("/").rpartition("/")[2])
    deadline = time.monotonic() + PATIENCE
    while task is not None and task.state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert "Cancelled." in as_ana.get(started).content.decode()
