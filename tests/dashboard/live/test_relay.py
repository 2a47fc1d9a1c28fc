"""The relay on a real broker: the recent past, then what comes; and a broker that is not there."""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable

import pytest
from kafka import KafkaProducer

from dashboard.accounts.attention import NO_SIGN_IN
from dashboard.live.hub import Hub
from dashboard.live.reader import Reader
from dashboard.live.relay import Relay, wall_clock
from streaming.results import ResultBlock, encode
from streaming.topics import Topics, create_topics
from tests.dashboard.live.messages import block

PATIENCE_SECONDS = 20


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.05)


class Heard:
    """A listener that notes what it is told."""

    def __init__(self, sign_in: int = NO_SIGN_IN) -> None:
        self.sign_in = sign_in
        self.changed: list[str] = []
        self.plans = self.rights = 0
        self.ticks = 0

    async def told(self, changed: frozenset[str]) -> None:
        self.changed += changed
        self.ticks += 1

    async def plan_made(self) -> None:
        self.plans += 1

    async def rights_changed(self) -> None:
        self.rights += 1


@pytest.fixture
def topics(broker: str) -> Topics:
    topics = Topics(f"relay-{uuid.uuid4().hex[:8]}")
    create_topics(broker, topics.shared())
    return topics


class Running:
    """A relay at work."""

    def __init__(self, broker: str, topics: Topics) -> None:
        self.hub = Hub()
        self.plan, self.looked = 1, 0
        self.rights = 1
        relay = Relay(
            self.hub,
            lambda: Reader(broker, topics),
            self._newest_plan,
            self._newest_rights,
            sign_ins_alive=lambda: {1},
        )
        self.task = asyncio.create_task(relay.run())

    def _newest_plan(self) -> int:
        self.looked += 1
        return self.plan

    def _newest_rights(self) -> int:
        self.looked += 1
        return self.rights


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
        heard = Heard()
        running.hub.listeners.add(heard)
        await until(lambda: heard.ticks > 0)
        heard.changed.clear()
        await asyncio.to_thread(send, broker, topics, block(now, {(): 2.0}))
        await until(lambda: heard.changed == ["hot"])
        assert [point.value for point in history.points(())] == [1.0, 2.0]
        assert running.hub.state.broker()["state"] == "reachable"
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


@pytest.mark.parametrize(("what", "heard_as"), [("plan", "plans"), ("rights", "rights")])
async def test_new_plans_and_rights_are_told_to_everyone(running: Running, what: str, heard_as: str) -> None:
    heard = Heard()
    running.hub.listeners.add(heard)
    await until(lambda: running.looked > 1)
    setattr(running, what, 2)
    await until(lambda: getattr(heard, heard_as) == 1)


async def test_a_socket_ends_with_a_session_that_was_idle_for_too_long(
    broker: str, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.live.relay.IDLE_SECONDS", 0.05)
    running = Running(broker, topics)
    alive, over, by_link = Heard(1), Heard(2), Heard()
    running.hub.listeners |= {alive, over, by_link}
    await until(lambda: over.rights > 0)
    assert (alive.rights, by_link.rights) == (0, 0)
    running.task.cancel()
    await asyncio.gather(running.task, return_exceptions=True)


async def test_a_listener_that_fails_is_let_go_and_the_others_are_told(running: Running) -> None:
    class Broken(Heard):
        async def told(self, changed: frozenset[str]) -> None:
            raise ConnectionError

    broken, heard = Broken(), Heard()
    running.hub.listeners |= {broken, heard}
    await until(lambda: heard.ticks > 1)
    assert running.hub.listeners == {heard}
    assert not running.task.done()


async def test_a_reader_goes_on_where_the_last_one_ended_however_long_that_is_ago(
    broker: str, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine slept for longer than a new reader looks back: no hole may be left."""
    now = wall_clock()
    await asyncio.to_thread(send, broker, topics, block(now - 20_000, {(): 1.0}))
    first = Reader(broker, topics)
    await asyncio.to_thread(first.open)
    while not await asyncio.to_thread(first.caught_up):
        await asyncio.to_thread(first.poll)
    first.close()
    await asyncio.to_thread(send, broker, topics, block(now - 10_000, {(): 2.0}), block(now, {(): 3.0}))
    monkeypatch.setattr("dashboard.live.reader.LOOK_BACK_MS", -60_000)  # as if all of it were too old
    values = []
    second = Reader(broker, topics)
    await asyncio.to_thread(second.open, first.places)
    while not await asyncio.to_thread(second.caught_up):
        found = await asyncio.to_thread(second.poll)
        values += [float(memoryview(one.values).cast("d")[0]) for one in found.blocks]
    second.close()
    assert values == [2.0, 3.0]
