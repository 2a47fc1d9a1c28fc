"""Looks at what runs: ports, other installations, the job's sign of life, the first result."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from dashboard.platform.problems import Problem
from streaming.broker import port_is_free

SILENT_AFTER = 6.0  # s without a status message: the job is down


def require_free_port(port: int, host: str, option: str) -> None:
    if port_is_free(port, host):
        return
    owner = "another Millrace" if answers_as_millrace(port) else "another program"
    raise Problem(
        f"Port {port} on {host} is taken by {owner}: stop it, or choose another port with {option} NUMBER."
    )


def answers_as_millrace(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2) as response:
            return b"Millrace" in response.read(20_000)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def is_empty(bootstrap_servers: str, topic: str) -> bool:
    """Whether nothing was ever written to the topic's first partition."""
    consumer = _consumer(bootstrap_servers)
    try:
        partition = TopicPartition(topic, 0)
        end: int = consumer.end_offsets([partition])[partition]
        return end == 0
    finally:
        consumer.close()


def last_status(bootstrap_servers: str, topic: str) -> dict[str, Any] | None:
    """The job's newest status message; None if there is none."""
    consumer = _consumer(bootstrap_servers)
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        if end == consumer.beginning_offsets([partition])[partition]:
            return None
        consumer.seek(partition, end - 1)
        for records in consumer.poll(timeout_ms=5000).values():
            return dict(json.loads(records[-1].value))
        return None
    except KafkaError:
        return None
    finally:
        consumer.close()


class FirstResult:
    """Notices the first message that reaches the results topic after this object was made."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._consumer = _consumer(bootstrap_servers)
        self._partition = TopicPartition(topic, 0)
        self._consumer.assign([self._partition])
        self._consumer.seek_to_end(self._partition)
        self._consumer.position(self._partition)  # asks the broker now, not at the first poll

    def wait(self, given_up: Callable[[], bool], timeout: float) -> bool:
        """Block until it is there; False if it did not come in time or waiting became pointless."""
        deadline = time.monotonic() + timeout
        try:
            while time.monotonic() < deadline and not given_up():
                if self._consumer.poll(timeout_ms=200):
                    return True
            return False
        except KafkaError:
            return False
        finally:
            self._consumer.close()


def _consumer(bootstrap_servers: str) -> KafkaConsumer:
    return KafkaConsumer(bootstrap_servers=bootstrap_servers, group_id=None, enable_auto_commit=False)
