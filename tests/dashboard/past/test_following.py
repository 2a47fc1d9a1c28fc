"""The process that writes history, on a real broker: ended and started again, it misses nothing."""

import threading
import time
import uuid
from collections.abc import Callable

import pytest
from kafka import KafkaProducer

from dashboard.models import HistoryPlace, SavedQuery, Source
from dashboard.past import following, reading
from dashboard.past.following import Follower
from optimizer.queries import AnyQuery
from streaming.results import ResultBlock, encode
from streaming.topics import Topics, create_topics, delete_topics
from tests.dashboard.live.messages import block

END = 1_800_000_000_000
PATIENCE_SECONDS = 30
pytestmark = pytest.mark.django_db(transaction=True)


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


def send(broker: str, topics: Topics, blocks: list[ResultBlock | bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=broker)
    for one in blocks:
        producer.send(topics.results, one if isinstance(one, bytes) else encode([one]))
    producer.close()


def results(window: AnyQuery, first: int, count: int) -> list[ResultBlock | bytes]:
    return [block(END + at * 10_000, {(): float(at)}, query=window.id) for at in range(first, first + count)]


class Process:
    """What `runhistory` runs, in a thread."""

    def __init__(self, broker: str, topics: Topics) -> None:
        self._stopped = threading.Event()
        follower = Follower(broker, topics, self._stopped.is_set)
        self._thread = threading.Thread(target=follower.run)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def kept(window: AnyQuery) -> list[float]:
    lines = reading.read(window, END, END + 3_600_000).lines
    return [value for _, values in lines.values() for value in values.tolist()]


def test_what_comes_while_nobody_writes_is_written_by_the_next(
    broker: str, topics: Topics, window: AnyQuery
) -> None:
    send(broker, topics, [*results(window, 0, 5), b"\xc1 nonsense"])
    first = Process(broker, topics)
    until(lambda: kept(window) == [0.0, 1.0, 2.0, 3.0, 4.0])
    first.stop()
    assert HistoryPlace.objects.get(topic=topics.results).offset == 6
    send(broker, topics, results(window, 5, 3))
    second = Process(broker, topics)
    until(lambda: len(kept(window)) == 8)
    second.stop()
    assert kept(window) == [float(at) for at in range(8)]


def test_of_two_processes_one_writes_and_the_other_takes_its_place(
    broker: str, topics: Topics, window: AnyQuery
) -> None:
    first = Process(broker, topics)
    until(lambda: HistoryPlace.objects.exclude(owner="").exists())
    owner = HistoryPlace.objects.get().owner
    second = Process(broker, topics)
    send(broker, topics, results(window, 0, 4))
    until(lambda: len(kept(window)) == 4)
    assert HistoryPlace.objects.get().owner == owner
    first.stop()
    send(broker, topics, results(window, 4, 4))
    until(lambda: len(kept(window)) == 8)
    second.stop()
    assert kept(window) == [float(at) for at in range(8)]


def test_a_topic_that_was_made_anew_is_read_from_its_start(
    broker: str, topics: Topics, window: AnyQuery
) -> None:
    HistoryPlace.objects.create(topic=topics.results, offset=1_000)
    send(broker, topics, results(window, 0, 2))
    process = Process(broker, topics)
    until(lambda: len(kept(window)) == 2)
    process.stop()
    assert HistoryPlace.objects.get().offset == 2
    delete_topics(broker, [topics.results])
