"""A shard costs what a fresh one costs, whatever windows came and went while it lived."""

from collections import defaultdict
from copy import copy
from random import Random
from typing import Any

import numpy as np
import pytest

from optimizer.plan import Plan
from optimizer.queries import Query
from optimizer.windows import Window
from streaming.aggregates import AGGREGATES
from streaming.aggregates.algebra import lacks
from streaming.kernels import KERNELS, traits_of
from tests.streaming.engine import Engine, Event, plan_of
from tests.streaming.test_recall import ReadingBack

BASE = 1_700_000_000_000
EDITS = 100
TWIN_AFTER = 25  # edits
STEP = 250  # ms from one event to the next
BATCH = 4_000  # ms
LONGEST = 16_000  # ms, of all windows
FIRST = {"q0": Window(6_000, 1_000), "q1": Window(8_000, 2_000)}


def aggregate_for(kernel: str) -> str:
    """One whose states the kernel can combine."""
    needs = traits_of(kernel).needs
    fitting = ("max", "sum", "exact_sum")
    return next(name for name in fitting if not lacks(AGGREGATES[name].states[0].algebra, needs))


class Edited:
    """A source whose queries are edited while its events go on; all of them share one tree."""

    def __init__(self, kernel: str, aggregate: str, chance: Random) -> None:
        self.kernel, self.aggregate, self.chance = kernel, aggregate, chance
        self.asked = dict(FIRST)
        self.made = len(FIRST)
        self.version = 1
        self.until = BASE
        self.engine = Engine(self.plan(), shards=1)
        self.reading = ReadingBack(self.engine, most=1_000_000)
        self.batch()

    def plan(self) -> Plan:
        queries = [
            Query(name, "s", self.aggregate, "temp", window, ("device",))
            for name, window in self.asked.items()
        ]
        return plan_of([queries], self.version, self.kernel)

    def edit(self) -> Plan:
        """Add a window, remove one or change one."""
        kinds = ["add"] * (len(self.asked) < 6) + ["remove"] * (len(self.asked) > 1) + ["change"]
        kind = self.chance.choice(kinds)
        if kind != "add":
            changed = self.chance.choice(sorted(self.asked))
            del self.asked[changed]
        if kind != "remove":
            self.asked[f"q{self.made}"] = self.window()
            self.made += 1
        self.version += 1
        return self.plan()

    def window(self) -> Window:
        slide = self.chance.choice([500, 1_000, 1_500, 2_000, 4_000])
        range_ = self.chance.choice([slide, 3 * slide, 4 * slide, 4_000, 7_000, LONGEST])
        return Window(min(range_, LONGEST), slide, self.chance.choice([0, 0, 250]))

    def batch(self, plan: Plan | None = None) -> list[Event]:
        times = range(self.until, self.until + BATCH, STEP)
        events = [
            {"ts": at, "device": "abc"[at // STEP % 3], "temp": self.chance.randrange(100)} for at in times
        ]
        self.until += BATCH
        self.reading.skip = max(0, len(self.engine.read[0]) - 4 * LONGEST // STEP)
        self.engine.batch({0: events}, plan=plan, past=self.reading.next())
        return events

    def settle(self) -> None:
        """Until nothing that was before the edit can be in a window any more."""
        for _ in range(3 * LONGEST // BATCH):
            self.batch()

    def twin(self) -> Engine:
        """The same state in a shard that has seen none of the edits."""
        twin = copy(self.engine)
        twin.workers, twin.stored = list(twin.workers), [dict(each) for each in twin.stored]
        twin.read = defaultdict(list, {number: list(log) for number, log in twin.read.items()})
        twin.meters, twin.blocks, twin.refused = [], [], dict(twin.refused)
        twin.restart()
        return twin


def bytes_in(thing: Any, seen: set[int]) -> int:
    """Of all arrays that can be reached from it."""
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes
    if isinstance(thing, dict):
        return sum(bytes_in(each, seen) for each in thing.values())
    if isinstance(thing, (list, tuple)):
        return sum(bytes_in(each, seen) for each in thing)
    return sum(bytes_in(each, seen) for each in getattr(thing, "__dict__", {}).values())


def kept_bytes(engine: Engine) -> int:
    """Of closed slices, answers in between, and all kernels."""
    lanes = engine.workers[0].lanes.values()
    return bytes_in([(lane.closed, lane._kernels, lane._ladders) for lane in lanes], set())


def steps_of(engine: Engine, batches: int) -> int:
    return sum(tree["kernel_steps"] for meter in engine.meters[-batches:] for tree in meter["trees"].values())


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_shard_that_lived_through_a_hundred_edits_costs_what_a_fresh_one_costs(kernel: str) -> None:
    aggregate = aggregate_for(kernel)
    edited = Edited(kernel, aggregate, Random(kernel))
    for number in range(1, EDITS + 1):
        edited.batch(edited.edit())
        if number % TWIN_AFTER:
            continue
        edited.settle()
        twin = edited.twin()
        batches = 4 * LONGEST // BATCH
        for _ in range(batches):
            twin.batch({0: edited.batch()})
        assert kept_bytes(edited.engine) == kept_bytes(twin)
        # Slices have other numbers in the twin, so that stacks flip and trees are climbed at other times.
        assert steps_of(edited.engine, batches // 2) == pytest.approx(steps_of(twin, batches // 2), rel=0.1)
