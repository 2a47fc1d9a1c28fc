"""The relay on a real broker: the recent past, then what comes; and a broker that is not there."""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable

import pytest
from channels.layers import get_channel_layer
from kafka import KafkaProducer

from dashboard.live.hub import Hub
from dashboard.live.reader import Reader
from dashboard.live.relay import EVERYONE, Relay, query_group, wall_clock
from streaming.results import ResultBlock, encode
from streaming.topics import Topics, create_topics
from tests.dashboard.live.messages import block

PATIENCE_SECONDS = 20


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.05)


@pytest.fixture
def topics(broker: str) -> Topics:
    topics = Topics(f"relay-{uuid.uuid4().hex[:8]}")
    create_topics(broker, topics.shared())
    return topics


class Running:
    """A relay at work, and how often it offered to publish plans."""

    def __init__(self, broker: str, topics: Topics) -> None:
        self.hub = Hub()
        self.published = 0
        self.plan, self.looked = 1, 0
        relay = Relay(
            self.hub, lambda: Reader(broker, topics), self._publish, self._newest_plan, lambda: None
        )
        self.task = asyncio.create_task(relay.run())

    def _newest_plan(self) -> int:
        self.looked += 1
        return self.plan

    def _publish(self) -> None:
        self.published += 1


@pytest.fixture
async def running(broker: str, topics: Topics) -> AsyncIterator[Running]:
    running = Running(broker, topics)
    yield running
    running.task.cancel()
    await asyncio.gather(running.task, return_exceptions=True)


def send(broker: str, topics: Topics, *blocks: ResultBlock) -> None:
    producer = KafkaProducer(bootstrap_servers=broker)
    for one in blocks:
        producer.send(topics.results, value=encode([one]))
    producer.close()


async def test_the_recent_past_is_read_then_changes_are_told(broker: str, topics: Topics) -> None:
    now = wall_clock()
    await asyncio.to_thread(send, broker, topics, block(now - 10_000, {(): 1.0}))
    running = Running(broker, topics)
    try:
        await until(lambda: running.hub.caught_up)
        history = running.hub.history.windows["hot@1m/10s"]
        assert [point.value for point in history.points(())] == [1.0]
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(query_group("hot"), channel)
        await asyncio.to_thread(send, broker, topics, block(now, {(): 2.0}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            told = await layer.receive(channel)
        assert told == {"type": "query.changed", "query": "hot"}
        assert [point.value for point in history.points(())] == [1.0, 2.0]
        assert running.hub.state.broker()["state"] == "reachable"
        await until(lambda: running.published > 0)
    finally:
        running.task.cancel()
        await asyncio.gather(running.task, return_exceptions=True)


async def test_a_message_that_is_not_ours_does_not_end_the_relay(
    broker: str, topics: Topics, running: Running
) -> None:
    def send_nonsense() -> None:
        producer = KafkaProducer(bootstrap_servers=broker)
        for topic in (topics.results, topics.meters, topics.status):
            producer.send(topic, value=b"\xc1 nonsense")
            producer.send(topic, value=b"[1, 2]")
            producer.send(topic, key=b"k", value=None)
        producer.close()

    await until(lambda: running.hub.caught_up)
    await asyncio.to_thread(send_nonsense)
    await asyncio.to_thread(send, broker, topics, block(wall_clock(), {(): 2.0}))
    await until(lambda: "hot@1m/10s" in running.hub.history.windows)
    assert not running.task.done()


async def test_a_cluster_without_our_topics_gets_them(broker: str) -> None:
    topics = Topics(f"relay-{uuid.uuid4().hex[:8]}")
    running = Running(broker, topics)
    try:
        await until(lambda: running.hub.caught_up)
    finally:
        running.task.cancel()
        await asyncio.gather(running.task, return_exceptions=True)


async def test_a_broker_that_is_not_there_is_down_since_the_first_try() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    before = wall_clock()
    running = Running(address, Topics("nowhere"))
    try:
        await until(lambda: running.hub.state.broker()["state"] == "down")
        since = running.hub.state.broker()["since"]
        assert before <= since <= wall_clock()
        assert not running.task.done()
    finally:
        running.task.cancel()
        await asyncio.gather(running.task, return_exceptions=True)


async def test_a_new_plan_is_told_to_everyone(running: Running) -> None:
    layer = get_channel_layer()
    await layer.group_add(EVERYONE, "a-viewer")
    await until(lambda: running.looked > 0)
    running.plan = 2
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await layer.receive("a-viewer"))["type"] != "plan.made":
            pass
