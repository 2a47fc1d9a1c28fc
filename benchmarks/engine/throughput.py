"""Twenty windows on a full stream against a bare read of the topic, and one window against Spark's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.engine.bench import (
    Batch,
    Bench,
    Progress,
    Rounds,
    alternate,
    batches,
    bench,
    family,
    planned,
    rate,
)
from benchmarks.engine.events import Phase, Stream
from benchmarks.engine.kafka import fill
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Cell, Chart, Table
from optimizer.durations import format_duration

TOPIC = "events"
SPARK_BATCH, SPARK_BATCHES = 500_000, 2  # larger ones suit it: a batch updates every open window once
BARE, BARE_OF_A_MILLION = "bare read, batches of 500,000", "bare read, batches of 1,000,000"
TWENTY = "Millrace, 20 windows, batches of 500,000"
TWENTY_OF_A_MILLION = "Millrace, 20 windows, batches of 1,000,000"
ONE, SPARK_ONE, SPARK_FIVE = "Millrace, 1 window", "Spark window(), 1 window", "Spark window(), 5 windows"
FIELDS = "device string, ts long, temp double"


@dataclass(frozen=True)
class Setting:
    shortest: int  # seconds; the twenty ranges are its multiples
    stream: Stream
    rounds: int
    most_seconds: float  # that Spark's own windows may take for one measurement

    def ranges(self, windows: int) -> list[int]:
        return [self.shortest * (number + 1) for number in range(windows)]

    @property
    def full_from(self) -> int:
        """The event from which on all windows are full."""
        return self.stream.phases[0].events

    def shortly_before(self, seconds: int) -> int:
        """The event that many seconds before the windows are full."""
        return self.full_from - seconds * self.stream.phases[0].per_second


FULL = Setting(60, Stream([Phase(1_200, 4_000), Phase(300, 20_000)]), rounds=3, most_seconds=300)
QUICK = Setting(15, Stream([Phase(300, 2_000), Phase(150, 20_000)]), rounds=1, most_seconds=60)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with bench("throughput") as stage:
        progress(f"filling a topic with {setting.stream.events:,} events")
        fill(stage.bootstrap_servers, TOPIC, setting.stream)
        runs: dict[str, Callable[[], float]] = {
            BARE: partial(_bare_read, stage, setting, 500_000),
            TWENTY: partial(_millrace, stage, setting, 20, 500_000),
            BARE_OF_A_MILLION: partial(_bare_read, stage, setting, 1_000_000),
            TWENTY_OF_A_MILLION: partial(_millrace, stage, setting, 20, 1_000_000),
            ONE: partial(_millrace, stage, setting, 1, 500_000),
            SPARK_ONE: partial(_spark_windows, stage, setting, 1),
        }
        rounds = alternate(runs, setting.rounds, progress)
        five, five_finished = _five_of_spark(stage, setting, progress)
    return _section(setting, rounds, five, five_finished)


def _bare_read(stage: Bench, setting: Setting, per_batch: int) -> float:
    query = stage.to_nowhere(stage.read(TOPIC, per_batch).select("value"), "bare")
    return _measured(batches(query, TOPIC, setting.stream.events), setting)


def _millrace(stage: Bench, setting: Setting, windows: int, per_batch: int) -> float:
    """The whole path: decode, partials, shuffle, state, kernels, results to Kafka."""
    plan = planned(family(setting.ranges(windows)))
    started = stage.millrace(stage.source(TOPIC), plan, per_batch)
    return _measured(batches(started.query, TOPIC, setting.stream.events), setting)


def _spark_windows(stage: Bench, setting: Setting, windows: int) -> float:
    return _measured(_spark_batches(stage, setting, windows), setting)


def _spark_batches(stage: Bench, setting: Setting, windows: int) -> list[Batch]:
    """Spark's own sliding windows, in the same session and with the same batches, to nowhere."""
    ranges = setting.ranges(windows)
    events = (
        stage.read(TOPIC, SPARK_BATCH, setting.shortly_before(max(ranges)))
        .select(F.from_json(F.col("value").cast("string"), FIELDS).alias("event"))
        .select("event.device", "event.temp", F.expr("timestamp_millis(event.ts)").alias("at"))
        .withWatermark("at", "1 second")
    )
    frame = reduce(DataFrame.union, [_window(events, seconds) for seconds in ranges])
    until = setting.full_from + SPARK_BATCHES * SPARK_BATCH
    return batches(stage.to_nowhere(frame, "window"), TOPIC, until, setting.most_seconds)


def _window(events: DataFrame, seconds: int) -> DataFrame:
    window = F.window("at", f"{seconds} seconds", "1 second")
    return events.groupBy("device", window).agg(F.max("temp").alias("hottest"))


def _five_of_spark(stage: Bench, setting: Setting, progress: Progress) -> tuple[float, bool]:
    """Its rate with five windows; where no batch ended in time, what it stayed below, and False."""
    progress(f"Spark window(), 5 windows: {setting.most_seconds:.0f} s at most")
    done = _spark_batches(stage, setting, 5)
    measured = rate(done, setting.full_from)
    bound = (1 + len(done)) * SPARK_BATCH / setting.most_seconds
    progress(f"Spark window(), 5 windows: {measured or bound:,.0f}{'' if measured else ' at most'}")
    return measured or bound, measured is not None


def _measured(done: Sequence[Batch], setting: Setting) -> float:
    measured = rate(done, setting.full_from)
    if measured is None:
        raise RuntimeError("No batch of full windows ended in the time allowed.")
    return measured


def _section(setting: Setting, rounds: Rounds, five: float, five_finished: bool) -> Section:
    rates = {name: rounds.median(name) for name in rounds.values}
    bare, more = rates[BARE], rates[BARE_OF_A_MILLION]
    one, twenty, twenty_more = rates[ONE], rates[TWENTY], rates[TWENTY_OF_A_MILLION]
    own = rates[SPARK_ONE]
    longest = format_duration(1000 * max(setting.ranges(20)))
    shortest = format_duration(1000 * setting.shortest)
    at_most = "" if five_finished else " (at most: no batch of full windows ended in time)"
    rows: list[list[Cell]] = [[name, rates[name], rates[name] / bare, rounds.spread(name)] for name in rates]
    rows.append([f"{SPARK_FIVE}{at_most}", five, five / bare, None])
    return Section(
        [
            f"Twenty windows ({shortest} to {longest} every 1 s, the greatest value of each device), results "
            f"to Kafka, run at {twenty / bare:.2f} of the rate at which Spark merely reads the topic in "
            f"batches of 500,000, and at {twenty_more / more:.2f} of it in batches of 1,000,000.",
            f"One such window runs {one / own:.0f} times as fast as Spark's own `window()`, five "
            f"{'' if five_finished else 'at least '}{twenty / five:,.0f} times as fast (ours with twenty).",
        ],
        [
            Table(
                "Throughput",
                ["path", "events/s", "of the bare read (500,000)", "rounds"],
                rows,
                f"Event time runs {setting.stream.seconds:,} s, of which the last "
                f"{setting.stream.phases[-1].seconds} s, with full windows, are measured.",
            )
        ],
        [
            Chart(
                "Events per second",
                "",
                "events/s",
                ["bare read", "Millrace, 20", "Millrace, 1", "Spark, 1", "Spark, 5"],
                {"batches of 500,000": [bare, twenty, one, own, five]},
                log_y=True,
                kind="bar",
            )
        ],
        [
            Figure(f"{TWENTY}, against the bare read", twenty, "events/s", bare, 0.6),
            Figure(f"{TWENTY_OF_A_MILLION}, against the bare read", twenty_more, "events/s", more, 0.8),
            Figure("1 window, against Spark window()", one, "events/s", own, 8),
            Figure("20 windows, against Spark window() with 5", twenty, "events/s", five, 100),
        ],
    )
