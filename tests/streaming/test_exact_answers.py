"""Every event is in exactly its windows: map tasks and shards against the definition, on random streams."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from tests.streaming.engine import Engine, brute_force, plan_of

AGGREGATES = ("count", "sum", "mean", "min", "max")
FAMILY = {"count": "additive", "sum": "additive", "mean": "additive"}
FAILS = (
    "CAST(coalesce(device, 'none') AS DOUBLE) > 1"  # on every event, which takes nothing from what OR joins
)


def is_above(event: dict[str, Any], bound: float) -> bool:
    return event["temp"] is not None and event["temp"] > bound


FILTERS: dict[str | None, Callable[[dict[str, Any]], bool]] = {
    None: lambda event: True,
    "temp > 0": lambda event: is_above(event, 0),
    "temp > 30": lambda event: is_above(event, 30),
    "temp IS NULL": lambda event: event["temp"] is None,
    "device = 'a' -- alone": lambda event: event.get("device") == "a",
    "temp > 30 AND device <> 'b';": lambda event: is_above(event, 30) and event.get("device") in ("a", "c"),
    f"temp > 20 OR {FAILS}": lambda event: is_above(event, 20),
    FAILS: lambda event: False,
}


@st.composite
def windows(draw: st.DrawFn) -> Window:
    slide = draw(st.integers(1, 12)) * 500
    return Window(
        draw(st.integers(slide // 100, 60)) * 100 if draw(st.booleans()) else slide * draw(st.integers(1, 5)),
        slide,
    )


@st.composite
def queries(draw: st.DrawFn, prefix: str = "q", filters: Sequence[str | None] = (None,)) -> list[Query]:
    chosen = []
    for number in range(draw(st.integers(1, 5))):
        window = draw(windows())
        aggregate = draw(st.sampled_from(AGGREGATES))
        group_by = draw(st.sampled_from([(), ("device",)]))
        chosen.append(
            Query(
                f"{prefix}{number}", "q", aggregate, "temp", window, group_by, draw(st.sampled_from(filters))
            )
        )
    return chosen


def trees_of(chosen: list[Query]) -> list[list[Query]]:
    """Share as much as may be shared."""
    trees: dict[Any, list[Query]] = {}
    for query in chosen:
        trees.setdefault((FAMILY.get(query.aggregate, query.aggregate), query.group_by), []).append(query)
    return list(trees.values())


@st.composite
def streams(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Batches of events, out of order within the lateness of one second; values exact in binary."""
    batches, clock = [], draw(st.integers(-5_000, 50_000))
    for _ in range(draw(st.integers(1, 5))):
        batch = []
        for _ in range(draw(st.integers(0, 25))):
            clock += draw(st.integers(0, 1_500))
            temp = draw(st.one_of(st.none(), st.integers(-400, 400).map(lambda v: v / 4)))
            event = {"ts": clock - draw(st.integers(0, 1_000)), "temp": temp}
            device = draw(st.sampled_from(["a", "b", "c", None]))
            batch.append(event | ({"device": device} if device else {}))
        batches.append(batch)
    return batches


def run(engine: Engine, batches: list[list[dict[str, Any]]], restart_at: int | None = None) -> Engine:
    for number, batch in enumerate(batches):
        if number == restart_at:
            engine.restart()
        engine.batch({0: batch[::2], 1: batch[1::2]})
    engine.batch(end=True)
    return engine


@pytest.mark.parametrize("kernel", [None, "flatfit"])
@settings(max_examples=60, deadline=None)
@given(chosen=queries(), batches=streams(), restart_at=st.one_of(st.none(), st.integers(0, 4)))
def test_every_plan_gives_the_answers_of_the_definition(kernel, chosen, batches, restart_at):
    engine = run(Engine(plan_of(trees_of(chosen), kernel=kernel)), batches, restart_at)
    assert engine.finals() == brute_force(chosen, [event for batch in batches for event in batch])


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=8, deadline=None)
@given(
    chosen=queries(filters=list(FILTERS)),
    batches=streams(),
    rate=st.sampled_from([0.1, 10.0, 1e6]),
)
def test_the_plan_of_every_strategy_gives_the_answers_of_the_definition(strategy, chosen, batches, rate):
    plan = optimize(chosen, Statistics(rate=rate), source="s", strategy=strategy, nodes=2)
    engine = run(Engine(plan), batches)
    expected = {}
    for query in chosen:
        kept = [event for batch in batches for event in batch if FILTERS[query.where](event)]
        expected |= brute_force([query], kept)
    assert engine.finals() == expected


@settings(max_examples=60, deadline=None)
@given(
    first=queries(), second=queries("r"), batches=streams(), adopt_at=st.integers(0, 4), share=st.booleans()
)
def test_a_plan_adopted_on_the_way_changes_no_answer(first, second, batches, adopt_at, share):
    """Queries that stay keep all their windows; new ones answer every window they claim, rightly."""
    both = first + second
    engine = Engine(plan_of(trees_of(first)))
    changed = plan_of(trees_of(both) if share else [[query] for query in both], version=2)
    for number, batch in enumerate(batches):
        plan = changed if number == adopt_at else None
        engine.batch({0: batch[::2], 1: batch[1::2]}, plan=plan)
        if number == adopt_at:
            engine.restart()
    engine.batch(end=True)
    expected = brute_force(both, [event for batch in batches for event in batch])
    answers = engine.finals()
    kept = {query.id for query in first}
    assert {k: v for k, v in answers.items() if k[0] in kept} == {
        k: v for k, v in expected.items() if k[0] in kept
    }
    assert all(expected[key] == value for key, value in answers.items())


@st.composite
def trees(draw: st.DrawFn, chosen: list[Query]) -> list[list[Query]]:
    """The queries in trees by chance, of those that may share one."""
    drawn: dict[Any, list[Query]] = {}
    for query in chosen:
        place = draw(st.integers(0, 2))
        family = FAMILY.get(query.aggregate, query.aggregate)
        drawn.setdefault((place, family, query.group_by), []).append(query)
    return [drawn[key] for key in sorted(drawn)]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), chosen=queries(), batches=streams(), restart=st.booleans())
def test_queries_that_change_trees_with_every_batch_keep_their_answers(data, chosen, batches, restart):
    engine = Engine(plan_of(data.draw(trees(chosen))))
    for version, batch in enumerate(batches, 2):
        plan = plan_of(data.draw(trees(chosen)), version)
        engine.batch({0: batch[::2], 1: batch[1::2]}, plan=plan)
        if restart:
            engine.restart()
    engine.batch(end=True)
    assert engine.finals() == brute_force(chosen, [event for batch in batches for event in batch])
