"""A batch that two processes ran must not mix one's numbering of groups with the other's state."""

import time
from pathlib import Path

import msgspec
import pytest

from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming.kept_shards import IDLE_SECONDS, KeptShards, Message, ShardSetup
from streaming.lanes import EARLIEST, Timeline
from streaming.shard import ShardMeta, StaleTask
from streaming.topics import Topics
from streaming.watermark import Watermark
from tests.streaming.engine import SOURCE, Engine, plan_of

SUM = QuerySpec.single("n", "sum", "temp", (WindowSpec("10s", "10s"),), ("device",)).queries()
TOPICS = Topics("t")


@pytest.fixture
def setup(tmp_path: Path) -> ShardSetup:
    timeline = Timeline().adopt(plan_of([list(SUM)]), EARLIEST)
    first = ShardMeta(-1, timeline, Watermark(SOURCE.allowed_lateness, []))
    return ShardSetup(SOURCE, TOPICS, str(tmp_path), msgspec.msgpack.encode(first))


@pytest.fixture
def tasks() -> Engine:
    return Engine(plan_of([list(SUM)]), shards=1)


def report(tasks: Engine, partition: int, device: str, temp: float) -> bytes:
    return tasks._run_task(partition, [{"ts": 1_000, "device": device, "temp": temp}], now=10_000)[0]


def after_a_batch(tasks: Engine) -> None:
    tasks.watermark = 1_000 - SOURCE.allowed_lateness  # that the batch before has left


def told(messages: list[Message]) -> dict[tuple[str, ...], float | None]:
    told = [value for topic, _, value in messages if topic == TOPICS.results]
    blocks = [block for message in told for block in results.decode(message)]
    return {group: value for block in blocks if block.final for group, value, _ in block.rows()}


def test_a_shard_in_memory_counts_only_if_nobody_has_taken_it_over(setup: ShardSetup, tasks: Engine) -> None:
    given_up, committed = KeptShards(), KeptShards()
    cold, hot = report(tasks, 0, "cold", 1.0), report(tasks, 1, "hot", 100.0)
    given_up.run(setup, 0, 0, [cold, hot])
    committed.run(setup, 0, 0, [hot, cold])
    after_a_batch(tasks)
    given_up.run(setup, 0, 1, [report(tasks, 2, "hot", 100.0)])
    messages = KeptShards().run(setup, 0, 2, [tasks._run_control(None, None, end=True)[0]])
    assert told(messages) == {("cold",): 1.0, ("hot",): 200.0}


def test_a_batch_that_is_run_again_counts_once(setup: ShardSetup, tasks: Engine) -> None:
    shards = KeptShards()
    first = report(tasks, 0, "hot", 1.0)
    for _ in range(3):
        shards.run(setup, 0, 0, [first])
    after_a_batch(tasks)
    second = report(tasks, 1, "hot", 10.0)
    for kept in (shards, KeptShards(), shards):
        kept.run(setup, 0, 1, [second])
    messages = shards.run(setup, 0, 2, [tasks._run_control(None, None, end=True)[0]])
    assert told(messages) == {("hot",): 11.0}


def test_a_batch_that_fails_leaves_the_state_as_it_was(setup: ShardSetup, tasks: Engine) -> None:
    shards = KeptShards()
    shards.run(setup, 0, 0, [report(tasks, 0, "hot", 1.0)])
    with pytest.raises(StaleTask):  # the task did not know of the batch before
        shards.run(setup, 0, 1, [report(tasks, 0, "hot", 10.0)])
    after_a_batch(tasks)
    shards.run(setup, 0, 1, [report(tasks, 1, "hot", 100.0)])
    messages = shards.run(setup, 0, 2, [tasks._run_control(None, None, end=True)[0]])
    assert told(messages) == {("hot",): 101.0}


def test_a_shard_that_was_let_go_is_read_back(setup: ShardSetup, tasks: Engine) -> None:
    shards = KeptShards()
    shards.run(setup, 0, 0, [report(tasks, 0, "hot", 1.0)])
    shards.forget_idle(time.monotonic())
    assert len(shards) == 1
    shards.forget_idle(time.monotonic() + IDLE_SECONDS + 1)
    assert len(shards) == 0
    after_a_batch(tasks)
    shards.run(setup, 0, 1, [report(tasks, 1, "hot", 10.0)])
    messages = shards.run(setup, 0, 2, [tasks._run_control(None, None, end=True)[0]])
    assert told(messages) == {("hot",): 11.0}
