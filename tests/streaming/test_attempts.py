"""A batch that two workers ran must not mix one's numbering of groups with the other's state."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pandas as pd
import pytest

from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming import spark as engine
from streaming.lanes import EARLIEST, Timeline
from streaming.shard import ShardMeta
from streaming.topics import Topics
from streaming.watermark import Watermark
from tests.streaming.engine import SOURCE, Engine, plan_of

SUM = QuerySpec("n", "sum", "temp", (WindowSpec("10s", "10s"),), ("device",)).queries()
TOPICS = Topics("t")


class Store:
    """Spark's state store as a processor sees it: named variables whose content a commit keeps."""

    def __init__(self, content: dict[str, dict[Any, Any]]) -> None:
        self._content = content

    def getValueState(self, name: str, *_: Any) -> "Variable":  # noqa: N802 (Spark's name)
        return Variable(self._content.setdefault(name, {}))

    getMapState = getListState = getValueState  # noqa: N815


class Variable:
    def __init__(self, content: dict[Any, Any]) -> None:
        self._content = content

    def get(self) -> Any:
        return self._content.get("")

    def update(self, value: Any) -> None:
        self._content[""] = value

    def getValue(self, key: Any) -> Any:  # noqa: N802
        return self._content.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self._content[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self._content.pop(key, None)

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._content.items()))


def run_batch(
    monkeypatch: pytest.MonkeyPatch, batch: int, worker: dict[Any, Any], state: Any, reports: list[bytes]
) -> tuple[Any, list[results.ResultBlock]]:
    """One attempt of a batch in a worker with this memory: the state it leaves, and its final blocks."""
    left = deepcopy(state)
    timeline = Timeline().adopt(plan_of([list(SUM)]), EARLIEST)
    launch = engine.Launch(SOURCE, timeline, "", TOPICS, "checkpoint", 0)
    first = ShardMeta(-1, timeline, Watermark(SOURCE.allowed_lateness, []))
    processor = engine.ShardProcessor(launch, first, [0])
    processor.init(Store(left))
    monkeypatch.setattr(engine, "_cache", worker)
    monkeypatch.setattr(engine, "_batch_id", lambda: batch)
    frames = list(processor.handleInputRows((0,), iter([pd.DataFrame({"report": reports})]), None))
    values = [row.value for frame in frames for row in frame.itertuples() if row.topic == TOPICS.results]
    blocks = [results.decode(value) for value in values]
    return left, [block for block in blocks if block.final]


def test_a_shard_in_memory_counts_only_if_its_attempt_was_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = Engine(plan_of([list(SUM)]), shards=1)

    def report(partition: int, device: str, temp: float) -> bytes:
        return tasks._run_task(partition, [{"ts": 1_000, "device": device, "temp": temp}], now=10_000)[0]

    given_up: dict[Any, Any] = {}
    committed: dict[Any, Any] = {}
    cold, hot = report(0, "cold", 1.0), report(1, "hot", 100.0)
    run_batch(monkeypatch, 0, given_up, {}, [cold, hot])
    state, _ = run_batch(monkeypatch, 0, committed, {}, [hot, cold])
    tasks.watermark = 1_000 - SOURCE.allowed_lateness  # that the batch before has left
    state, _ = run_batch(monkeypatch, 1, given_up, state, [report(2, "hot", 100.0)])
    end = tasks._run_control(None, None, end=True)[0]
    _, blocks = run_batch(monkeypatch, 2, {}, state, [end])
    told = {group: value for block in blocks for group, value, _ in block.rows()}
    assert told == {("cold",): 1.0, ("hot",): 200.0}
