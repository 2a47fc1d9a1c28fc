"""The process that writes history, on a real broker: ended and started again, it misses nothing."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError
from kafka import KafkaProducer

from dashboard.live.meters import process_meters
from dashboard.models import CalibrationRecord, HistoryPlace, SavedQuery, Source, ThroughputSample
from dashboard.past import following, reading
from dashboard.past.following import Follower
from dashboard.past.writing import SILENT_AFTER, Writer
from dashboard.planning import service
from optimizer.queries import AnyQuery
from streaming.results import ResultBlock, encode
from streaming.topics import Topics, create_topics
from tests.dashboard.live.messages import block, meter

END = 1_800_000_000_000
PATIENCE_SECONDS = 30
pytestmark = pytest.mark.django_db(transaction=True)  # it closes its connections by itself


@pytest.fixture
def topics(broker: str) -> Topics:
    topics = Topics(f"past-{uuid.uuid4().hex[:8]}")
    create_topics(broker, topics.shared())
    return topics


@pytest.fixture
def window(sensors: Source) -> AnyQuery:
    saved = SavedQuery.objects.create(
        source=sensors,
        name="Events",
        computations=[{"aggregate": "count"}],
        windows=[{"range": "1m", "slide": "10s"}],
    )
    return saved.queries()[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "FLUSH_SECONDS", 0.2)
    monkeypatch.setattr(following, "RETRY_SECONDS", 0.2)
    monkeypatch.setattr(following, "SAMPLE_SECONDS", 0.2)


def send(broker: str, topics: Topics, blocks: list[ResultBlock | bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker)
    for one in blocks:
        producer.send(topics.results, one if isinstance(one, bytes) else encode([one]))
    producer.close()


def results(window: AnyQuery, first: int, count: int) -> list[ResultBlock | bytes]:
    return [block(END + at * 10_000, {(): float(at)}, query=window.id) for at in range(first, first + count)]


def follow(broker: str, topics: Topics, is_done: Callable[[], bool]) -> None:
    """What `runhistory` runs, until it is done."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    Follower(broker, topics, lambda: is_done() or time.monotonic() > deadline).run()
    assert time.monotonic() <= deadline


def kept(window: AnyQuery) -> list[float]:
    lines = reading.read(window, END, END + 3_600_000).lines
    return [value for _, values in lines.values() for value in values.tolist()]


def test_what_comes_while_nobody_writes_is_written_by_the_next(
    broker: str, topics: Topics, window: AnyQuery
) -> None:
    send(broker, topics, [*results(window, 0, 5), b"\xc1 nonsense"])
    follow(broker, topics, lambda: len(kept(window)) == 5)
    assert HistoryPlace.objects.get(topic=topics.results).offset == 6
    send(broker, topics, results(window, 5, 3))
    follow(broker, topics, lambda: len(kept(window)) == 8)
    assert kept(window) == [float(at) for at in range(8)]


def test_while_another_writes_it_waits_and_then_takes_its_place(
    broker: str, topics: Topics, window: AnyQuery
) -> None:
    other = Writer(topics.results)
    assert other.claim() == 0
    send(broker, topics, results(window, 0, 4))
    ends_at, looked = time.monotonic() + 2, []

    def is_done() -> bool:
        looked.append(kept(window))
        if time.monotonic() > ends_at and HistoryPlace.objects.get().owner == other.owner:
            assert not any(looked)
            other.release()
        return len(looked[-1]) == 4

    follow(broker, topics, is_done)
    assert kept(window) == [0.0, 1.0, 2.0, 3.0]


def test_after_an_error_the_same_process_goes_on_at_once(
    broker: str, topics: Topics, window: AnyQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = []
    flush = Writer.flush

    def broken_once(self: Writer, *arguments: Any) -> None:
        if not failures:
            failures.append(True)
            raise OperationalError("the disk is away")
        flush(self, *arguments)

    monkeypatch.setattr(Writer, "flush", broken_once)
    send(broker, topics, results(window, 0, 3))
    began = time.monotonic()
    follow(broker, topics, lambda: len(kept(window)) == 3)
    assert failures
    assert time.monotonic() - began < SILENT_AFTER.total_seconds() / 2


def test_a_topic_that_was_made_anew_is_read_from_its_start(
    broker: str, topics: Topics, window: AnyQuery
) -> None:
    HistoryPlace.objects.create(topic=topics.results, offset=1_000)
    send(broker, topics, results(window, 0, 2))
    follow(broker, topics, lambda: len(kept(window)) == 2)
    assert HistoryPlace.objects.get().offset == 2


@pytest.fixture
def worked(broker: str, topics: Topics, window: AnyQuery, sensors: Source) -> Iterator[None]:
    """Ten minutes of batches, told by a job whose meters nobody has read."""
    service.replan(sensors, "Ana added “Events”")
    began = (int(time.time()) // 300 - 2) * 300_000
    producer = KafkaProducer(bootstrap_servers=broker)
    producer.send(topics.meters, b"nonsense")
    for second in range(0, 600, 5):
        told = meter(second, clock=began + second * 1_000)
        producer.send(topics.meters, json.dumps(told).encode())
    producer.close()
    process_meters.keep_only(set())
    yield
    process_meters.keep_only(set())


def test_samples_and_calibrations_are_kept_though_nobody_watches(
    broker: str, topics: Topics, worked: None
) -> None:
    follow(broker, topics, ThroughputSample.objects.exists)
    (sample,) = ThroughputSample.objects.all()
    assert sample.actual == pytest.approx(1_000 / 0.03 * 2)
    assert sample.trees
    assert CalibrationRecord.objects.get().automatic


def test_who_waits_for_the_place_keeps_no_samples(broker: str, topics: Topics, worked: None) -> None:
    other = Writer(topics.results)
    other.claim()
    ends_at = time.monotonic() + 2
    follow(broker, topics, lambda: time.monotonic() > ends_at)
    assert not ThroughputSample.objects.exists()
    other.release()
    follow(broker, topics, ThroughputSample.objects.exists)


def test_results_are_written_even_where_samples_fail(
    broker: str, topics: Topics, window: AnyQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def broken() -> None:
        tried.append(True)
        raise OperationalError("the disk is away")

    monkeypatch.setattr(following, "note_throughput", broken)
    follow(broker, topics, lambda: len(tried) > 1)
    send(broker, topics, results(window, 0, 3))
    follow(broker, topics, lambda: len(kept(window)) == 3)
