"""Pathway: one sliding window for each range, each answered exactly once."""

import os

import pathway as pw

RANGES = [int(seconds) for seconds in os.environ["RANGES"].split()]
KAFKA = {"bootstrap.servers": os.environ["SERVERS"], "auto.offset.reset": "earliest"}


class Event(pw.Schema):
    device: str
    ts: int
    temp: float


events = pw.io.kafka.read(
    {**KAFKA, "group.id": os.environ["RESULTS"]},
    os.environ["TOPIC"],
    schema=Event,
    format="json",
    autocommit_duration_ms=500,
    max_backlog_size=20_000,
)
for seconds in RANGES:
    hottest = events.windowby(
        pw.this.ts,
        window=pw.temporal.sliding(hop=1000, duration=seconds * 1000, origin=0),
        behavior=pw.temporal.exactly_once_behavior(shift=1000),
        instance=pw.this.device,
    ).reduce(
        range=seconds,
        device=pw.this._pw_instance,
        end=pw.this._pw_window_end // 1000,
        max=pw.reducers.max(pw.this.temp),
    )
    pw.io.kafka.write(hottest, KAFKA, os.environ["RESULTS"], format="json")
pw.run(
    monitoring_level=pw.MonitoringLevel.NONE,
    persistence_config=pw.persistence.Config(
        pw.persistence.Backend.filesystem(os.environ["WORK"]), snapshot_interval_ms=10_000
    ),
)
