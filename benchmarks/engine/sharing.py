"""A hundred queries of many users against one, and a thousand on one source."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import msgspec
from kafka import KafkaProducer
from kafka.admin import NewTopic

from benchmarks.engine import feed, in_process, workloads
from benchmarks.engine.bench import (
    Bench,
    Millrace,
    Progress,
    Rounds,
    alternate,
    batches,
    bench,
    known_statistics,
    newest_batch,
    planned,
    rate,
    wait_until_warm,
)
from benchmarks.engine.events import PARTITIONS, Phase, Stream
from benchmarks.engine.kafka import end_offset, fill, read
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from optimizer.incremental import adapt
from optimizer.plan import Plan
from optimizer.queries import Query, QuerySpec, WindowSpec
from streaming import progress as task_progress
from streaming.kafka_log import LogReader
from streaming.lanes import Timeline
from streaming.topics import create_topics

TOPIC, LIVE = "events", "live"
ONE_QUERY, HUNDRED_QUERIES = "1 query", "100 queries"
LIVE_RATE = 50_000
PER_BATCH = 500_000
ONE = QuerySpec.single("one", "max", "temp", (WindowSpec("5m", "1s"),), ("device",)).queries()
MOST_SECONDS = 300.0
PROFILED_SECONDS = 125  # of event time with full windows: five batches


@dataclass(frozen=True)
class Setting:
    stream: Stream
    rounds: int
    many: int
    live_seconds: float  # before one query more is asked for


@dataclass(frozen=True)
class Live:
    """Seconds."""

    planning: float
    adopting: float
    behind: float


FULL = Setting(Stream([Phase(workloads.LONGEST_SECONDS, 4_000), Phase(600, 20_000)]), 5, 1_000, 30.0)
QUICK = Setting(Stream([Phase(120, 4_000), Phase(100, 20_000)]), 1, 300, 5.0)


@dataclass(frozen=True)
class Measured:
    setting: Setting
    rounds: Rounds
    many: float  # events/s
    live: Live

    @property
    def one(self) -> float:
        return self.rounds.median(ONE_QUERY)

    @property
    def hundred(self) -> float:
        return self.rounds.median(HUNDRED_QUERIES)


def run(quick: bool, progress: Progress) -> Section:
    measured = _measured(QUICK if quick else FULL, progress)
    return Section(
        _sentences(measured), [_rates(measured), _profiles(measured.setting)], (), _figures(measured)
    )


def _measured(setting: Setting, progress: Progress) -> Measured:
    with bench("sharing") as stage:
        progress(f"filling a topic with {setting.stream.events:,} events")
        fill(stage.bootstrap_servers, TOPIC, setting.stream)
        runs: dict[str, Callable[[], float]] = {
            ONE_QUERY: partial(_rate, stage, setting, ONE),
            HUNDRED_QUERIES: partial(_rate, stage, setting, workloads.queries(100)),
        }
        rounds = alternate(runs, setting.rounds, progress)
        many = _rate(stage, setting, workloads.queries(setting.many))
        progress(f"{setting.many:,} queries: {many:,.0f}")
        live = _live(stage, setting)
        progress(
            f"one more than {setting.many - 1:,} at {LIVE_RATE:,} events/s: {live.planning:.1f} s to plan, "
            f"{live.adopting:.1f} s to adopt; {live.behind:.1f} s behind"
        )
    return Measured(setting, rounds, many, live)


def _sentences(measured: Measured) -> list[str]:
    many, live = measured.setting.many, measured.live
    return [
        f"A hundred queries of 20 users (seven ranges, five slides, five aggregates, two group-bys, "
        f"three filters) run at {measured.hundred / measured.one:.2f} of the rate of one, in {_trees(100)} "
        "trees.",
        f"{many:,} queries on one source keep up with {measured.many:,.0f} events/s. On a live stream of "
        f"{LIVE_RATE:,} events/s they are {live.behind:.1f} s behind what is sent, and one query more "
        f"runs after {live.planning + live.adopting:.1f} s: {live.planning:.1f} s to plan, "
        f"{live.adopting:.1f} s until the job has adopted the plan; saving it is not in that.",
    ]


def _rates(measured: Measured) -> Table:
    many, rounds = measured.setting.many, measured.rounds
    return Table(
        "Sharing",
        ["queries", "trees", "events/s", "rounds"],
        [
            [1, 1, measured.one, rounds.spread(ONE_QUERY)],
            [100, _trees(100), measured.hundred, rounds.spread(HUNDRED_QUERIES)],
            [many, _trees(many), measured.many, None],
        ],
        "The one query is the greatest temperature of each device over 5 minutes, every second.",
    )


def _trees(count: int) -> int:
    return len(planned(workloads.queries(count)).trees)


def _profiles(setting: Setting) -> Table:
    return Table(
        f"What a batch of {PER_BATCH:,} events takes",
        ["queries", "map task, s", "shards, s", "partials", "results"],
        [_profile(len(queries), queries, setting) for queries in (ONE, workloads.queries(100))],
        "Core seconds in one process, neither Spark nor Kafka between: medians of the batches. The "
        "hundred answer about as often as there are events, which no plan can share.",
    )


def _figures(measured: Measured) -> list[Figure]:
    many, live = f"{measured.setting.many:,} queries", measured.live
    return [
        Figure("100 queries, against 1", measured.hundred, "events/s", measured.one, 0.6),
        Figure(f"{many} on one source", measured.many, "events/s", target=50_000),
        Figure(
            f"{many} on {LIVE_RATE:,} events/s, behind", live.behind, "s", target=5.0, lower_is_better=True
        ),
        Figure(
            f"a new plan of {many}, made and adopted",
            live.planning + live.adopting,
            "s",
            target=5.0,
            lower_is_better=True,
        ),
    ]


def _rate(stage: Bench, setting: Setting, queries: Sequence[Query]) -> float:
    started = stage.millrace(stage.source(TOPIC), planned(queries), PER_BATCH)
    done = batches(started.query, TOPIC, setting.stream.events, MOST_SECONDS)
    measured = rate(done, setting.stream.phases[0].events)
    if measured is None:
        raise RuntimeError(f"{len(queries)} queries did not get to full windows in {MOST_SECONDS:.0f} s.")
    return measured


def _profile(count: int, queries: Sequence[Query], setting: Setting) -> list[Any]:
    lead_in, full = setting.stream.phases
    stream = Stream([lead_in, Phase(min(full.seconds, PROFILED_SECONDS), full.per_second)])
    took = in_process.run(planned(queries), in_process.Backlog.of(stream, lead_in.events, PER_BATCH))
    of_map, of_shards, partials, results = (
        median(getattr(one, name) for one in took)
        for name in ("map_seconds", "shard_seconds", "partials", "results")
    )
    return [count, of_map, of_shards, partials, results]


def _live(stage: Bench, setting: Setting) -> Live:
    """All queries but one on a live stream, and then one more: is it kept up with, how long until adopted?"""
    queries = workloads.queries(setting.many)
    running = planned(queries[:-1])
    create_topics(stage.bootstrap_servers, [NewTopic(LIVE, PARTITIONS, 1)])
    with feed.running(stage.bootstrap_servers, LIVE, LIVE_RATE, MOST_SECONDS):
        started = stage.millrace(stage.source(LIVE), running, PER_BATCH)
        wait_until_warm(started.query)
        time.sleep(setting.live_seconds)
        began = time.time()
        plan = adapt(running, queries, known_statistics()).settled()
        planning = time.time() - began
        before = end_offset(stage.bootstrap_servers, started.topics.progress(started.source.stream))
        sent = time.time()
        _publish(stage, started, plan)
        adopted = _adopted_at(stage, started, plan.version, before)
        behind = _behind(stage, started)
        started.query.stop()
    return Live(planning, adopted - sent, behind / LIVE_RATE)


def _behind(stage: Bench, started: Millrace) -> int:
    """Events that have been sent and not been read by a batch that is done."""
    reader = LogReader(stage.bootstrap_servers, LIVE)
    sent = sum(reader.ends().values())
    reader.close()
    newest = newest_batch(started.query, LIVE)
    return sent - newest.first - newest.events


def _publish(stage: Bench, started: Millrace, plan: Plan) -> None:
    producer = KafkaProducer(bootstrap_servers=stage.bootstrap_servers)
    message = {"source": started.source.to_json(), "plan": plan.to_json()}
    producer.send(started.topics.plans, key=started.source.id.encode(), value=msgspec.json.encode(message))
    producer.close()


def _adopted_at(stage: Bench, started: Millrace, version: int, place: int) -> float:
    """When the first progress record of the new plan was readable, in seconds since the epoch."""
    topic = started.topics.progress(started.source.stream)
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline:
        for message in read(stage.bootstrap_servers, topic, place):
            place += 1
            told = msgspec.msgpack.decode(message.value, type=task_progress.Progress)
            if msgspec.msgpack.decode(told.timeline, type=Timeline).version >= version:
                return message.appended / 1000
        time.sleep(0.1)
    raise RuntimeError("The new plan was not adopted in time.")
