"""Plans on their way to a real broker that stops answering."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from kafka import KafkaConsumer, TopicPartition

from dashboard.planning import wire
from dashboard.planning.wire import WireDown, send_plan
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.topics import Topics, create_topics
from tests.frozen import frozen


@pytest.fixture
def own_broker(tmp_path: Path, settings: LazySettings) -> Iterator[Broker]:
    """One that may be frozen without harm to other tests."""
    jars = jars_dir(settings.VAR_DIR) / "broker"
    with Broker(tmp_path, free_port(), jars, find_java().path) as broker:
        settings.KAFKA_BOOTSTRAP = broker.bootstrap_servers
        create_topics(broker.bootstrap_servers, Topics(settings.TOPIC_PREFIX).shared())
        wire._forget_producer()
        yield broker
        wire._forget_producer()


def test_a_broker_that_freezes_is_said_and_leaves_nothing_behind(
    own_broker: Broker, settings: LazySettings
) -> None:
    before = set(threading.enumerate())
    send_plan("s", {"version": 1})
    assert set(threading.enumerate()) - before, "else this test would notice nothing"
    with frozen(own_broker.pid):
        for version in (2, 3):
            with pytest.raises(WireDown, match=f"Kafka does not answer at {own_broker.bootstrap_servers}"):
                send_plan("s", {"version": version})
            assert set(threading.enumerate()) <= before
    _until_sent({"version": 4})
    time.sleep(wire.SEND_SECONDS)  # what was given up would have come by now
    assert _newest(own_broker, settings) == b'{"version":4}'


def _until_sent(plan: dict[str, int]) -> None:
    """As the web process does: again and again."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return send_plan("s", plan)
        except WireDown:
            time.sleep(0.2)
    raise AssertionError("Kafka took no plan within a minute.")


def _newest(broker: Broker, settings: LazySettings) -> bytes | None:
    place = TopicPartition(Topics(settings.TOPIC_PREFIX).plans, 0)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, enable_auto_commit=False)
    consumer.assign([place])
    consumer.seek(place, consumer.end_offsets([place])[place] - 1)
    records = consumer.poll(timeout_ms=5_000)[place]
    consumer.close()
    value: bytes | None = records[-1].value
    return value
