"""Bytewax: one sliding window for each range, on one keyed stream."""

import json
import os
from datetime import UTC, datetime, timedelta

from bytewax import operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.operators.windowing import EventClock, SlidingWindower, max_window

SERVERS = [os.environ["SERVERS"]]
RANGES = [int(seconds) for seconds in os.environ["RANGES"].split()]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event(message):
    fields = json.loads(message.value)
    at = EPOCH + timedelta(milliseconds=fields["ts"])
    return fields["device"], (fields["temp"], at)


def row(seconds):
    def made(item):
        device, (window, (temp, _)) = item
        text = json.dumps({"range": seconds, "device": device, "end": window + seconds, "max": temp})
        return KafkaSinkMessage(None, text.encode())

    return made


# Its clock goes on with the machine's, by which a backlog would be late: in a backlog it stands still.
if os.environ["LIVE"] == "yes":
    clock = EventClock(lambda value: value[1], timedelta(seconds=1))
else:
    clock = EventClock(
        lambda value: value[1], timedelta(seconds=1), now_getter=lambda: EPOCH, to_system_utc=lambda _: None
    )

flow = Dataflow("windows")
read = op.input("read", flow, KafkaSource(SERVERS, [os.environ["TOPIC"]], batch_size=1000, tail=True))
events = op.map("event", read, event)
rows = []
for seconds in RANGES:
    windower = SlidingWindower(timedelta(seconds=seconds), timedelta(seconds=1), EPOCH)
    hottest = max_window(f"hottest-{seconds}", events, clock, windower, by=lambda value: value[0])
    rows.append(op.map(f"row-{seconds}", hottest.down, row(seconds)))
op.output("write", op.merge("all", *rows), KafkaSink(SERVERS, os.environ["RESULTS"]))
