"""The demo's producer keeps its rate, and goes on by itself after the broker was away."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from kafka import KafkaConsumer, TopicPartition

from streaming import demo
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java

RATE = 500
PATIENCE = 60.0


def _sent(bootstrap_servers: str) -> int:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers)
    try:
        if demo.TOPIC not in consumer.topics():
            return 0
        partitions = [TopicPartition(demo.TOPIC, number) for number in range(demo.PARTITIONS)]
        return sum(consumer.end_offsets(partitions).values())
    finally:
        consumer.close()


def _wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def test_it_goes_on_after_the_broker_was_away(tmp_path: Path) -> None:
    port, jars = free_port(), jars_dir(settings.VAR_DIR) / "broker"
    broker = Broker(tmp_path / "broker", port, jars, find_java().path)
    stop = threading.Event()
    producing = threading.Thread(target=demo.produce, args=(broker.bootstrap_servers, RATE, stop))
    producing.start()  # before the broker: it waits
    try:
        with broker:
            assert _wait_for(lambda: _sent(broker.bootstrap_servers) >= RATE)
        with broker:
            before = _sent(broker.bootstrap_servers)
            assert _wait_for(lambda: _sent(broker.bootstrap_servers) >= before + 2 * RATE)
    finally:
        stop.set()
        producing.join(PATIENCE)
    assert not producing.is_alive()
