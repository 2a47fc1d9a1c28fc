"""What every producer of kafka-python needs when its broker goes away."""

from contextlib import suppress

from kafka import KafkaProducer
from kafka.errors import KafkaError

ENDING_SECONDS = 1.0


def abandon(producer: KafkaProducer) -> None:
    """End a producer without sending what it still has, which would be told late, or after something newer.

    `close` alone waits for what is on its way, raises an error when that takes too long, and then leaves the
    producer's thread running for ever.
    """
    producer._sender.force_close()
    with suppress(KafkaError):
        producer.close(timeout=ENDING_SECONDS)
