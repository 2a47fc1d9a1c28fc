"""Back-testing: run queries over a file or a topic by the job's own path, to the end, all windows closed.

The plan, the map task, the shard and the kernels are the job's, called in this process: no broker is needed,
no Spark, and nothing stays behind. A file is one partition in the order of its rows.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from optimizer import Statistics, optimize
from optimizer.kernels import ALIASES, kernel_named
from optimizer.plan import Plan
from optimizer.queries import AnyQuery, InvalidQuery, QuerySpec
from optimizer.strategies import DEFAULT_STRATEGY
from streaming import event_time
from streaming.accounting import Counts
from streaming.event_time import UnfitTime
from streaming.exact_queries import exactly
from streaming.left_out import LeftOut
from streaming.replay.engine import Engine, TooManyResults
from streaming.replay.inputs import Input
from streaming.replay.results import write_results
from streaming.sources import SourceSpec, TimeUnit
from streaming.spec import InvalidSpec, Spec, check_fields
from streaming.task import needed_fields
from streaming.verify import Comparison, Verification

__all__ = ["MOST_RESULTS", "Progress", "Replay", "Summary", "Tell", "TooManyResults", "by_message_times"]

SOURCE = "replay"
MOST_RESULTS = 10_000_000  # are held in memory: each is 12 bytes to 330, the less the more groups there are


@dataclass(frozen=True)
class Progress:
    """How far a replay is."""

    step: str
    events: int
    done: int = 0  # of the input's total; of a step without one nothing is known
    total: int = 0


@dataclass(frozen=True)
class Summary:
    counts: Counts
    results: int
    seconds: float
    left_out: LeftOut  # by query
    comparisons: list[Comparison] = field(default_factory=list)


Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class Replay:
    """What is to be run over which events; `planned` refuses what does not fit together."""

    read: Input
    spec: Spec
    source: SourceSpec
    plan: Plan

    @classmethod
    def planned(
        cls, read: Input, spec: Spec, strategy: str = DEFAULT_STRATEGY, kernel: str | None = None
    ) -> "Replay":
        _check(read, spec)
        return cls(read, spec, _source(read, spec), _plan(read, spec, strategy, kernel))

    @classmethod
    def of_source(cls, read: Input, source: SourceSpec, queries: tuple[QuerySpec, ...]) -> "Replay":
        """Over what a source's topic holds, read as the source says."""
        source = by_message_times(source)
        spec = Spec(
            source.format, source.event_time, source.time_unit, source.allowed_lateness, queries,
            source.time_pattern, source.time_zone, source.future_bound, source.past_bound,
        )  # fmt: skip
        _check(read, spec)
        return cls(read, spec, source, _plan(read, spec, DEFAULT_STRATEGY, None))

    def run(self, out: Path, tell: Tell, verify: bool = False, most_results: int = MOST_RESULTS) -> Summary:
        """Write the final results to `out`; `verify` compares them with DuckDB's.

        Raises TooManyResults, and has written nothing then.
        """
        began = time.monotonic()
        engine = self._engine(most_results)
        with ExitStack() as stack:
            verification = None
            if verify:
                directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-verify-"))
                verification = stack.enter_context(
                    Verification(Path(directory), self.source, engine.timeline)
                )
            self._read(engine, verification, tell)
            tell(Progress("writing results", engine.counts.read))
            results = write_results(out, self.spec, engine.blocks)
            seconds = time.monotonic() - began
            compared = [] if verification is None else list(self._compared(engine, verification, tell))
        return Summary(engine.counts, results, seconds, engine.left_out, compared)

    def computed(self, tell: Tell, most_results: int) -> Engine:
        """All that the log brings, its newest windows left open as they are; refuses too many results."""
        engine = self._engine(most_results)
        now = int(time.time() * 1000)
        fields = needed_fields(self.source, engine.timeline.lanes, engine.timeline.group_lanes)
        for batch in self.read.batches(fields, now):
            engine.take(batch.rows)
            tell(Progress("reading", engine.counts.read, batch.done, self.read.total))
        return engine

    def _engine(self, most_results: int) -> Engine:
        return Engine(self.source, self.plan, self.read.partitions, self.read.whole, most_results)

    def _read(self, engine: Engine, verification: Verification | None, tell: Tell) -> None:
        now = int(time.time() * 1000)
        fields = needed_fields(self.source, engine.timeline.lanes, engine.timeline.group_lanes)
        for batch in self.read.batches(fields, now):
            engine.take(batch.rows)
            if verification is not None:
                verification.take(batch.rows)
            tell(Progress("reading", engine.counts.read, batch.done, self.read.total))
        engine.end()

    def _compared(self, engine: Engine, verification: Verification, tell: Tell) -> Iterator[Comparison]:
        queries = _queries(self.read, self.spec)
        for number, query in enumerate(queries):
            tell(Progress("verifying", engine.counts.read, number, len(queries)))
            yield verification.compared(query, engine.blocks, engine.whole_from)


def by_message_times(source: SourceSpec) -> SourceSpec:
    """Of a source whose events happen when they are read: they were written then, or little before."""
    return replace(source, processing_time=False, event_time=None) if source.processing_time else source


def _queries(read: Input, spec: Spec) -> list[AnyQuery]:
    return exactly((query for item in spec.queries for query in item.queries()), read.types)


def _check(read: Input, spec: Spec) -> None:
    if spec.event_time is None and not read.stamped:
        raise InvalidSpec("A replay needs an “event_time” field: a file's lines have no timestamps.")
    if spec.event_time is not None and spec.event_time not in read.types:
        raise InvalidSpec(f"No field “{spec.event_time}” in {read.name}: it cannot be the event time.")
    _check_event_time(read, spec)
    for query in spec.queries:
        try:
            check_fields(query, read.types)
        except InvalidQuery as error:
            raise InvalidSpec(f"Query “{query.name}”: {error.words}") from error


def _check_event_time(read: Input, spec: Spec) -> None:
    name = spec.event_time
    if name is None:
        return
    try:
        event_time.check_field(name, read.types[name], _time_unit(read, spec))
    except UnfitTime as error:
        raise InvalidSpec(str(error)) from error


def _time_unit(read: Input, spec: Spec) -> TimeUnit:
    """As the spec says, but for fields that the input itself knows to be instants."""
    return read.times.get(spec.event_time or "", spec.time_unit)


def _source(read: Input, spec: Spec) -> SourceSpec:
    return SourceSpec(
        SOURCE,
        bootstrap_servers="",
        topic="",
        format=read.format,
        schema=tuple(read.types.items()),
        event_time=spec.event_time,
        time_unit=_time_unit(read, spec),
        allowed_lateness=spec.allowed_lateness,
        time_pattern=spec.time_pattern,
        time_zone=spec.time_zone,
        future_bound=spec.future_bound,
        past_bound=spec.past_bound,
    )


def _plan(read: Input, spec: Spec, strategy: str, kernel: str | None) -> Plan:
    try:
        if kernel is not None and kernel not in ALIASES:
            kernel_named(kernel, ())
        return optimize(_queries(read, spec), Statistics(kernel=kernel), source=SOURCE, strategy=strategy)
    except ValueError as error:
        raise InvalidSpec(str(error)) from error
