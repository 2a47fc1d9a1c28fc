"""A million groups against a thousand: rate and memory, where no two events meet in a partial."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.engine.bench import Bench, Progress, alternate, batches, bench, family, planned, rate
from benchmarks.engine.events import Phase, Stream
from benchmarks.engine.kafka import fill
from benchmarks.engine.memory import watched
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table

PER_BATCH = 500_000
FEW = 1_000
MOST_GIGABYTES = 8.0
SLIDE = "10s"
RANGES = {"tumbling, 10 s": 10, "hopping, 60 s every 10 s": 60}


@dataclass(frozen=True)
class Setting:
    many: int
    seconds: int  # of event time: every device speaks once in ten of them
    rounds: int

    def stream(self, devices: int) -> Stream:
        """The same events at the same times, of so many devices."""
        return Stream([Phase(self.seconds, self.many // 10)], devices=devices)

    @property
    def full_from(self) -> int:
        return max(RANGES.values()) * self.many // 10


FULL = Setting(1_000_000, 110, 3)
QUICK = Setting(100_000, 110, 1)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with bench("groups") as stage, watched(os.getpid()) as memory:
        for devices in (FEW, setting.many):
            stream = setting.stream(devices)
            progress(f"filling a topic with {stream.events:,} events of {devices:,} devices")
            fill(stage.bootstrap_servers, _topic(devices), stream)
        filled = len(memory.samples)
        runs: dict[str, Callable[[], float]] = {
            _name(devices, kind): partial(_rate, stage, setting, devices, seconds)
            for kind, seconds in RANGES.items()
            for devices in (FEW, setting.many)
        }
        rounds = alternate(runs, setting.rounds, progress)
        peak = max(size for _, size in memory.samples[filled:])
    ratios = {
        kind: rounds.median(_name(setting.many, kind)) / rounds.median(_name(FEW, kind)) for kind in RANGES
    }
    told = " and ".join(f"{ratio:.2f} ({kind})" for kind, ratio in ratios.items())
    return Section(
        [
            f"With {setting.many:,} groups, each of which speaks once in ten seconds so that every event is "
            f"a partial of its own, the rate is {told} of that with {FEW:,}; all processes, broker and "
            f"benchmark included, took at most {peak / 1e9:.1f} GB."
        ],
        [
            Table(
                "Groups",
                ["groups and window", "events/s", "rounds"],
                [[name, rounds.median(name), rounds.spread(name)] for name in runs],
                "The greatest temperature of each device; a hopping window answers all groups every 10 s.",
            )
        ],
        (),
        [
            *(
                Figure(
                    f"{setting.many:,} groups, {kind}, against {FEW:,}",
                    rounds.median(_name(setting.many, kind)),
                    "events/s",
                    rounds.median(_name(FEW, kind)),
                    0.25,
                )
                for kind in RANGES
            ),
            Figure(
                "peak memory of all processes",
                peak / 1e9,
                "GB",
                target=MOST_GIGABYTES,
                lower_is_better=True,
            ),
        ],
    )


def _topic(devices: int) -> str:
    return f"events-{devices}"


def _name(devices: int, kind: str) -> str:
    return f"{devices:,} groups, {kind}"


def _rate(stage: Bench, setting: Setting, devices: int, seconds: int) -> float:
    topic, plan = _topic(devices), planned(family([seconds], SLIDE))
    started = stage.millrace(stage.source(topic), plan, PER_BATCH)
    done = batches(started.query, topic, setting.stream(devices).events)
    measured = rate(done, setting.full_from) or rate(done, 0)
    if measured is None:
        raise RuntimeError(f"Too few batches for a rate with {devices:,} groups.")
    return measured
