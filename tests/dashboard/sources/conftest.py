"""Topics on a real broker."""

import json
import uuid
from collections.abc import Callable

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

FillTopic = Callable[..., str]
LARGEST = 16 << 20  # bytes of a message


@pytest.fixture
def fill_topic(broker: str) -> FillTopic:
    """Make a topic of its own with these values, one after the other over its partitions; its name."""

    def fill(
        values: list[bytes | dict | None],
        partitions: int = 3,
        first_timestamp: int = 1_000,
        keep_ms: int = -1,
    ) -> str:
        name = f"test.{uuid.uuid4().hex[:12]}"
        admin = KafkaAdminClient(bootstrap_servers=broker)
        # The messages are of 1970: retention would remove them when it looks next, every five minutes.
        config = {"max.message.bytes": str(LARGEST), "retention.ms": str(keep_ms)}
        admin.create_topics([NewTopic(name, partitions, 1, topic_configs=config)])
        admin.close()
        producer = KafkaProducer(bootstrap_servers=broker, max_request_size=LARGEST)
        for number, value in enumerate(values):
            encoded = json.dumps(value).encode() if isinstance(value, dict) else value
            producer.send(
                name,
                encoded,
                key=b"k%d" % number,
                partition=number % partitions,
                timestamp_ms=first_timestamp + number,
            ).get(10)
        producer.close()
        return name

    return fill
