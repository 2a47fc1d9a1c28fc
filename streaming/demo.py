"""Demo events: a thousand sensors in twelve plants, with the faults that real streams have."""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from kafka import KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from kafka.producer.future import FutureRecordMetadata

from streaming.broker import answers
from streaming.producers import abandon
from streaming.topics import create_topics

TOPIC = "demo.sensors"
PARTITIONS = 4
DEVICES = 1000
PLANTS = 12
TICK = 0.04  # s between batches
UNANSWERED = 5.0  # s without a receipt from the broker: it is gone
WAVE_MS = (
    210_000  # the weather that all plants share swings in three and a half minutes: a chart moves visibly
)
PLANT_WAVE_MS = 130_000  # each plant has a rhythm of its own on top, and no two are in step
WAVE = 2.5  # degrees
PLANT_WAVE = 1.5
LOAD_SWING = 0.15  # how far the rate of events strays from its mean, with the weather

OUT_OF_ORDER = 0.03
DISORDER_MS = 5_000
TOO_LATE = 0.001
LATENESS_MS = 10_000  # what the demo source allows; too late is later than this
CUT_OFF = 0.0005  # in the middle: no JSON
MISTYPED = 0.0005  # a text where the humidity belongs, which no query of the demo reads
NOT_OK = 0.03  # on average; more when it is hot
FAULTS = 1 / 3  # of those that are not ok, the rest are warnings
SPIKE = 0.00001

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    key: bytes
    value: bytes


def make_batch(seed: int, number: int, start_ms: int, end_ms: int, count: int) -> list[Message]:
    """`count` messages spread over `[start_ms, end_ms)`; the same arguments make the same messages."""
    random = np.random.default_rng((seed, number))
    devices = random.integers(0, DEVICES, count)
    plants = devices % PLANTS
    clock = start_ms + np.arange(count) * (end_ms - start_ms) // max(count, 1)
    times = clock - _delays(random, count)
    weather = _weather(times, plants)
    temperatures = _temperatures(random, weather, devices, plants)
    humidity = np.clip(78 - 1.2 * temperatures + random.normal(0, 2, count), 5, 100)
    status = _status(random, weather)
    faults = random.random(count)
    return [
        Message(
            f"d{device:04}".encode(),
            _encode(device, plant, when, temperature, damp, state, fault),
        )
        for device, plant, when, temperature, damp, state, fault in zip(
            devices.tolist(),
            plants.tolist(),
            times.tolist(),
            temperatures.round(2).tolist(),
            humidity.round(1).tolist(),
            status.tolist(),
            faults.tolist(),
            strict=True,
        )
    ]


def _delays(random: np.random.Generator, count: int) -> np.ndarray:
    """How much older than its neighbours each event is: most not at all, some a little, a few too much."""
    luck = random.random(count)
    delays = np.where(luck < OUT_OF_ORDER, random.integers(1, DISORDER_MS, count), 0)
    too_late = random.integers(LATENESS_MS + 2_000, 60_000, count)
    return np.where(luck > 1 - TOO_LATE, too_late, delays)


def _weather(times: np.ndarray, plants: np.ndarray) -> np.ndarray:
    """How much warmer than usual it is, in degrees: what all plants share and what is each one's own."""
    common = WAVE * np.sin(2 * np.pi * times / WAVE_MS)
    return common + PLANT_WAVE * np.sin(2 * np.pi * (times / PLANT_WAVE_MS + plants / PLANTS))


def _temperatures(
    random: np.random.Generator, weather: np.ndarray, devices: np.ndarray, plants: np.ndarray
) -> np.ndarray:
    count = len(weather)
    bias = (devices * 7919 % 200) / 100 - 1  # each sensor is off by up to a degree, always the same
    spikes = np.where(random.random(count) < SPIKE, random.uniform(6, 14, count), 0)
    return 20 + 0.4 * plants + weather + bias + random.normal(0, 0.3, count) + spikes


def _status(random: np.random.Generator, weather: np.ndarray) -> np.ndarray:
    luck = random.random(len(weather))
    not_ok = NOT_OK * (1 + 0.8 * weather / (WAVE + PLANT_WAVE))
    return np.select([luck < FAULTS * not_ok, luck < not_ok], ["fault", "warn"], "ok")


def _encode(
    device: int, plant: int, when: int, temperature: float, humidity: float, status: str, fault: float
) -> bytes:
    event: dict[str, str | int | float] = {
        "device": f"d{device:04}",
        "site": f"plant-{plant + 1:02}",
        "ts": when,
        "temp": temperature,
        "humidity": humidity,
        "status": status,
    }
    if fault < MISTYPED:
        event["humidity"] = "n/a"
    text = json.dumps(event, separators=(",", ":")).encode()
    return text[: len(text) // 2] if MISTYPED <= fault < MISTYPED + CUT_OFF else text


def demo_topic() -> NewTopic:
    # An hour is enough for every window of the demo; more would fill the disk at 700 MB an hour.
    config = {"retention.ms": "3600000", "segment.bytes": str(32 << 20)}
    return NewTopic(TOPIC, PARTITIONS, -1, topic_configs=config)


def produce(bootstrap_servers: str, rate: int, stop: threading.Event, seed: int = 1) -> None:
    """Send `rate` events a second, evenly, until told to stop; a broker that goes away is waited for."""
    while not stop.is_set():
        if not answers(bootstrap_servers):
            logger.warning("No broker answers at %s; trying again.", bootstrap_servers)
            stop.wait(2)
            continue
        try:
            create_topics(bootstrap_servers, [demo_topic()])
            _produce_while_connected(bootstrap_servers, rate, stop, seed)
        except KafkaError as error:
            logger.warning("The broker at %s went away (%s).", bootstrap_servers, error)


def _produce_while_connected(bootstrap_servers: str, rate: int, stop: threading.Event, seed: int) -> None:
    """Send until told to stop; raises KafkaError once the broker no longer takes what is sent."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers,
        acks=1,
        enable_idempotence=False,  # after an outage newer events are worth more than the ones it delayed
        linger_ms=5,
        max_block_ms=5_000,
        request_timeout_ms=3_000,
        delivery_timeout_ms=4_000,
    )
    logger.info("Sending %s events/s to %s.", f"{rate:,}", TOPIC)
    receipts: deque[FutureRecordMetadata] = deque()  # not looked at yet; a second's worth
    try:
        for message in _paced(rate, stop, seed):
            receipts.append(producer.send(TOPIC, key=message.key, value=message.value))
            while len(receipts) > rate or (receipts and receipts[0].is_done):
                # A producer that lost its broker does not always find it again: the next one does.
                receipts.popleft().get(timeout=UNANSWERED)
    except KafkaError:
        abandon(producer)
        raise
    finally:
        with suppress(KafkaError):  # what a broker that went away did not take is lost with it
            producer.close(timeout=10)


def events_between(begin: float, end: float, rate: int) -> float:
    """How many events belong between two instants (s): `rate` a second on average, more when it is warm."""

    def since_epoch(instant: float) -> float:
        turn = 2 * np.pi * 1000 / WAVE_MS  # per second
        return float(instant - LOAD_SWING * np.cos(turn * instant) / turn)

    return rate * (since_epoch(end) - since_epoch(begin))


def _paced(rate: int, stop: threading.Event, seed: int) -> Iterator[Message]:
    """Messages at their rate, in small batches, until told to stop."""
    begin = until = time.time()
    number = sent = 0
    while not stop.wait(TICK):
        now = time.time()
        if now - until > 1:  # the machine slept: go on from here instead of catching up in a burst
            begin, until, sent = now - TICK, now - TICK, 0
        count = int(events_between(begin, now, rate)) - sent
        batch_id = int(begin * 1000) + number
        yield from make_batch(seed, batch_id, int(until * 1000), int(now * 1000), count)
        until, sent, number = now, sent + count, number + 1
