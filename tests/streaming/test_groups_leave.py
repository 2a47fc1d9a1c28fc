"""Groups that nobody hears of any more leave, and nothing is lost with them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.queries import Query
from optimizer.windows import Window
from streaming import group_index, shuffle
from streaming.group_index import GroupIndex
from streaming.group_keys import GroupKeys
from streaming.kept_shards import KeptShards, ShardSetup
from streaming.lanes import EARLIEST, Timeline
from streaming.shard import ShardMeta
from streaming.state_log import StateLog
from streaming.topics import Topics
from streaming.watermark import Watermark
from tests.streaming.engine import SOURCE, Engine, brute_force, plan_of

BASE = 1_700_000_000_000
QUERIES = [
    Query("max", "s", "max", "temp", Window(4_000, 1_000), ("device",)),
    Query("sum", "s", "sum", "temp", Window(6_000, 2_000), ("device",)),
    Query("all", "s", "count", None, Window(2_000, 2_000)),
]


@pytest.fixture(autouse=True)
def few_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A handful of groups is many."""
    monkeypatch.setattr(group_index, "FEW_GROUPS", 6)
    yield


def events(low: int, high: int) -> list[dict[str, Any]]:
    """Every device speaks for three seconds, and never again."""
    return [
        {"ts": BASE + at * 200, "device": f"d{at // 15}", "temp": float(at * 7 % 23)}
        for at in range(low, high)
    ]


@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(5, 80), min_size=6, max_size=12), restarts=st.booleans())
def test_answers_stay_those_of_the_definition_while_groups_come_and_go(sizes, restarts):
    engine = Engine(plan_of([[query] for query in QUERIES]))
    at = 0
    for size in sizes:
        engine.batch({0: events(at, at + size)})
        at += size
        if restarts:
            engine.restart()
    kept = [len(shard.group_index(("device",))) for shard in engine.workers]
    engine.batch(end=True)
    assert engine.finals() == brute_force(QUERIES, events(0, at))
    if at > 15 * 60:
        assert all(count < at / 15 / 3 for count in kept)


def test_ids_stay_when_numbers_move_up():
    index = GroupIndex(100)
    keys = [(f"d{number}",) for number in range(10)]
    index.numbers(GroupKeys.of_tuples(keys))
    index.stored()
    assert index.keep(index.numbers_of(index.ids[[2, 5, 9]]))
    assert index.ids.tolist() == [2, 5, 9] and index.keys.tuples() == [keys[2], keys[5], keys[9]]
    assert index.numbers(GroupKeys.of_tuples([keys[0], keys[9]])).tolist() == [3, 2]
    assert index.ids.tolist() == [2, 5, 9, 10]
    again = GroupIndex(100)
    again.restore(index.stored()[1])
    assert again.ids.tolist() == [2, 5, 9, 10] and again.keys.tuples() == index.keys.tuples()


def test_few_groups_stay_and_so_do_most_of_many():
    index = GroupIndex(100)
    index.numbers(GroupKeys.of_tuples([(number,) for number in range(20)]))
    assert index.is_worth_a_look(1)
    assert not index.keep(index.ids[:15])
    assert len(index) == 20 and not index.is_worth_a_look(1)


def test_the_state_log_forgets_groups_that_have_left(tmp_path: Path):
    plan = plan_of([[query] for query in QUERIES])
    timeline = Timeline().adopt(plan, EARLIEST)
    first = ShardMeta(-1, timeline, Watermark(SOURCE.allowed_lateness, []))
    setup = ShardSetup(SOURCE, Topics("t"), str(tmp_path), msgspec.msgpack.encode(first))
    engine = Engine(plan, shards=1)
    kept = KeptShards()
    for batch in range(30):
        part = events(batch * 40, batch * 40 + 40)
        report = engine._run_task(0, part, BASE + 10**9)[0]
        kept.run(setup, 0, batch, [report])
        engine.workers[0].apply([shuffle.decode(report)], batch)
        _follow(engine)
    _, state = StateLog.open(tmp_path / "shards" / "0", 29)
    stored = [key for key in state.values if key[0] == "groups" and key[1] == json.dumps(["device"])]
    restored = GroupIndex(1_000_000)
    for key in sorted(stored):
        restored.restore(state.values[key])
    assert 0 < len(restored) < 30


def _follow(engine: Engine) -> None:
    """What the next tasks know."""
    meta = engine.workers[0].meta
    engine.timeline, engine.watermark = meta.timeline, meta.watermark.value
    engine.greatest = {number: part.greatest for number, part in meta.watermark.partitions.items()}
