"""Plans on their way to the job: one record per source on the compacted plans topic."""

import json
from threading import Lock
from typing import Any

from django.conf import settings
from kafka import KafkaProducer
from kafka.errors import KafkaError

from streaming.producers import abandon
from streaming.topics import MESSAGE_BYTES, Topics

SEND_SECONDS = 4.0


class WireDown(RuntimeError):
    """Kafka did not take the record; the job has not heard of it."""


_lock = Lock()
_producers: list[KafkaProducer] = []  # at most one, made when first needed


def send_plan(source_key: str, value: dict[str, Any] | None) -> None:
    """Put a source's plan on the topic and wait until Kafka has it; None removes the source."""
    topic = Topics(settings.TOPIC_PREFIX).plans
    encoded = None if value is None else json.dumps(value, separators=(",", ":")).encode()
    with _lock:
        try:
            producer = _producer()
            producer.send(topic, key=source_key.encode(), value=encoded).get(timeout=SEND_SECONDS)
        except (KafkaError, OSError, ValueError) as error:
            _forget_producer()
            raise WireDown(f"Kafka does not answer at {settings.KAFKA_BOOTSTRAP}.") from error


def _producer() -> KafkaProducer:
    if not _producers:
        limit = int(SEND_SECONDS * 1000)
        _producers.append(
            KafkaProducer(
                bootstrap_servers=settings.KAFKA_BOOTSTRAP.split(","),
                acks="all",
                bootstrap_timeout_ms=limit // 2,
                max_block_ms=limit,
                request_timeout_ms=limit - 500,
                delivery_timeout_ms=limit,
                allow_auto_create_topics=False,
                max_request_size=MESSAGE_BYTES,
            )
        )
    return _producers[0]


def _forget_producer() -> None:
    """After a failure start afresh: a record still queued must not be sent later, after a newer one."""
    while _producers:
        abandon(_producers.pop())
