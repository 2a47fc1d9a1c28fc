"""An hour against seven days at the same slide: the time of a batch and the state that it writes."""

from dataclasses import dataclass
from statistics import median

from benchmarks.engine.bench import Batch, Bench, Progress, batches, bench, family, planned
from benchmarks.engine.events import Phase, Stream
from benchmarks.engine.kafka import fill
from benchmarks.figures import Figure
from benchmarks.kernels.section import Section
from benchmarks.report import Table
from optimizer.durations import format_duration

TOPIC = "events"
PER_BATCH = 200_000
HOUR = 3_600


@dataclass(frozen=True)
class Setting:
    longest: int  # seconds
    stream: Stream
    rounds: int


def _stream(seconds: int, devices: int, measured: int) -> Stream:
    """Every device speaks once a minute until the longest window is full, then at a higher rate."""
    return Stream([Phase(seconds, max(1, devices // 60)), Phase(measured, 500)], devices=devices)


FULL = Setting(7 * 24 * HOUR, _stream(7 * 24 * HOUR, 960, 4_000), 3)
QUICK = Setting(24 * HOUR, _stream(24 * HOUR, 240, 2_000), 1)


def run(quick: bool, progress: Progress) -> Section:
    setting = QUICK if quick else FULL
    ranges = (HOUR, setting.longest)
    seconds: dict[int, list[float]] = {length: [] for length in ranges}
    written: dict[int, list[float]] = {length: [] for length in ranges}
    with bench("window-length") as stage:
        progress(f"filling a topic with {setting.stream.events:,} events")
        fill(stage.bootstrap_servers, TOPIC, setting.stream)
        for number in range(setting.rounds):
            for length in ranges:
                done, bytes_written = _measured(stage, setting, length)
                seconds[length].append(median(batch.seconds for batch in done))
                written[length].append(median(bytes_written))
                progress(
                    f"round {number + 1} of {setting.rounds}: {_name(length)}: {seconds[length][-1]:.2f} s "
                    f"and {written[length][-1]:,.0f} bytes a batch"
                )
    return _section(setting, seconds, written)


def _measured(stage: Bench, setting: Setting, length: int) -> tuple[list[Batch], list[int]]:
    """The batches in which the longest window, too, would be full, and the bytes of state each wrote."""
    plan = planned(family([length], "1m"))
    started = stage.millrace(stage.source(TOPIC), plan, PER_BATCH)
    done = batches(started.query, TOPIC, setting.stream.events)
    done = [batch for batch in done if batch.first >= setting.stream.phases[0].events]
    written = {batch.number: 0 for batch in done}
    for meter in stage.meters(started):
        if meter["batch"] in written:
            written[meter["batch"]] += meter["written_bytes"]
    return done, list(written.values())


def _name(seconds: int) -> str:
    return format_duration(1000 * seconds)


def _section(setting: Setting, seconds: dict[int, list[float]], written: dict[int, list[float]]) -> Section:
    short, long = (median(values) for values in seconds.values())
    few, many = (median(values) for values in written.values())
    name = _name(setting.longest)
    return Section(
        [
            f"A window of {name} every minute takes {long / short:.2f} times the batch time of one of 1h, "
            f"and writes {many / few:.2f} times its state: {many / 1e6:.1f} MB a batch."
        ],
        [
            Table(
                "Window length",
                ["range, every 1 min", "s a batch", "rounds", "bytes of state written a batch"],
                [
                    [
                        _name(length),
                        median(seconds[length]),
                        f"{min(seconds[length]):.2f} to {max(seconds[length]):.2f}",
                        round(median(written[length])),
                    ]
                    for length in seconds
                ],
                "Measured after the longer window has filled, on the same events.",
            )
        ],
        (),
        [
            Figure(f"batch time, {name} against 1h", long, "s", short, 1.3, lower_is_better=True),
            Figure(
                f"state written a batch, {name} against 1h", many, "bytes", few, 1.05, lower_is_better=True
            ),
        ],
    )
