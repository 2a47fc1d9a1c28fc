"""What is measured of each contestant, and under which setting."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

import msgspec

from benchmarks.engine.events import Phase, Stream
from benchmarks.peers.contestants import Contestant
from benchmarks.peers.rows import Pace

ROWS, LATENCY = "rows", "latency"
COUNTS = {"one": 1, "five": 5, "twenty": 20}  # sections, and how many windows each is about


@dataclass(frozen=True)
class Setting:
    shortest: int  # seconds; ranges are its multiples
    lead_in: Mapping[int, int]  # numbers of windows, and events per second while these fill
    measured: Phase
    rounds: int
    most_seconds: Mapping[int, float]  # for one run, by the number of windows
    warm_up: float  # seconds of a live stream before latency counts
    live: float  # seconds in which it counts

    def ranges(self, windows: int) -> list[int]:
        return [self.shortest * (number + 1) for number in range(windows)]

    def stream(self, windows: int) -> Stream:
        return Stream([Phase(self.shortest * windows, self.lead_in[windows]), self.measured])


@dataclass
class Found:
    """What is known of one contestant; notes stand where a figure could not be had."""

    contestant: Contestant
    not_installed: str = ""
    rows: str = ""
    paces: dict[int, list[Pace]] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    percentiles: list[float] = field(default_factory=list)  # of latency, ms, from the first to the 99th
    peak_memory: dict[int, int] = field(default_factory=dict)

    def rate(self, windows: int) -> float | None:
        paces = self.paces.get(windows)
        return median(pace.events_per_second for pace in paces) if paces else None

    def is_full(self, windows: int) -> bool:
        return all(pace.full for pace in self.paces.get(windows, ()))

    def latency(self, hundredth: int) -> float | None:
        """A percentile in ms."""
        return self.percentiles[hundredth - 1] if self.percentiles else None

    def keep_latencies(self, latencies: list[float]) -> None:
        self.percentiles = quantiles(latencies, n=100) if len(latencies) > 1 else []

    def part(self, section: str) -> "Part":
        """What one section of the benchmark found, to be kept beside the document."""
        if section not in COUNTS:
            return Part(self.rows, [], "", 0, self.percentiles if section == LATENCY else [])
        count = COUNTS[section]
        return Part(
            "", self.paces.get(count, []), self.notes.get(count, ""), self.peak_memory.get(count, 0), []
        )

    def take(self, section: str, part: "Part") -> None:
        """What a section found in an earlier run."""
        if section == ROWS:
            self.rows = part.rows
        elif section == LATENCY:
            self.percentiles = part.percentiles
        else:
            count = COUNTS[section]
            kept: list[tuple[dict[int, Any], Any]] = [
                (self.paces, part.paces),
                (self.notes, part.note),
                (self.peak_memory, part.peak_memory),
            ]
            for known, value in kept:
                if value:
                    known[count] = value


class Part(msgspec.Struct):
    """Of one contestant, in one section."""

    rows: str
    paces: list[Pace]
    note: str
    peak_memory: int
    percentiles: list[float]


def named(windows: int) -> str:
    return "1 window" if windows == 1 else f"{windows} windows"
