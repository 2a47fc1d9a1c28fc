"""Who else reads a topic: consumer groups, their members, and how far each of them is behind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import BrokerResponseError, KafkaError

from dashboard.sources.kafka import KafkaProblem, admin_of, consumer_of
from dashboard.sources.models import Source
from dashboard.sources.topic_walk import Extent, extent

GROUPS_AT_ONCE = 100
MOST_GROUPS = 2_000


@dataclass(frozen=True)
class Member:
    client: str
    host: str
    partitions: list[int]


@dataclass(frozen=True)
class Place:
    """How far a group has come in a partition; None: it has committed nothing there."""

    partition: int
    committed: int | None
    end: int
    lag: int | None
    client: str  # who reads it now


@dataclass(frozen=True)
class Group:
    """A consumer group on this topic."""

    name: str
    state: str
    members: list[Member]
    places: list[Place]

    @property
    def lag(self) -> int | None:
        """Over the partitions in which it has committed something."""
        known = [place.lag for place in self.places if place.lag is not None]
        return sum(known) if known else None


@dataclass(frozen=True)
class Groups:
    groups: list[Group]
    hidden: list[str]  # groups that the connection may see but not look into
    left_out: int = 0


def consumer_groups(source: Source, most: int = MOST_GROUPS) -> Groups:
    """The groups on this topic, among so many of the cluster: each is asked after by itself."""
    with consumer_of(source) as consumer:
        known = extent(consumer, source)
    with admin_of(source) as admin:
        try:
            listed = [group["group_id"] for group in admin.list_groups() if _is_consumer(group)]
        except KafkaError as error:
            raise KafkaProblem(
                "topic",
                "This connection may not look at consumer groups: it lacks the right to describe them.",
            ) from error
        names = sorted(set(listed))
        groups, hidden = [], []
        for start in range(0, min(len(names), most), GROUPS_AT_ONCE):
            chunk = names[start : start + GROUPS_AT_ONCE]
            for name, group in _described(admin, chunk, source.topic, known):
                if group is None:
                    hidden.append(name)
                elif group.members or any(place.committed is not None for place in group.places):
                    groups.append(group)
    return Groups(groups, hidden, max(0, len(names) - most))


def _is_consumer(group: dict[str, Any]) -> bool:
    return group.get("protocol_type") in ("consumer", "")


def _described(
    admin: KafkaAdminClient, names: list[str], topic: str, known: Extent
) -> Iterator[tuple[str, Group | None]]:
    try:
        described = admin.describe_groups(names)
    except KafkaError:
        described = {}
    for name in names:
        told = described.get(name)
        committed = _committed(admin, name, topic, known) if told and not told["error"] else None
        if told is None or committed is None:
            yield name, None
        else:
            yield name, _group(name, told, topic, committed, known)


def _committed(admin: KafkaAdminClient, name: str, topic: str, known: Extent) -> dict[int, int] | None:
    parts = [TopicPartition(topic, number) for number in known.end]
    try:
        found = admin.list_group_offsets({name: parts}).get(name, {})
    except BrokerResponseError:
        return None
    return {part.partition: at.offset for part, at in found.items() if at.offset >= 0}


def _group(name: str, told: dict[str, Any], topic: str, committed: dict[int, int], known: Extent) -> Group:
    members = [_member(member, topic) for member in told["members"]]
    on_topic = [member for member in members if member is not None]
    reader = {number: member.client for member in on_topic for number in member.partitions}
    places = [
        Place(
            partition=number,
            committed=committed.get(number),
            end=end,
            lag=max(0, end - committed[number]) if number in committed else None,
            client=reader.get(number, ""),
        )
        for number, end in sorted(known.end.items())
    ]
    return Group(name, _STATES.get(told["group_state"], told["group_state"]), on_topic, places)


def _member(member: dict[str, Any], topic: str) -> Member | None:
    """None: it belongs to the group, but has nothing to do with this topic."""
    assignment, metadata = member["member_assignment"], member["member_metadata"]
    assigned = assignment.get("assigned_partitions", []) if isinstance(assignment, dict) else []
    partitions = [number for part in assigned if part["topic"] == topic for number in part["partitions"]]
    subscribed = isinstance(metadata, dict) and topic in metadata.get("topics", [])
    if not partitions and not subscribed:
        return None
    return Member(member["client_id"], member["client_host"].lstrip("/"), sorted(partitions))


_STATES = {
    "Stable": "reading",
    "Empty": "nobody connected",
    "PreparingRebalance": "sharing out partitions",
    "CompletingRebalance": "sharing out partitions",
    "Dead": "gone",
}
