"""What is told of a window before it is final: its value by the events so far, and none is left out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.strategies import STRATEGIES
from optimizer.windows import Window
from streaming.results import ResultBlock
from tests.streaming.engine import Engine, Event, brute_force
from tests.streaming.test_exact_answers import AGGREGATES, FILTERS
from tests.streaming.test_recall import ReadingBack

Key = tuple[str, int, tuple[object, ...]]  # query, window end, group
Answers = dict[Key, tuple[float | None, int]]
BASE = 1_700_000_000_000


@dataclass
class Reader:
    """Who keeps the newest block of every key, as the pages do."""

    blocks: dict[tuple[str, int, int], ResultBlock] = field(default_factory=dict)

    def take(self, told: Iterable[ResultBlock]) -> None:
        for block in told:
            key = (block.query, block.end, block.shard)
            assert key not in self.blocks or not self.blocks[key].final, f"{key} was told after its final"
            self.blocks[key] = block

    @property
    def answers(self) -> Answers:
        return rows(self.blocks.values())


def rows(blocks: Iterable[ResultBlock]) -> Answers:
    return {
        (block.query, block.end, group): (value, count)
        for block in blocks
        for group, value, count in block.rows()
    }


def by_definition(queries: list[Query], events: list[Event]) -> Answers:
    answers: Answers = {}
    for query in queries:
        answers |= brute_force([query], [event for event in events if FILTERS[query.where](event)])
    return answers


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Also with an offset, and such as sample the stream."""
    slide = draw(st.integers(1, 8)) * 500
    range_ = draw(st.integers(1, 40).map(lambda part: part * 250) | st.integers(1, 5).map(slide.__mul__))
    return Window(range_, slide, draw(st.sampled_from([0, 300])))


@st.composite
def queries(draw: st.DrawFn) -> list[Query]:
    return [
        Query(
            f"q{number}",
            "s",
            draw(st.sampled_from(AGGREGATES)),
            "temp",
            window,
            draw(st.sampled_from([(), ("device",)])),
            draw(st.sampled_from(list(FILTERS))),
        )
        for number, window in enumerate(draw(st.lists(windows(), min_size=1, max_size=5)))
    ]


@st.composite
def streams(draw: st.DrawFn) -> list[list[Event]]:
    """Out of order within the lateness of one second; by a seed, as drawing takes longer than answering."""
    chance, at = Random(draw(st.integers(0, 1 << 32))), BASE
    batches = []
    for size in draw(st.lists(st.integers(0, 20), min_size=7, max_size=7)):
        batches.append([])
        for _ in range(size):
            at += chance.randint(0, 600)
            temp = chance.choice([None, *(chance.randint(-400, 400) / 4 for _ in range(9))])
            event = {"ts": at - chance.randint(0, 999), "temp": temp}
            device = chance.choice(["a", "b", "c", None])
            batches[-1].append(event | ({"device": device} if device else {}))
    return batches


@st.composite
def plans(draw: st.DrawFn, chosen: list[Query], previous: Plan | None = None) -> Plan:
    return optimize(
        chosen,
        Statistics(rate=draw(st.sampled_from([0.1, 10.0, 1e6]))),
        source="s",
        strategy=draw(st.sampled_from(sorted(STRATEGIES))),
        version=previous.version + 1 if previous else 1,
        nodes=draw(st.integers(1, 2)),
        previous=previous,
    )


def in_progress(queries: list[Query], events: list[Event]) -> dict[str, int]:
    """By query, the end of the last window that is told of."""
    greatest = max((event["ts"] for event in events), default=BASE)
    return {query.id: query.window.first_end_after(greatest) for query in queries}


@settings(max_examples=40, deadline=None)
@given(data=st.data(), chosen=queries(), batches=streams(), most=st.integers(10, 80))
def test_what_is_told_of_a_window_is_its_value_by_the_events_so_far(
    data: st.DataObject, chosen: list[Query], batches: list[list[Event]], most: int
) -> None:
    """By plans of all strategies that follow each other, over restarts, and while pasts are read back."""
    first = chosen[: data.draw(st.integers(1, len(chosen)))]  # others come with the second plan
    engine, reader = Engine(data.draw(plans(first))), Reader()
    reading, newest = ReadingBack(engine, most), engine.plan
    changed_at = data.draw(st.sampled_from([(), (1,), (2,), (1, 4)]))
    restarted_at = data.draw(st.sets(st.integers(1, 6)))
    events: list[Event] = []
    owed: set[Key] = set()
    for number, batch in enumerate(batches):
        if number in restarted_at:
            engine.restart()
        plan = data.draw(plans(chosen, newest)) if number in changed_at else None
        newest = plan or newest
        before = len(engine.blocks)
        engine.batch({0: batch[::2], 1: batch[1::2]}, plan=plan, past=reading.next())
        events += batch
        expected = by_definition(chosen, events)
        told = rows(engine.blocks[before:])
        assert told == {key: expected.get(key) for key in told}
        reader.take(engine.blocks[before:])
        if newest.version == 1:  # later windows may wait for their pasts
            ends = in_progress(first, events)
            owed |= {key for key in by_definition(first, batch) if key[1] <= ends[key[0]]}
            assert owed <= reader.answers.keys()
            assert reader.answers == {key: expected[key] for key in reader.answers}
    assert not engine.dead_letters
