"""A source as the job sees it: where the messages are and how to read them."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import msgspec

from streaming.security import PLAINTEXT, Security

TimeUnit = Literal["s", "ms", "us", "ns", "iso", "pattern"]
# Decimals by how many places they have: others of a number are doubles.
FieldType = Literal[
    "text",
    "integer",
    "number",
    "boolean",
    "decimal(0)",
    "decimal(1)",
    "decimal(2)",
    "decimal(3)",
    "decimal(4)",
    "decimal(5)",
    "decimal(6)",
    "decimal(7)",
    "decimal(8)",
    "decimal(9)",
    "decimal(10)",
    "decimal(11)",
    "decimal(12)",
    "decimal(13)",
    "decimal(14)",
    "decimal(15)",
    "decimal(16)",
    "decimal(17)",
    "decimal(18)",
]
TIME_UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns", "iso", "pattern")
Isolation = Literal["read_committed", "read_uncommitted"]  # as consumers of Kafka call it
ISOLATIONS: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")
READ_COMMITTED: Isolation = "read_committed"
FUTURE_BOUND_MS = 300_000
LAYOUT = 5  # of the state that the engine keeps of a stream: another layout cannot be read


@dataclass(frozen=True)
class SourceSpec:
    """A Kafka topic with its connection, format, schema, event-time field and allowed lateness."""

    id: str
    bootstrap_servers: str
    topic: str
    format: str = "json"
    schema: tuple[tuple[str, FieldType], ...] = ()
    event_time: str | None = None  # None: the Kafka message's own timestamp
    time_unit: TimeUnit = "ms"
    allowed_lateness: int = 10_000  # ms
    made: str = ""  # tells a source from one of the same id that was deleted before
    time_pattern: str = ""  # how `strptime` reads the event time, where its unit is “pattern”
    time_zone: str = "UTC"  # of event times that are texts and name no zone
    processing_time: bool = False  # an event's time is that of the batch that reads it
    future_bound: int | None = FUTURE_BOUND_MS  # ms that an event may be ahead of the clock; None: any
    past_bound: int | None = None  # ms that an event may be older than its message; None: any
    avro_schema: str = ""  # the writer's, as JSON, where the format is Avro
    registry: str = ""  # address of a schema registry, where Avro messages name their schemas
    security: Security = PLAINTEXT
    rereads: int = 0  # how often people had the topic read again, with nothing else changed
    isolation: Isolation = READ_COMMITTED  # whether messages of open and aborted transactions count

    @property
    def stream(self) -> str:
        """Names the source's state: another topic or another reading of it is another stream.

        How its cluster lets us in is no part of it: a changed password loses nothing.
        """
        identity = {**self.to_json(), "layout": LAYOUT}
        del identity["security"]
        if not self.registry:
            del identity["registry"]  # as it was before there was any
        if not self.rereads:
            del identity["rereads"]  # likewise
        fingerprint = sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()[:12]
        return f"{self.id}-{fingerprint}"

    @property
    def types(self) -> dict[str, FieldType]:
        return dict(self.schema)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "bootstrap_servers": self.bootstrap_servers,
            "topic": self.topic,
            "format": self.format,
            "schema": [list(field) for field in self.schema],
            "event_time": self.event_time,
            "time_unit": self.time_unit,
            "allowed_lateness": self.allowed_lateness,
            "made": self.made,
            "time_pattern": self.time_pattern,
            "time_zone": self.time_zone,
            "processing_time": self.processing_time,
            "future_bound": self.future_bound,
            "past_bound": self.past_bound,
            "avro_schema": self.avro_schema,
            "registry": self.registry,
            "security": self.security.to_json(),
            "rereads": self.rereads,
            "isolation": self.isolation,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "SourceSpec":
        """What `to_json` wrote; settings that came later than the writer have their defaults."""
        schema = tuple((name, kind) for name, kind in value["schema"])
        security = Security.from_json(value.get("security", {}))
        return cls(**{**value, "schema": schema, "security": security})
