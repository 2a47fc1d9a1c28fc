"""Alerts of Ana's on the query of hot devices, and a topic of results of their own."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from kafka import KafkaProducer

from dashboard.alerts.evaluator import Evaluator, wall_clock
from dashboard.alerts.results import Heard
from dashboard.alerts.seat import Holder
from dashboard.models import Alert, SavedQuery
from streaming.results import ResultBlock, encode
from streaming.topics import Topics, create_topics
from tests.dashboard.live.messages import block

MakeAlert = Callable[..., Alert]
SLIDE = 10_000


@pytest.fixture
def make_alert(hot: SavedQuery, ana: User) -> MakeAlert:
    def make(**more: Any) -> Alert:
        rule = {"condition": "above", "threshold": 80.0, **more}
        place = {"computation": "max(temp)", "window": "1m/10s", "query": hot, "owner": ana}
        return Alert.objects.create(**{"name": "Too hot", **place, **rule})

    return make


@pytest.fixture
def topics(broker: str, settings: LazySettings) -> Topics:
    topics = Topics(f"alerts-{uuid.uuid4().hex[:8]}")
    create_topics(broker, topics.shared())
    settings.KAFKA_BOOTSTRAP, settings.TOPIC_PREFIX = broker, topics.prefix
    return topics


class Stream:
    """Results of the query of hot devices, window after window."""

    def __init__(self, query: SavedQuery) -> None:
        self.query = f"{query.key}@1m/10s"
        self.end = wall_clock() // SLIDE * SLIDE
        self.heard = wall_clock() + 1_000

    def next(self, final: bool = True, **temperatures: float) -> ResultBlock:
        self.end += SLIDE
        return self.again(final=final, **temperatures)

    def again(self, final: bool = True, **temperatures: float) -> ResultBlock:
        values: dict[Any, float] = {(device,): value for device, value in temperatures.items()}
        return block(self.end, values, query=self.query, final=final)

    def said(self, *blocks: ResultBlock) -> list[Heard]:
        """Each in a message of its own, a second after the one before."""
        found = []
        for one in blocks:
            self.heard += 1_000
            found.append(Heard(self.heard, [one]))
        return found


@pytest.fixture
def stream(hot: SavedQuery) -> Stream:
    return Stream(hot)


def seated() -> Evaluator:
    """An evaluator that has just begun, in the seat."""
    holder = Holder()
    assert holder.take()
    evaluator = Evaluator(holder)
    evaluator.load()
    return evaluator


def send(broker: str, topics: Topics, *blocks: ResultBlock) -> None:
    producer = KafkaProducer(bootstrap_servers=broker)
    for one in blocks:
        producer.send(topics.results, value=encode([one]))
    producer.close()
