"""Factor windows executed: events per second of core, beside the unshared plan on the same events.

The job's map task and shards in this process, JSON messages in and result messages out, as `bench engine`
measures plans: reading JSON and writing results are in all rates. Plans take turns on the same batches, and
each counts with its quickest one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from benchmarks.engine.events import Phase, Stream
from benchmarks.engine.in_process import Backlog
from benchmarks.engine.in_process import run as run_in_process
from optimizer import Statistics, optimize
from optimizer.queries import Query, QuerySpec, WindowSpec
from optimizer.windows import Window

PER_TICK = 100  # events in a second
LEAD_IN_SECONDS = 2_000  # the longest range that is drawn
BATCH_SECONDS = 1_000
BATCHES = 4
UNSHARED = "no_share"


@dataclass(frozen=True)
class Executed:
    """How many times the unshared plan's events per second."""

    without: float
    with_factors: float


def executed(windows: Sequence[Window], with_factors: str, without: str, rounds: int) -> Executed:
    """The gains of two strategies over the unshared plan, for windows in seconds."""
    queries = _queries(windows)
    statistics = Statistics(rate=PER_TICK, batch_seconds=BATCH_SECONDS)
    plans = {
        strategy: optimize(queries, statistics, source="bench", strategy=strategy)
        for strategy in (UNSHARED, without, with_factors)
    }
    seconds = dict.fromkeys(plans, float("inf"))
    for _ in range(rounds):
        for strategy, plan in plans.items():
            took = min(batch.seconds for batch in run_in_process(plan, _backlog()))
            seconds[strategy] = min(seconds[strategy], took)
    return Executed(seconds[UNSHARED] / seconds[without], seconds[UNSHARED] / seconds[with_factors])


def _queries(windows: Sequence[Window]) -> list[Query]:
    specs = tuple(WindowSpec(f"{window.range}s", f"{window.slide}s") for window in windows)
    return QuerySpec.single("lowest", "min", "temp", specs).queries()


@cache
def _backlog() -> Backlog:
    lead_in = Phase(LEAD_IN_SECONDS, 1)
    stream = Stream([lead_in, Phase(BATCHES * BATCH_SECONDS + 1, PER_TICK)], devices=1)
    return Backlog.of(stream, lead_in.events + PER_TICK // 4, PER_TICK * BATCH_SECONDS)
