"""A source as the job sees it: where the messages are and how to read them."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import msgspec

TimeUnit = Literal["s", "ms", "us", "ns", "iso"]
FieldType = Literal["text", "integer", "number", "boolean"]
TIME_UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns", "iso")


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

    @property
    def stream(self) -> str:
        """Names the source's state: another topic or another reading of it is another stream."""
        fingerprint = sha256(msgspec.json.encode(self.to_json(), order="sorted")).hexdigest()[:12]
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
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "SourceSpec":
        schema = tuple((name, kind) for name, kind in value["schema"])
        return cls(**{**value, "schema": schema})
