"""A thousand open dashboards of six panels, one update a second: on one web process, and on two."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass

from django.conf import settings

from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from benchmarks.web.stage import Progress, Stage, cpu_seconds, percentile, resident, stage

PANELS = 6
BOARDS = 20
GROUPS = 8
KEPT_SECONDS = 900  # of results that a web process has for whoever opens a dashboard
TARGET_MS = 500.0


@dataclass(frozen=True)
class Setting:
    viewers: int
    seconds: float


FULL = Setting(1_000, 60.0)
QUICK = Setting(200, 10.0)


@dataclass(frozen=True)
class Seen:
    """What all viewers of a run saw, and what it took."""

    processes: int
    viewers: int
    slow: int
    opened_seconds: float  # from the first viewer's request to the last one's first picture
    half: float  # ms
    most: float  # ms, of 99 in 100 results
    lost: int
    gaps: int
    frames_per_second: float
    bytes_per_second: float
    cores: float
    memory: int
    memory_before: int


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    with stage() as made:
        made.seed(boards=BOARDS, panels=PANELS, groups=GROUPS)
        made.feed(groups=GROUPS, slide=1, past=KEPT_SECONDS)
        webs = [made.web()]
        alone = watched(made, webs, setting, progress)
        slow = watched(made, webs, setting, progress, slow=max(1, setting.viewers // 20))
        webs.append(made.web())
        both = watched(made, webs, setting, progress)
    return _section(setting, alone, slow, both)


def watched(
    made: Stage,
    webs: list[tuple[int, subprocess.Popen[bytes]]],
    setting: Setting,
    progress: Progress,
    *,
    slow: int = 0,
) -> Seen:
    pids = [process.pid for _, process in webs]
    before = sum(map(resident, pids))
    crowds = [
        _crowd(made, port, setting, setting.viewers // len(webs), slow // len(webs)) for port, _ in webs
    ]
    time.sleep(1.0)
    began, used = time.monotonic(), sum(map(cpu_seconds, pids))
    told = [json.loads(crowd.communicate()[0]) for crowd in crowds]
    cores = (sum(map(cpu_seconds, pids)) - used) / (time.monotonic() - began)
    histogram = [sum(counts) for counts in zip(*(one["histogram"] for one in told), strict=True)]
    seen = Seen(
        processes=len(webs),
        viewers=setting.viewers,
        slow=slow,
        opened_seconds=max(one["opened_seconds"] for one in told),
        half=percentile(histogram, 0.5),
        most=percentile(histogram, 0.99),
        lost=sum(one["lost"] + one["missing"] for one in told),
        gaps=sum(one["gaps"] for one in told),
        frames_per_second=sum(one["frames"] for one in told) / setting.seconds,
        bytes_per_second=sum(one["bytes"] for one in told) / setting.seconds,
        cores=cores,
        memory=sum(map(resident, pids)),
        memory_before=before,
    )
    progress(
        f"{len(webs)} process(es), {setting.viewers} viewers ({slow} slow), open after "
        f"{seen.opened_seconds:.0f} s: p50 {seen.half:.0f} ms, "
        f"p99 {seen.most:.0f} ms, {seen.lost} lost, {seen.cores:.2f} cores, {seen.memory / 1e6:.0f} MB"
    )
    return seen


def _crowd(made: Stage, port: int, setting: Setting, count: int, slow: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.web.viewers", "--port", str(port)]
    command += ["--session", made.made["session"], "--boards", json.dumps(made.made["boards"])]
    command += ["--count", str(count), "--slow", str(slow), "--seconds", str(setting.seconds)]
    return subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True)


def _section(setting: Setting, alone: Seen, slow: Seen, both: Seen) -> Section:
    headings = ["", "all are open after, s", "p50, ms", "p99, ms", "sockets lost", "gaps"]
    headings += ["frames/s", "MB/s", "cores", "memory, MB"]
    rows = [
        [
            name,
            seen.opened_seconds,
            seen.half,
            seen.most,
            seen.lost,
            seen.gaps,
            seen.frames_per_second,
            seen.bytes_per_second / 1e6,
            seen.cores,
            seen.memory / 1e6,
        ]
        for name, seen in (
            ("one process", alone),
            (f"{slow.slow} of them slow", slow),
            ("two processes", both),
        )
    ]
    note = (
        "All viewers come at once, and each dashboard has a quarter of an hour to show. "
        "From the time a result was handed to Kafka to its arrival in a viewer, so that the viewers’ own "
        "share of the cores is in it. A slow viewer reads nothing at all."
    )
    return Section(
        [
            f"One web process holds {setting.viewers:,} open dashboards of {PANELS} panels at one update a "
            f"second: half of all results are there after {alone.half:.0f} ms, 99 in 100 after "
            f"{alone.most:.0f} ms; {alone.lost} sockets were lost.",
            f"With two processes for the same viewers it is {both.most:.0f} ms; "
            f"with {slow.slow} viewers that read nothing {slow.most:.0f} ms for the others.",
        ],
        [Table("Open dashboards", headings, rows, note)],
        [],
        [
            Figure("p99, result on Kafka to viewer", alone.most, "ms", None, TARGET_MS, lower_is_better=True),
            Figure("sockets lost", alone.lost, "", None, 0, lower_is_better=True),
            Figure("p99 beside slow viewers", slow.most, "ms", alone.most, 1.5, lower_is_better=True),
            Figure("p99 with a second process", both.most, "ms", alone.most),
            Figure(
                "memory of a viewer",
                (alone.memory - alone.memory_before) / setting.viewers / 1e3,
                "kB",
            ),
        ],
    )
