"""The job as a process: time to its first result, on a warm machine and after SIGKILL with much state."""

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec
from django.conf import settings
from kafka import KafkaProducer

from benchmarks.engine.bench import LATENESS_MS, Bench, Progress, bench, family, own_topics, planned
from benchmarks.engine.events import PARTITIONS, Phase, Stream, json_messages
from benchmarks.engine.kafka import end_offset, fill, read
from benchmarks.engine.memory import family as processes
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from optimizer.plan import Plan
from optimizer.queries import QuerySpec, WindowSpec
from streaming.java import QUICK_START
from streaming.sources import SourceSpec
from streaming.tether import tethered
from streaming.topics import Topics, create_topics

RANGES = [60 * (number + 1) for number in range(20)]
MOST_SECONDS = 900.0


@dataclass(frozen=True)
class Setting:
    starts: int
    devices: int
    minutes: int  # of event time, each a slice of every device
    filters: int  # each makes a lane of its own of the same events

    @property
    def stream(self) -> Stream:
        return Stream([Phase(60 * self.minutes, self.devices // 60 + 1)], devices=self.devices)


FULL = Setting(3, 200_000, 26, 10)
QUICK = Setting(1, 20_000, 6, 4)
SMALL = Stream([Phase(100, 2_000)])


@dataclass
class Job:
    """`runjob` as `up` starts it, on topics of its own."""

    stage: Bench
    source: SourceSpec
    plan: Plan
    topics: Topics = field(default_factory=lambda: Topics(f"bench-{uuid.uuid4().hex[:8]}"))
    process: subprocess.Popen[bytes] | None = None

    @property
    def checkpoints(self) -> Path:
        return Path(settings.VAR_DIR) / "checkpoints" / self.topics.prefix

    def publish(self) -> None:
        create_topics(self.stage.bootstrap_servers, own_topics(self.topics, self.source))
        message = msgspec.json.encode({"source": self.source.to_json(), "plan": self.plan.to_json()})
        producer = KafkaProducer(bootstrap_servers=self.stage.bootstrap_servers)
        producer.send(self.topics.plans, key=self.source.id.encode(), value=message)
        producer.close()

    def start(self) -> None:
        environment = os.environ | {
            "MILLRACE_KAFKA": self.stage.bootstrap_servers,
            "MILLRACE_TOPIC_PREFIX": self.topics.prefix,
            "MILLRACE_SPARK_JAVA_OPTIONS": QUICK_START,
        }
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "runjob"]
        self.process = subprocess.Popen(tethered(command), env=environment)

    def end(self, number: signal.Signals) -> None:
        """Signal the job; with SIGKILL the rest of it, such as its JVM, is left to notice by itself."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait()

    def results(self) -> int:
        return end_offset(self.stage.bootstrap_servers, self.topics.results)

    def seconds_to_result(self, since: float, before: int) -> float:
        """From `since` until a result beyond the first `before` ones was readable."""
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            for message in read(self.stage.bootstrap_servers, self.topics.results, before):
                return message.appended / 1000 - since
            if self.process is None or self.process.poll() is not None:
                raise RuntimeError("The job ended by itself.")
            time.sleep(0.1)
        raise RuntimeError(f"No result within {MOST_SECONDS:.0f} s.")

    def wait_until(self, instant: int) -> None:
        """Until every partition has been read up to an event time."""
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            count = end_offset(self.stage.bootstrap_servers, self.topics.meters)
            for message in read(self.stage.bootstrap_servers, self.topics.meters, count - 1) if count else ():
                told = msgspec.json.decode(message.value)
                if (told["watermark"] or 0) >= instant - LATENESS_MS:
                    return
            time.sleep(0.5)
        raise RuntimeError(f"The events were not read within {MOST_SECONDS:.0f} s.")


@contextmanager
def _job(stage: Bench, topic: str, plan: Plan) -> Iterator[Job]:
    job = Job(stage, stage.source(topic), plan)
    job.publish()
    try:
        yield job
    finally:
        job.end(signal.SIGTERM)
        shutil.rmtree(job.checkpoints, ignore_errors=True)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with bench("start") as stage:
        stage.spark.stop()  # the job brings its own, and the machine is to be its own
        fill(stage.bootstrap_servers, "small", SMALL)
        starts = []
        for number in range(setting.starts):
            starts.append(_start(stage))
            progress(f"start {number + 1} of {setting.starts}: first result after {starts[-1]:.1f} s")
        after_kill, state = _after_kill(stage, setting, progress)
        progress(f"after SIGKILL with {state / 1e9:.2f} GB of state: {after_kill:.1f} s")
    return Section(
        [
            f"The job's first result comes {median(starts):.1f} s after its start on a warm machine, and "
            f"{after_kill:.1f} s after SIGKILL and a restart with {state / 1e9:.2f} GB of state.",
        ],
        [
            Table(
                "Start",
                ["start", "s to the first result"],
                [
                    *([f"warm machine, {number + 1}", seconds] for number, seconds in enumerate(starts)),
                    [f"after SIGKILL, {state / 1e9:.2f} GB of state", after_kill],
                ],
                "State is the size of the job's checkpoint on disk. The job has the Java options with which "
                "`up` starts it (`QUICK_START`); where other sections run Spark, it has "
                "`-XX:+UseParallelGC`, as a job that is started alone.",
            )
        ],
        (),
        [
            Figure("first result after a start", median(starts), "s", target=15.0, lower_is_better=True),
            Figure("first result after SIGKILL", after_kill, "s", target=30.0, lower_is_better=True),
        ],
    )


def _start(stage: Bench) -> float:
    with _job(stage, "small", planned(family(RANGES))) as job:
        began = time.time()
        job.start()
        return job.seconds_to_result(began, 0)


def _after_kill(stage: Bench, setting: Setting, progress: Progress) -> tuple[float, int]:
    """Seconds from SIGKILL to the first new result, and the bytes of state that had to be taken up again."""
    windows = (WindowSpec("30m", "1m"),)
    queries = [
        query
        for number in range(setting.filters)
        for query in QuerySpec.single(
            f"q{number}", "max", "temp", windows, ("device",), f"temp > {-number}"
        ).queries()
    ]
    fill(stage.bootstrap_servers, "large", Stream([Phase(1, 1_000)], devices=1_000))
    with _job(stage, "large", planned(queries)) as job:
        job.start()
        job.seconds_to_result(0.0, 0)  # a job that starts later reads no more than the newest of the past
        fill(stage.bootstrap_servers, "large", setting.stream)
        progress(f"building state of {setting.stream.events:,} events in {setting.filters} lanes")
        job.wait_until(setting.stream.end - 5_000)
        state = _size(job.checkpoints)
        assert job.process is not None
        left = processes(job.process.pid)
        killed = time.time()
        job.end(signal.SIGKILL)
        _send_one_more(stage, setting)
        before = _settled(job, left)
        job.start()
        return job.seconds_to_result(killed, before), state


def _settled(job: Job, left: list[int]) -> int:
    """How many results there are once the killed job's JVM, which may finish a batch, is gone."""
    while any(_is_alive(pid) for pid in left):
        time.sleep(0.05)
    return job.results()


def _is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return " Z " not in stat.read_text()
    except OSError:
        return False


def _send_one_more(stage: Bench, setting: Setting) -> None:
    """A few events just after all others: their windows are what the job answers first."""
    stream = Stream([Phase(60 * setting.minutes + 2, 4)], devices=setting.devices)
    table = stream.table(stream.events - 8, stream.events)
    producer = KafkaProducer(bootstrap_servers=stage.bootstrap_servers)
    for number, message in enumerate(json_messages(table)):
        producer.send("large", message, partition=number % PARTITIONS)
    producer.close()


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
