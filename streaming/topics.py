"""The Kafka topics between web and job: the only wire there is."""

from contextlib import suppress
from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

DAY_MS = 86_400_000
MESSAGE_BYTES = 64 << 20  # at most: a result block of two million groups, a plan of 100,000 queries
LARGE_MESSAGES = {"max.message.bytes": str(MESSAGE_BYTES)}


@dataclass(frozen=True)
class Topics:
    """Names of Millrace's own topics; the prefix lets several installations share a cluster."""

    prefix: str = "millrace"

    @property
    def plans(self) -> str:
        """Source and plan as JSON, keyed by source id, compacted; a tombstone removes the source."""
        return f"{self.prefix}.plans"

    @property
    def results(self) -> str:
        """Result blocks (`streaming/results.py`), keyed by window end and shard."""
        return f"{self.prefix}.results"

    @property
    def meters(self) -> str:
        """What each shard did in each batch, as JSON."""
        return f"{self.prefix}.meters"

    @property
    def status(self) -> str:
        """The job's own sign of life, as JSON, every two seconds."""
        return f"{self.prefix}.status"

    @property
    def dead_letters(self) -> str:
        """Refused messages with source, partition, offset, kind and reason, as JSON."""
        return f"{self.prefix}.dead-letters"

    def progress(self, stream: str) -> str:
        """Where a stream's last batch ended; map tasks start from it (`streaming/progress.py`)."""
        return f"{self.prefix}.progress.{stream}"

    def shared(self) -> list[NewTopic]:
        def topic(name: str, **config: str) -> NewTopic:
            return NewTopic(name, 1, -1, topic_configs=config | LARGE_MESSAGES)

        day = {"retention.ms": str(DAY_MS)}
        return [
            topic(self.plans, **{"cleanup.policy": "compact"}),
            topic(self.results, **day),
            topic(self.meters, **day),
            topic(self.status, **{"retention.ms": str(3_600_000)}),
            topic(self.dead_letters, **{"retention.ms": str(7 * DAY_MS)}),
        ]

    def progress_topic(self, stream: str) -> NewTopic:
        # Only the newest record is ever read; age must not remove it while a source is stopped.
        config = {"retention.ms": "-1", "retention.bytes": str(16 << 20), "segment.bytes": str(4 << 20)}
        return NewTopic(self.progress(stream), 1, -1, topic_configs=config | LARGE_MESSAGES)


def create_topics(bootstrap_servers: str, topics: list[NewTopic]) -> None:
    """Create what is missing; what exists is left as it is."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    try:
        existing = set(admin.list_topics())
        for topic in topics:
            if topic.name in existing:
                continue
            with suppress(TopicAlreadyExistsError):  # another process was faster
                admin.create_topics([topic])
    finally:
        admin.close()


def delete_topics(bootstrap_servers: str, names: list[str]) -> None:
    """Delete those of the topics that exist."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    try:
        found = set(admin.list_topics()).intersection(names)
        if found:
            admin.delete_topics(sorted(found))
    finally:
        admin.close()
