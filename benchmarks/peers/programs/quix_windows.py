"""Quix Streams: one hopping window for each range, on messages keyed by device."""

import os

from quixstreams import Application
from quixstreams.dataframe.windows import Max

RANGES = [int(seconds) for seconds in os.environ["RANGES"].split()]

app = Application(
    broker_address=os.environ["SERVERS"],
    consumer_group=os.environ["RESULTS"],
    auto_offset_reset="earliest",
    state_dir=os.environ["WORK"],
)
events = app.topic(
    os.environ["TOPIC"],
    value_deserializer="json",
    timestamp_extractor=lambda value, headers, timestamp, kind: value["ts"],
)
results = app.topic(os.environ["RESULTS"], value_serializer="json")

stream = app.dataframe(events)
for seconds in RANGES:
    hottest = (
        stream.hopping_window(seconds * 1000, 1000, grace_ms=1000, name=f"hottest-{seconds}")
        .agg(max=Max("temp"))
        .final(closing_strategy="partition")
    )
    hottest.apply(
        lambda value, key, timestamp, headers, seconds=seconds: {
            "range": seconds,
            "device": key.decode() if isinstance(key, bytes) else key,
            "end": value["end"] // 1000,
            "max": value["max"],
        },
        metadata=True,
    ).to_topic(results)
app.run()
