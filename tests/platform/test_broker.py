"""The embedded broker is a real one: it keeps its data, and explains why it does not start."""

import socket
from pathlib import Path

import pytest
from django.conf import settings
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic

from streaming.broker import Broker, BrokerError, _new_cluster_id, answers, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.topics import create_topics


def _broker(tmp_path: Path, port: int) -> Broker:
    jars = jars_dir(settings.VAR_DIR)
    return Broker(tmp_path / "broker", port, jars / "broker", find_java().path)


def test_messages_outlive_a_restart_of_the_broker(tmp_path: Path) -> None:
    port = free_port()
    with _broker(tmp_path, port) as broker:
        create_topics(broker.bootstrap_servers, [NewTopic("kept", 1, -1)])
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        producer.send("kept", b"still here").get(timeout=10)
        producer.close()
    assert not answers(broker.bootstrap_servers)
    with _broker(tmp_path, port) as broker:
        consumer = KafkaConsumer(
            "kept",
            bootstrap_servers=broker.bootstrap_servers,
            auto_offset_reset="earliest",
            consumer_timeout_ms=10_000,
        )
        assert next(consumer).value == b"still here"
        consumer.close()


def test_no_cluster_id_looks_like_an_option() -> None:
    assert not any(_new_cluster_id().startswith("-") for _ in range(1000))


def test_a_busy_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BrokerError, match="is taken by another program: stop it, or use another port"):
            _broker(tmp_path, taken.getsockname()[1]).start()


def test_missing_jars_are_one_sentence(tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker", free_port(), tmp_path / "no jars", find_java().path)
    with pytest.raises(BrokerError, match=r"run \./millrace setup first"):
        broker.start()
