"""What is measured of each contestant, and under which setting."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median, quantiles

from benchmarks.engine.events import Phase, Stream
from benchmarks.peers.contestants import Contestant
from benchmarks.peers.rows import Pace


@dataclass(frozen=True)
class Setting:
    shortest: int  # seconds; ranges are its multiples
    lead_in: Mapping[int, int]  # numbers of windows, and events per second while these fill
    measured: Phase
    rounds: int
    most_seconds: float  # for one run
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
    latencies: list[float] = field(default_factory=list)
    peak_memory: dict[int, int] = field(default_factory=dict)

    def rate(self, windows: int) -> float | None:
        paces = self.paces.get(windows)
        return median(pace.events_per_second for pace in paces) if paces else None

    def is_full(self, windows: int) -> bool:
        return all(pace.full for pace in self.paces.get(windows, ()))

    def latency(self, hundredth: int) -> float | None:
        """A percentile in ms."""
        return quantiles(self.latencies, n=100)[hundredth - 1] if len(self.latencies) > 1 else None


def named(windows: int) -> str:
    return "1 window" if windows == 1 else f"{windows} windows"
