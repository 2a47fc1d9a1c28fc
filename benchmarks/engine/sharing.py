"""A hundred queries of many users against one, and a thousand on one source."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
from kafka import KafkaProducer

from benchmarks.engine import workloads
from benchmarks.engine.bench import (
    Bench,
    Millrace,
    Progress,
    alternate,
    batches,
    bench,
    known_statistics,
    planned,
    rate,
    wait_until_warm,
)
from benchmarks.engine.events import Phase, Stream
from benchmarks.engine.kafka import fill, read
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from optimizer.incremental import adapt
from optimizer.plan import Plan
from optimizer.queries import Query, QuerySpec, WindowSpec
from streaming import progress as task_progress
from streaming.lanes import Timeline

TOPIC = "events"
PER_BATCH = 500_000
ONE = QuerySpec("one", "max", "temp", (WindowSpec("5m", "1s"),), ("device",)).queries()
MOST_SECONDS = 300.0


@dataclass(frozen=True)
class Setting:
    stream: Stream
    rounds: int
    many: int


FULL = Setting(Stream([Phase(workloads.LONGEST_SECONDS, 4_000), Phase(200, 20_000)]), 3, 1_000)
QUICK = Setting(Stream([Phase(120, 4_000), Phase(100, 20_000)]), 1, 300)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with bench("sharing") as stage:
        progress(f"filling a topic with {setting.stream.events:,} events")
        fill(stage.bootstrap_servers, TOPIC, setting.stream)
        runs: dict[str, Callable[[], float]] = {
            "1 query": partial(_rate, stage, setting, ONE),
            "100 queries": partial(_rate, stage, setting, workloads.queries(100)),
        }
        rounds = alternate(runs, setting.rounds, progress)
        many = _rate(stage, setting, workloads.queries(setting.many))
        progress(f"{setting.many:,} queries: {many:,.0f}")
        planning, adopting = _adoption(stage, setting)
        progress(
            f"one more than {setting.many - 1:,}: planned in {planning:.1f} s, adopted in {adopting:.1f} s"
        )
    one, hundred = rounds.median("1 query"), rounds.median("100 queries")
    trees = {count: len(planned(workloads.queries(count)).trees) for count in (100, setting.many)}
    return Section(
        [
            f"A hundred queries of 20 users (seven ranges, five slides, five aggregates, two group-bys, "
            f"three filters) run at {hundred / one:.2f} of the rate of one, in {trees[100]} trees.",
            f"{setting.many:,} queries on one source keep up with {many:,.0f} events/s, and one query more "
            f"is answered from {planning + adopting:.1f} s after it was saved: {planning:.1f} s to plan, "
            f"{adopting:.1f} s until the job has adopted the plan.",
        ],
        [
            Table(
                "Sharing",
                ["queries", "trees", "events/s", "rounds"],
                [
                    [1, 1, one, rounds.spread("1 query")],
                    [100, trees[100], hundred, rounds.spread("100 queries")],
                    [setting.many, trees[setting.many], many, None],
                ],
                "The one query is the greatest temperature of each device over 5 minutes, every second.",
            )
        ],
        (),
        [
            Figure("100 queries, against 1", hundred, "events/s", one, 0.6),
            Figure(f"{setting.many:,} queries on one source", many, "events/s", target=50_000),
            Figure(
                f"a new plan of {setting.many:,} queries, made and adopted",
                planning + adopting,
                "s",
                target=5.0,
                lower_is_better=True,
            ),
        ],
    )


def _rate(stage: Bench, setting: Setting, queries: Sequence[Query]) -> float:
    started = stage.millrace(stage.source(TOPIC), planned(queries), PER_BATCH)
    done = batches(started.query, TOPIC, setting.stream.events, MOST_SECONDS)
    measured = rate(done, setting.stream.phases[0].events)
    if measured is None:
        raise RuntimeError(f"{len(queries)} queries did not get to full windows in {MOST_SECONDS:.0f} s.")
    return measured


def _adoption(stage: Bench, setting: Setting) -> tuple[float, float]:
    """Seconds to plan one query more, and from then until a batch of the job has adopted the plan."""
    queries = workloads.queries(setting.many)
    running = planned(queries[:-1])
    started = stage.millrace(stage.source(TOPIC), running, PER_BATCH)
    wait_until_warm(started.query)
    began = time.time()
    plan = adapt(running, queries, known_statistics()).settled()
    planning = time.time() - began
    sent = time.time()
    _publish(stage, started, plan)
    adopted = _adopted_at(stage, started, plan.version)
    started.query.stop()
    return planning, adopted - sent


def _publish(stage: Bench, started: Millrace, plan: Plan) -> None:
    producer = KafkaProducer(bootstrap_servers=stage.bootstrap_servers)
    message = {"source": started.source.to_json(), "plan": plan.to_json()}
    producer.send(started.topics.plans, key=started.source.id.encode(), value=msgspec.json.encode(message))
    producer.close()


def _adopted_at(stage: Bench, started: Millrace, version: int) -> float:
    """When the first progress record of the new plan was readable, in seconds since the epoch."""
    topic = started.topics.progress(started.source.stream)
    deadline = time.monotonic() + MOST_SECONDS
    while time.monotonic() < deadline:
        for message in read(stage.bootstrap_servers, topic):
            told = msgspec.msgpack.decode(message.value, type=task_progress.Progress)
            if msgspec.msgpack.decode(told.timeline, type=Timeline).version >= version:
                return message.appended / 1000
        time.sleep(0.1)
    raise RuntimeError("The new plan was not adopted in time.")
