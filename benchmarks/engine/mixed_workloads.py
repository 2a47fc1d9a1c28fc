"""Mixed workloads, drawn by number: which queries over which groups, woven how and on which kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import pyarrow.compute as pc

from benchmarks.engine.events import Phase, Stream
from benchmarks.engine.in_process import Backlog
from optimizer import Statistics, optimize
from optimizer.plan import Plan
from optimizer.queries import Query, QuerySpec, WindowSpec

RATE = 10_000  # events per second of event time
LEAD_IN_SECONDS = 120  # as long as the longest range
BATCH_SECONDS = 10  # a multiple of all slides: the same windows end in every batch
PER_BATCH = BATCH_SECONDS * RATE
DEVICES = (200, 1_000, 5_000)
RANGES = ("10s", "20s", "30s", "1m", "90s", "2m")
SLIDES = ("500ms", "1s", "2s", "5s", "10s")
AGGREGATES = ("count", "sum", "mean", "min", "max", "range", "stddev")
GROUP_BYS = ((), ("status",), ("site",), ("device",), ("device", "status"))
FILTERS: Mapping[str, Callable[[pc.Expression], pc.Expression]] = {
    "temp > 20": lambda field: field > 20,
    "temp < 30": lambda field: field < 30,
    "temp > 32": lambda field: field > 32,
}
STRATEGIES = ("best_woven", "weave_share", "triweave", "no_share")
KERNELS = (None, "flatfit", "flatfat", "b_int", "panes", "van_herk")  # those for any aggregate


@dataclass(frozen=True)
class Mixed:
    """One workload and what is known of the stream that it runs on."""

    devices: int
    queries: list[Query]
    strategy: str
    statistics: Statistics

    def plan(self) -> Plan:
        return optimize(self.queries, self.statistics, source="bench", strategy=self.strategy)


def drawn(seed: int) -> Mixed:
    draw = Random(seed)
    devices = draw.choice(DEVICES)
    aggregates = draw.sample(AGGREGATES, draw.randint(1, 4))
    group_bys = draw.sample(GROUP_BYS, draw.randint(1, 3))
    filters = draw.sample(("", *FILTERS), draw.randint(1, 2))
    ranges = draw.sample(RANGES, draw.randint(1, 5))
    slides = draw.sample(SLIDES, draw.randint(1, 3))
    specs = [
        QuerySpec.single(
            f"q{number}",
            draw.choice(aggregates),
            "temp",
            (WindowSpec(draw.choice(ranges), draw.choice(slides)),),
            draw.choice(group_bys),
            draw.choice(filters),
        )
        for number in range(draw.choice((1, 2, 3, 5, 8, 13, 20, 35)))
    ]
    queries = [query for spec in specs for query in spec.queries()]
    statistics = replace(counted(devices), kernel=draw.choice(KERNELS))
    return Mixed(devices, queries, draw.choice(STRATEGIES), statistics)


def backlog(devices: int, batches: int) -> Backlog:
    """Batches that end between edges, as those of a live stream do."""
    source = stream(devices, batches)
    return Backlog.of(source, source.phases[0].events + RATE // 4, PER_BATCH)


def stream(devices: int, batches: int) -> Stream:
    """A thin lead-in in which every device speaks, then so many batches and a little more."""
    lead_in = Phase(LEAD_IN_SECONDS, max(1_000, devices // 2))
    return Stream([lead_in, Phase(batches * BATCH_SECONDS + 1, RATE)], devices)


@cache
def counted(devices: int) -> Statistics:
    """What has been counted of a stream that has run for a while."""
    table = stream(devices, 1).table(0, 8 * devices)
    groups = {names: len(table.group_by(list(names)).aggregate([])) for names in GROUP_BYS if names}
    passing = {
        where: len(table.filter(condition(pc.field("temp")))) / len(table)
        for where, condition in FILTERS.items()
    }
    return Statistics(RATE, groups, passing, batch_seconds=BATCH_SECONDS)
