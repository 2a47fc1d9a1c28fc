"""From sending an event to a result on Kafka that holds it, on a live stream, slow and fast."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

from kafka.admin import NewTopic

from benchmarks.engine import feed
from benchmarks.engine.bench import (
    Bench,
    Millrace,
    Progress,
    batches,
    bench,
    family,
    planned,
    rate,
    run_for,
    wait_until_warm,
)
from benchmarks.engine.events import PARTITIONS, Phase, Stream
from benchmarks.engine.kafka import fill, read
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from optimizer.queries import QuerySpec, WindowSpec
from streaming import results
from streaming.topics import create_topics

SLOW = 200  # events per second
PER_BATCH = 500_000
RANGES = [60 * (number + 1) for number in range(20)]
# The newest event time that a result knows of: the events up to it are in that result.
PROBE = QuerySpec.single("newest", "max", "ts", (WindowSpec("60s", "1s"),)).queries()
EVERY_MS = 5  # an event is sent at least so often


@dataclass(frozen=True)
class Setting:
    warm_up: float
    seconds: float
    filled: Stream  # to find the highest rate with


FULL = Setting(30, 60, Stream([Phase(30, 20_000), Phase(200, 20_000)]))
QUICK = Setting(15, 15, Stream([Phase(20, 20_000), Phase(60, 20_000)]))


@dataclass(frozen=True)
class Latency:
    per_second: int
    median: float  # ms
    last_hundredth: float  # ms, the 99th percentile


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with bench("latency") as stage:
        slow = _measured(stage, setting, SLOW)
        progress(f"{SLOW} events/s: {slow.median:,.0f} ms, 99th percentile {slow.last_hundredth:,.0f} ms")
        highest = _highest_rate(stage, setting)
        fast = _measured(stage, setting, int(highest / 2))
        progress(
            f"{fast.per_second:,} events/s: {fast.median:,.0f} ms, 99th percentile "
            f"{fast.last_hundredth:,.0f} ms"
        )
    return Section(
        [
            f"At {SLOW} events/s half of the events are in a result on Kafka within {slow.median:,.0f} ms, "
            f"99 of 100 within {slow.last_hundredth:,.0f} ms; at half of the highest rate, "
            f"{fast.per_second:,} events/s, within {fast.median:,.0f} ms and {fast.last_hundredth:,.0f} ms."
        ],
        [
            Table(
                "Latency",
                ["events/s", "median, ms", "99th percentile, ms"],
                [[one.per_second, one.median, one.last_hundredth] for one in (slow, fast)],
                "From sending an event to the first result on Kafka that holds it, with twenty windows (1 "
                "min to 20 min every 1 s). The highest rate is that of reading a filled topic; what sends "
                "the events live shares the cores.",
            )
        ],
        (),
        [
            *_figures(f"{SLOW} events/s", slow, 500, 1_000),
            *_figures("half of the highest rate", fast, 1_500, 3_000),
        ],
    )


def _figures(name: str, latency: Latency, median: float, last_hundredth: float) -> list[Figure]:
    return [
        Figure(f"latency at {name}", latency.median, "ms", target=median, lower_is_better=True),
        Figure(
            f"latency at {name}, 99th percentile",
            latency.last_hundredth,
            "ms",
            target=last_hundredth,
            lower_is_better=True,
        ),
    ]


def _measured(stage: Bench, setting: Setting, per_second: int) -> Latency:
    topic = f"live-{per_second}"
    create_topics(stage.bootstrap_servers, [NewTopic(topic, PARTITIONS, 1)])
    length = setting.warm_up + setting.seconds
    with feed.running(stage.bootstrap_servers, topic, per_second, length + 300):
        started = stage.millrace(stage.source(topic), planned([*family(RANGES), *PROBE]), PER_BATCH)
        wait_until_warm(started.query)
        run_for(started.query, length)
    known = newest_known(stage, started)
    # Events of the last two seconds may not have had their result when the query was stopped.
    high = known[-1][1] - 2_000
    found = quantiles(latencies(known, int(high - 1000 * setting.seconds), high), n=100)
    return Latency(per_second, found[49], found[98])


def newest_known(stage: Bench, started: Millrace) -> list[tuple[int, int]]:
    """(when a result was readable, the newest event time in it), in ms, each newer than the one before."""
    known: list[tuple[int, int]] = []
    for message in read(stage.bootstrap_servers, started.topics.results):
        for block in results.decode(message.value):
            newest = int(next(block.rows())[1] or 0)
            if block.query == PROBE[0].id and (not known or newest > known[-1][1]):
                known.append((message.appended, newest))
    return known


def latencies(known: Sequence[tuple[int, int]], low: int, high: int) -> list[float]:
    """Of an event every few ms from `low` to `high`: until the first result that knows one as new.

    >>> latencies([(1_300, 1_010), (1_500, 1_200)], 1_000, 1_015)
    [300.0, 295.0, 290.0]
    """
    times = [newest for _, newest in known]
    found = []
    for sent in range(low, high, EVERY_MS):
        at = bisect_left(times, sent)
        if at < len(known):
            found.append(float(known[at][0] - sent))
    return found


def _highest_rate(stage: Bench, setting: Setting) -> float:
    fill(stage.bootstrap_servers, "filled", setting.filled)
    started = stage.millrace(stage.source("filled"), planned([*family(RANGES), *PROBE]), PER_BATCH)
    done = batches(started.query, "filled", setting.filled.events)
    highest = rate(done, setting.filled.phases[0].events)
    if highest is None:
        raise RuntimeError("Too few batches for a rate.")
    return highest
