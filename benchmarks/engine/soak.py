"""Half an hour at half of the highest rate: memory must not grow."""

import os
import time
from dataclasses import dataclass
from statistics import median

from kafka.admin import NewTopic
from pyspark.sql.streaming import StreamingQuery

from benchmarks.engine import feed
from benchmarks.engine.bench import Progress, batches, bench, family, planned, raise_if_failed, rate
from benchmarks.engine.events import PARTITIONS, Phase, Stream
from benchmarks.engine.kafka import end_offset, fill
from benchmarks.engine.memory import Memory, watched
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Chart, Table
from streaming.topics import create_topics

PER_BATCH = 500_000
RANGES = [15 * (number + 1) for number in range(20)]  # the longest is full before memory is first looked at
FILLED = Stream([Phase(330, 20_000), Phase(200, 20_000)])  # windows are full when the second phase begins
AROUND = 60.0  # seconds over which a size is taken


@dataclass(frozen=True)
class Setting:
    seconds: float
    first_look: float


FULL = Setting(1_800, 600)
QUICK = Setting(180, 90)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    plan = planned(family(RANGES))
    with bench("soak") as stage:
        fill(stage.bootstrap_servers, "filled", FILLED)
        filled = stage.millrace(stage.source("filled"), plan, PER_BATCH)
        highest = rate(batches(filled.query, "filled", FILLED.events), FILLED.phases[0].events)
        if highest is None:
            raise RuntimeError("Too few batches for a rate.")
        per_second = int(highest / 2)
        progress(f"{per_second:,} events/s for {setting.seconds / 60:.0f} minutes")
        # The topic keeps only what is needed: a soak at this rate would fill a disk.
        short = {"retention.ms": "60000", "segment.ms": "30000", "segment.bytes": str(256 << 20)}
        create_topics(stage.bootstrap_servers, [NewTopic("live", PARTITIONS, 1, topic_configs=short)])
        with feed.running(stage.bootstrap_servers, "live", per_second, setting.seconds + 60) as feeding:
            began, sent_before = time.monotonic(), end_offset(stage.bootstrap_servers, "live")
            started = stage.millrace(stage.source("live"), plan, PER_BATCH)
            with watched(os.getpid(), leave_out=frozenset({feeding.pid})) as memory:
                _wait(started.query, setting.seconds, memory, progress)
            sent = end_offset(stage.bootstrap_servers, "live") - sent_before
            per_second = int(sent / (time.monotonic() - began))
            started.query.stop()
    return _section(setting, per_second, memory)


def _wait(query: StreamingQuery, seconds: float, memory: Memory, progress: Progress) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        time.sleep(min(60.0, max(0.0, ends - time.monotonic())))
        raise_if_failed(query)
        progress(f"{memory.samples[-1][1] / 1e9:.2f} GB")


def _section(setting: Setting, per_second: int, memory: Memory) -> Section:
    half = AROUND / 2
    first = median(memory.between(setting.first_look - half, setting.first_look + half)) / 1e9
    last = median(memory.between(setting.seconds - AROUND, setting.seconds + AROUND)) / 1e9
    began = memory.samples[0][0]
    shown = memory.samples[:: max(1, len(memory.samples) // 60)]
    minutes = setting.seconds / 60
    return Section(
        [
            f"After {minutes:.0f} minutes at {per_second:,} events/s all processes take {last:.2f} GB, "
            f"{last / first:.2f} times what they took after {setting.first_look / 60:.0f}."
        ],
        [
            Table(
                "Soak",
                ["after, min", "memory, GB"],
                [[setting.first_look / 60, first], [minutes, last]],
                "Broker and Spark included, what sends the events left out; medians over a minute.",
            )
        ],
        [
            Chart(
                "Memory over time",
                "minutes",
                "GB",
                [(at - began) / 60 for at, _ in shown],
                {"all processes": [size / 1e9 for _, size in shown]},
            )
        ],
        [Figure("memory at the end of a soak", last, "GB", first, 1.05, lower_is_better=True)],
    )
