"""A topic as its cluster describes it: partitions, sizes, retention, and whether its messages still fit."""

import time
from dataclasses import dataclass, field
from datetime import datetime

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from dashboard.queries.windows_text import spaced
from dashboard.sources.forms import DELIMITED
from dashboard.sources.kafka import Message, TopicReader, admin_of, consumer_of
from dashboard.sources.legible import avro_records
from dashboard.sources.models import Source
from dashboard.sources.presentation import instant
from dashboard.sources.topic_readings import readings, refusals, wrong_values
from dashboard.sources.topic_transactions import Held, held_back
from dashboard.sources.topic_walk import Extent, Walk, extent, read_ranges
from streaming.inference import Inference, InferredField, infer, infer_objects
from streaming.registry import format_options
from streaming.sources import FieldType
from streaming.spec import NUMERIC
from streaming.watermark import IDLE_AFTER_MS

RATE_SPAN_MS = 60_000
DRIFT_SAMPLE = 500
LAST_SECONDS = 3.0
LAST_OFFSETS = 10  # among which the last message is looked for: marks of transactions take some
UNLIMITED = "-1"


@dataclass(frozen=True)
class Partition:
    """One partition; None where the cluster does not say."""

    number: int
    first: int
    end: int
    leader: int | None
    size: int | None  # bytes on the leader's disk
    rate: float  # messages per second of the last minute, by their timestamps
    newest: datetime | None
    is_idle: bool
    held: Held | None  # by an open transaction

    @property
    def messages(self) -> int:
        return self.end - self.first


@dataclass(frozen=True)
class Setting:
    name: str
    words: str


@dataclass(frozen=True)
class Drift:
    """How the newest messages differ from the saved schema."""

    looked_at: int
    new: list[tuple[str, str, str]]  # field, type, example
    changed: list[tuple[str, str, str]]  # field, saved type, what it holds now
    absent: list[str]
    refused: dict[str, int]  # reason → messages
    wrong: dict[str, int] = field(default_factory=dict)  # why a field has no value → messages that count
    are_columns: bool = False  # which messages do not name: a new one is a reason to refuse them

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.absent or self.refused or self.wrong)


@dataclass(frozen=True)
class Overview:
    partitions: list[Partition]
    settings: list[Setting]  # empty: not allowed to look, or the cluster is too old
    sizes_known: bool
    drift: Drift

    @property
    def messages(self) -> int:
        return sum(part.messages for part in self.partitions)

    @property
    def size(self) -> int:
        return sum(part.size or 0 for part in self.partitions)

    @property
    def rate(self) -> float:
        return sum(part.rate for part in self.partitions)


def overview(source: Source) -> Overview:
    with consumer_of(source) as consumer:
        known = extent(consumer, source)
        rates = _rates(consumer, source, known)
        last = _last(consumer, source, known)
        newest = _newest(consumer, source, known)
        with admin_of(source) as admin:  # each is empty where the cluster does not tell it
            leaders, sizes = _leaders(admin, source.topic), _sizes(admin, source.topic)
            settings = _settings(admin, source.topic)
            held = held_back(consumer, admin, source, known.end)
    partitions = [
        _partition(number, known, leaders, sizes, rates, last.get(number), held.get(number))
        for number in sorted(known.end)
    ]
    return Overview(partitions, settings, bool(sizes), drift(source, newest))


def _partition(
    number: int,
    known: Extent,
    leaders: dict[int, int],
    sizes: dict[int, int],
    rates: dict[int, float],
    last: Message | None,
    held: Held | None,
) -> Partition:
    silent = last is None or time.time() * 1000 - last.timestamp > IDLE_AFTER_MS
    return Partition(
        number=number,
        first=known.first[number],
        end=known.end[number],
        leader=leaders.get(number),
        size=sizes.get(number),
        rate=rates[number],
        newest=instant(last.timestamp) if last else None,
        is_idle=silent,
        held=held,
    )


def _rates(consumer: TopicReader, source: Source, known: Extent) -> dict[int, float]:
    since = int(time.time() * 1000) - RATE_SPAN_MS
    parts = {TopicPartition(source.topic, number): since for number in known.end}
    found = consumer.offsets_for_times(parts)
    seconds = RATE_SPAN_MS / 1000
    return {
        part.partition: max(0, known.end[part.partition] - at.offset) / seconds
        if (at := found.get(part))
        else 0
        for part in parts
    }


def _last(consumer: TopicReader, source: Source, known: Extent) -> dict[int, Message]:
    ranges = {
        number: range(max(known.first[number], end - LAST_OFFSETS), end) for number, end in known.end.items()
    }
    found, _ = read_ranges(consumer, source.topic, ranges, time.monotonic() + LAST_SECONDS)
    return {number: messages[-1] for number, messages in found.items() if messages}


def newest_messages_of(consumer: TopicReader, source: Source) -> list[Message]:
    """As many as are looked at for drift, over all partitions."""
    return _newest(consumer, source, extent(consumer, source))


def _newest(consumer: TopicReader, source: Source, known: Extent) -> list[Message]:
    walk = Walk(consumer, source.topic, known.first, known.end, backwards=True, wanted=DRIFT_SAMPLE)
    return [message for message, _ in zip(walk, range(DRIFT_SAMPLE), strict=False)]


def _leaders(admin: KafkaAdminClient, topic: str) -> dict[int, int]:
    try:
        described = admin.describe_topics([topic])[0]
    except KafkaError:
        return {}
    return {part["partition_index"]: part["leader_id"] for part in described["partitions"]}


def _sizes(admin: KafkaAdminClient, topic: str) -> dict[int, int]:
    """Bytes on disk: the largest copy of each partition, as followers may be behind."""
    try:
        brokers = admin.describe_log_dirs([topic])
    except KafkaError:
        return {}
    sizes: dict[int, int] = {}
    for broker in brokers:
        for directory in broker["log_dirs"]:
            for described in directory["topics"]:
                for part in described["partitions"]:
                    number = part["partition_index"]
                    sizes[number] = max(part["partition_size"], sizes.get(number, 0))
    return sizes


def _settings(admin: KafkaAdminClient, topic: str) -> list[Setting]:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    try:
        told = admin.describe_configs([resource], config_filter="all").get("topic", {}).get(topic, {})
    except KafkaError:
        return []
    values = {name: entry["value"] for name, entry in told.items()}
    return [Setting(name, words(values[key])) for key, name, words in _SHOWN if values.get(key) is not None]


def _time(value: str) -> str:
    return "without limit" if value == UNLIMITED else spaced(int(value))


def _bytes(value: str) -> str:
    return "without limit" if value == UNLIMITED else f"{int(value):,} bytes"


def _cleanup(value: str) -> str:
    policies = {"delete": "old messages are deleted", "compact": "the newest message of each key is kept"}
    return "; ".join(policies.get(policy, policy) for policy in value.split(","))


def _stamped(value: str) -> str:
    words = {"CreateTime": "by the producer", "LogAppendTime": "by the broker, on arrival"}
    return words.get(value, value)


_SHOWN = (
    ("cleanup.policy", "Cleanup", _cleanup),
    ("retention.ms", "Kept for", _time),
    ("retention.bytes", "Kept per partition", _bytes),
    ("max.message.bytes", "Largest message", _bytes),
    ("message.timestamp.type", "Timestamps", _stamped),
    ("compression.type", "Compression", str),
    ("min.insync.replicas", "In-sync replicas at least", str),
)


def drift(source: Source, newest: list[Message]) -> Drift:
    """The newest messages against the saved schema."""
    made = readings(source, newest)
    refused = refusals(made)
    are_columns = source.format in DELIMITED
    inference = _inferred(source, newest)
    saved = source.types
    if are_columns and len(inference.fields) != len(saved):  # all messages that were looked into are refused
        return Drift(len(newest), [], [], [], refused, are_columns=True)
    names = list(saved) if are_columns else [field.name for field in inference.fields]
    now = dict(zip(names, inference.fields, strict=True))
    return Drift(
        looked_at=len(newest),
        new=[(name, f.type, f.example) for name, f in now.items() if f.type and name not in saved],
        changed=[
            (name, kind, now[name].type or "nothing that queries can use")
            for name, kind in saved.items()
            if name in now and _has_changed(kind, now[name], are_columns)
        ],
        absent=[name for name in saved if inference.readable and _is_absent(name, now)],
        refused=refused,
        wrong=wrong_values(made),
        are_columns=are_columns,
    )


def _inferred(source: Source, newest: list[Message]) -> Inference:
    values = [message.value for message in newest]
    if source.format != "avro":
        return infer(values, source.format)
    return infer_objects(avro_records(values, format_options(source.spec())), len(values))


def _has_changed(saved: FieldType, now: InferredField, is_column: bool) -> bool:
    """All numbers are one type here, decimals too; a field that is never there has none.

    Columns are written as text: one that is read as text holds just that, whatever it looks like.
    """
    if now.missing >= 1 or (is_column and saved == "text"):
        return False
    return now.type != saved and not {now.type, saved} <= set(NUMERIC)


def _is_absent(name: str, now: dict[str, InferredField]) -> bool:
    """Whether no message has it; a path is there if its object is."""
    return now[name].missing >= 1 if name in now else name.split(".")[0] not in now
