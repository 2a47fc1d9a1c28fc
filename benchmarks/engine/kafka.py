"""Topics of the benchmarks: filled fast, and read back with the time at which each message was readable."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka.admin import NewTopic

from benchmarks.engine.events import PARTITIONS, Stream, json_messages
from streaming.kafka_log import LogReader
from streaming.topics import create_topics

Encode = Callable[[pa.Table], Sequence[bytes]]
# The broker stamps each message when it is appended, which is when a consumer can have it.
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


@dataclass(frozen=True)
class Message:
    value: bytes
    appended: int  # ms since the epoch, where the topic was made with APPEND_TIME


def producer(bootstrap_servers: str, linger_ms: int = 20) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "linger.ms": linger_ms,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 1 << 20,
        }
    )


def fill(bootstrap_servers: str, topic: str, stream: Stream, encode: Encode = json_messages) -> None:
    """Make a topic of a stream's events, keyed by device, in order of time in every partition."""
    create_topics(bootstrap_servers, [NewTopic(topic, PARTITIONS, 1)])
    sender = producer(bootstrap_servers)
    for low, table in stream.tables():
        keys = table.column("device").to_pylist()
        messages = [{"key": key, "value": value} for key, value in zip(keys, encode(table), strict=True)]
        for partition in range(PARTITIONS):
            _send(sender, topic, messages[(partition - low) % PARTITIONS :: PARTITIONS], partition)
    sender.flush()


def _send(sender: Producer, topic: str, messages: list[dict[str, object]], partition: int) -> None:
    while True:
        try:
            sender.produce_batch(topic, messages, partition=partition)
            break
        except BufferError:
            sender.poll(0.1)
    refused = [message for message in messages if "_error" in message]
    if refused:  # the queue was full in the middle of them; order within the partition is kept
        sender.flush()
        for message in refused:
            del message["_error"]
        _send(sender, topic, refused, partition)


def end_offset(bootstrap_servers: str, topic: str) -> int:
    """How many messages a topic has had."""
    reader = LogReader(bootstrap_servers, topic)  # it waits for a topic that has only just been made
    try:
        return sum(reader.ends().values())
    finally:
        reader.close()


def read(bootstrap_servers: str, topic: str, first: int = 0) -> Iterator[Message]:
    """Messages that a topic of one partition holds by now, from offset `first` on."""
    consumer = _consumer(bootstrap_servers)
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        position = max(0, first)
        consumer.assign([TopicPartition(topic, 0, position)])
        deadline = time.monotonic() + 60
        while position < end and time.monotonic() < deadline:
            for message in consumer.consume(10_000, timeout=0.5):
                if message.error() is None and message.offset() < end:
                    position = message.offset() + 1
                    deadline = time.monotonic() + 60
                    yield Message(message.value(), message.timestamp()[1])
    finally:
        consumer.close()


def _consumer(bootstrap_servers: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "benchmark",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
    )
