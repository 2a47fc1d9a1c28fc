"""What the job measured: newest batches, rate and capacity per source, and the optimizer's statistics."""

import time
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

from dashboard.live.batches import Batch, add_up
from dashboard.live.messages import MeterMessage
from dashboard.live.spans import KEPT_MS, PEAK_SPAN_MS, Peak
from dashboard.models import PlanVersion
from optimizer import Statistics
from optimizer.cost import Calibration
from optimizer.path_costs import PathCosts
from optimizer.path_work import plan_work
from optimizer.plan import Plan
from streaming.path_costs import measured_path

BUCKET_MS = 5_000
RATE_SPAN_MS = 15_000
CAPACITY_SPANS = 3  # five-second spans that a capacity is measured over: one batch more or less tells little
IDLE_AFTER_MS = 30_000
ENOUGH_EVENTS = 5_000  # fewer say little about what an event costs
CALIBRATION_BATCHES = 60
STALE_MS = 60_000  # after which batches say nothing of now: their source is not read any more
CORES = Calibration().cores
KERNEL_STEP_SECONDS = 1e-9  # one operation of a compiled kernel, where telling its answers is counted apart


class Throughput(NamedTuple):
    """Five seconds of a source, by their end."""

    clock: int
    capacity: float | None  # events per core-second of the last 15 s' work, times the cores; None: no event
    rate: float
    plan: int


class SourceLoad(NamedTuple):
    """What a source brings and takes now."""

    rate: float  # events a second that arrive
    busy: float  # core seconds a second

    @property
    def load(self) -> float:
        """The share of the cores' time: the one definition of it."""
        return self.busy / CORES

    @classmethod
    def of_all(cls, sources: Iterable["SourceLoad"]) -> "SourceLoad":
        known = list(sources)
        return cls(sum(one.rate for one in known), sum(one.busy for one in known))


class SourceMeters:
    """The batches of one source's last 15 minutes, in order of the wall clock."""

    def __init__(self) -> None:
        self._messages: dict[int, dict[int, MeterMessage]] = {}  # by batch, then shard
        self._batches: dict[int, Batch] = {}
        self.last_event_clock: int | None = None
        self.peak = Peak()
        self._peak_span = 0

    def add(self, message: MeterMessage) -> None:
        """Take one shard's message in; a repeated batch replaces its first try."""
        number = message["batch"]
        shards = self._messages.setdefault(number, {})
        shards[message["shard"]] = message
        batch = self._batches[number] = add_up(shards)
        if self.last_event_clock is None or batch.events:
            self.last_event_clock = max(batch.clock, self.last_event_clock or 0)
        if batch.clock // PEAK_SPAN_MS > self._peak_span:
            self._peak_span = batch.clock // PEAK_SPAN_MS
            self.peak.note(self._batches.values(), batch.clock)
        self._forget_before(batch.clock - KEPT_MS)

    def batches(self) -> list[Batch]:
        return sorted(self._batches.values(), key=lambda batch: (batch.clock, batch.number))

    @property
    def newest(self) -> Batch | None:
        return max(self._batches.values(), key=lambda batch: (batch.clock, batch.number), default=None)

    def rate(self) -> float:
        """Events per second over the last quarter of a minute."""
        told = self._load()
        return told.rate if told else 0.0

    def load(self, now: int) -> SourceLoad | None:
        """What it brings and takes by the wall clock; None where nothing of late tells."""
        newest = self.newest
        return self._load() if newest and newest.clock > now - STALE_MS else None

    def _load(self) -> SourceLoad | None:
        batches = self.batches()
        if len(batches) < 2:
            return None
        cut = batches[-1].clock - RATE_SPAN_MS
        recent = batches[bisect_left(batches, cut, key=lambda batch: batch.clock) :]
        before = batches[-len(recent) - 1] if len(recent) < len(batches) else recent[0]
        counted = recent if before is not recent[0] else recent[1:]
        span = (batches[-1].clock - before.clock) / 1000
        if span <= 0:
            return None
        events, busy = sum(batch.events for batch in counted), sum(batch.busy_seconds for batch in counted)
        return SourceLoad(events / span, busy / span)

    def idle_since(self) -> int | None:
        """The wall clock of the last event, when that is long enough ago to be called idle."""
        newest = self.newest
        if newest is None or self.last_event_clock is None:
            return None
        return self.last_event_clock if newest.clock - self.last_event_clock > IDLE_AFTER_MS else None

    def throughput(self, cores: int) -> list[Throughput]:
        """The complete five-second spans that are kept."""
        batches = self.batches()
        if not batches:
            return []
        spans: dict[int, list[Batch]] = {}
        for batch in batches:
            spans.setdefault(batch.clock // BUCKET_MS, []).append(batch)
        open_span = batches[-1].clock // BUCKET_MS
        closed = [span for span in spans if span < open_span]
        return [
            _throughput(span, [spans.get(span - back, []) for back in range(CAPACITY_SPANS)], cores)
            for span in closed
        ]

    def _forget_before(self, clock: int) -> None:
        # Batches come in order of the clock, but for one that is told again.
        while (oldest := next(iter(self._batches.values()))).clock < clock:
            del self._batches[oldest.number]
            del self._messages[oldest.number]


class Meters:
    """All sources. Written by the relay's thread of control, read by page threads: hence the lock."""

    def __init__(self) -> None:
        self._sources: dict[str, SourceMeters] = {}
        self._lock = Lock()

    def add(self, message: MeterMessage) -> None:
        with self._lock:
            self._sources.setdefault(message["source"], SourceMeters()).add(message)

    def source(self, key: str) -> SourceMeters:
        """The source's meters; empty ones when nothing was measured. For the relay's own thread alone."""
        return self._sources.get(key) or SourceMeters()

    def all_sources(self) -> dict[str, SourceMeters]:
        """By key. For the relay's own thread alone."""
        return dict(self._sources)

    def load(self, key: str, now: int | None = None) -> SourceLoad | None:
        """What a source brings and takes now; safe to call from any thread."""
        with self._lock:
            return self.source(key).load(_wall_clock() if now is None else now)

    def all_recent(self) -> dict[str, list[Batch]]:
        """The batches of every source, safe to read from any thread."""
        with self._lock:
            return {key: meters.batches() for key, meters in self._sources.items()}

    def recent(self, key: str) -> tuple[float, list[Batch]]:
        """Rate and batches of a source, safe to read from any thread."""
        with self._lock:
            meters = self.source(key)
            return meters.rate(), meters.batches()

    def keep_only(self, source_keys: set[str]) -> None:
        with self._lock:
            for key in self._sources.keys() - source_keys:
                del self._sources[key]


process_meters = Meters()  # what this process has read: a web process' relay, or who writes history


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


def statistics(source_key: str, meters: Meters = process_meters) -> Statistics:
    """What the optimizer should reckon with: measured where something was measured, else the defaults."""
    rate, batches = meters.recent(source_key)
    if not batches:
        return _before_measuring()
    defaults, recent = Statistics(), batches[-CALIBRATION_BATCHES:]
    version = PlanVersion.objects.filter(source__key=source_key, version=batches[-1].plan).first()
    plan = version.value() if version is not None else None
    known = replace(
        defaults,
        rate=rate or defaults.rate,
        groups=_groups(plan, batches[-1]) if plan is not None else {},
        calibration=calibrate(recent),
    )
    path = measured_path()
    return known if path is None or plan is None else _with_path(path, plan, known, recent)


def _before_measuring() -> Statistics:
    """With what the benchmark found steps of the data path to take: later estimates start from it, too."""
    path = measured_path()
    if path is None:
        return Statistics()
    calibration = replace(Calibration(), path=path, seconds_per_step=KERNEL_STEP_SECONDS)
    return Statistics(calibration=calibration)


def measured(source_key: str, meters: Meters = process_meters) -> bool:
    """Whether estimates for this source rest on measurements yet."""
    _, batches = meters.recent(source_key)
    return sum(batch.events for batch in batches[-CALIBRATION_BATCHES:]) >= ENOUGH_EVENTS


def calibrate(batches: list[Batch], start: Calibration | None = None) -> Calibration:
    """Seconds per event, per partial and per kernel step as these batches show them.

    The batches tell what an event costs with all its partials; it is split as the known calibration does.
    """
    known = start or Calibration()
    events = sum(batch.events for batch in batches)
    if events < ENOUGH_EVENTS:
        return known
    steps = sum(batch.kernel_steps for batch in batches)
    kernels = sum(batch.kernel_seconds for batch in batches)
    busy = sum(batch.busy_seconds for batch in batches) - kernels
    trees = sum(len(batch.trees) * batch.events for batch in batches) / events
    factor = busy / events / (known.seconds_per_event + trees * known.seconds_per_partial)
    if factor <= 0:
        return known
    return replace(
        known,
        seconds_per_event=known.seconds_per_event * factor,
        seconds_per_partial=known.seconds_per_partial * factor,
        seconds_per_step=kernels / steps if steps and kernels > 0 else known.seconds_per_step,
    )


def _groups(plan: Plan, batch: Batch) -> dict[tuple[str, ...], int]:
    """Groups per group-by: each tree's count belongs to its own."""
    groups: dict[tuple[str, ...], int] = {}
    for tree in plan.all_trees:
        work = batch.trees.get(tree.id)
        if work is not None and work.groups:
            group_by = tree.key.group_by  # a factor window has no queries that could say it
            groups[group_by] = max(work.groups, groups.get(group_by, 0))
    return groups


def _with_path(path: PathCosts, plan: Plan, known: Statistics, batches: list[Batch]) -> Statistics:
    """With what steps of the data path take, as much more or less of it as batches of this plan took."""
    told = [batch for batch in batches if batch.plan == plan.version]
    span = (told[-1].clock - told[0].clock) / 1000
    counted = told[1:]  # the first is what the span begins with
    events = sum(batch.events for batch in counted)
    if events >= ENOUGH_EVENTS and span > 0 and not plan.group_trees:  # what these take is not told apart
        known = replace(known, batch_seconds=span / len(counted))
        work = plan_work(plan, replace(known, rate=events / span))
        path = path.scaled(
            sum(batch.map_seconds for batch in counted) / span / path.in_map_tasks(work),
            sum(batch.shard_seconds for batch in counted) / span / path.in_shards(work),
        )
    return replace(
        known, calibration=replace(known.calibration, path=path, seconds_per_step=KERNEL_STEP_SECONDS)
    )


def _throughput(span: int, recent: list[list[Batch]], cores: int) -> Throughput:
    """A span's own rate and plan, and the capacity over it and the spans before; newest first."""
    worked = [batch for batches in recent for batch in batches if batch.events]
    events = sum(batch.events for batch in worked)
    busy = sum(batch.busy_seconds for batch in worked)
    return Throughput(
        clock=(span + 1) * BUCKET_MS,
        capacity=events / busy * cores if events and busy > 0 else None,
        rate=sum(batch.events for batch in recent[0]) / (BUCKET_MS / 1000),
        plan=recent[0][-1].plan,
    )
