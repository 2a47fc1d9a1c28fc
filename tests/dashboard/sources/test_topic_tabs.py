"""Overview, consumers and dead letters on a real broker, and what is said where the cluster refuses."""

import json
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.test import Client
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    NewTopic,
    ResourcePattern,
    ResourceType,
)

from dashboard.models import SavedQuery, Source
from dashboard.sources import dead_letters
from dashboard.sources.topic_consumers import consumer_groups
from dashboard.sources.topic_overview import overview
from streaming.accounting import dead_letter
from streaming.broker import Broker, free_port
from streaming.jars import jars_dir
from streaming.java import find_java
from streaming.topics import Topics, create_topics
from tests.avro import written
from tests.dashboard.places import connection_to

NOW = int(time.time() * 1000)
ADDRESSES = (
    "check/",
    "overview/",
    "messages/",
    "messages/0/0/",
    "messages/0/0/bytes/",
    "download/",
    "consumers/",
    "consumers/count/",
    "dead-letters/",
    "dead-letters/count/",
    "dead-letters/check/",
    "dead-letters/0/0/",
)


@pytest.fixture
def filled(sensors: Source, broker: str, fill_topic) -> Source:
    """Nine readings of this minute on three partitions."""
    events = [{"ts": NOW + n, "device": f"d{n}", "temp": n / 2, "ok": True} for n in range(9)]
    sensors.connection = connection_to(broker)
    sensors.topic = fill_topic(events, first_timestamp=int(time.time() * 1000), keep_ms=7 * 86_400_000)
    sensors.save()
    return sensors


def send(source: Source, *values: dict | bytes, partition: int = 0) -> None:
    producer = KafkaProducer(bootstrap_servers=source.bootstrap_servers)
    for value in values:
        encoded = json.dumps(value).encode() if isinstance(value, dict) else value
        producer.send(source.topic, encoded, partition=partition).get(10)
    producer.close()


def get(client: Client, tab: str, **asked: str) -> str:
    return client.get(f"/sources/sensors/{tab}/", asked).content.decode()


def test_the_overview_tells_what_the_cluster_knows(as_bo: Client, filled: Source) -> None:
    found = overview(filled)
    assert [(p.number, p.first, p.end, p.leader) for p in found.partitions] == [
        (n, 0, 3, 1) for n in range(3)
    ]
    assert found.rate == pytest.approx(9 / 60)
    assert found.size > 0
    words = {setting.name: setting.words for setting in found.settings}
    assert words["Cleanup"] == "old messages are deleted"
    assert words["Kept for"] == "7 d"
    assert words["Kept per partition"] == "without limit"
    assert not found.drift
    assert "Yes: no new fields" in get(as_bo, "overview")


def test_a_partition_that_brings_nothing_is_idle(filled: Source) -> None:
    producer = KafkaProducer(bootstrap_servers=filled.bootstrap_servers)
    producer.send(filled.topic, b"{}", partition=2, timestamp_ms=NOW - 3_600_000).get(10)
    producer.close()
    assert [part.is_idle for part in overview(filled).partitions] == [False, False, True]


def test_drift_names_new_changed_and_missing_fields_and_what_cannot_be_read(
    as_bo: Client, sensors: Source, broker: str, fill_topic
) -> None:
    values = [{"ts": NOW, "device": "a", "temp": "21.5", "fan": 3} for _ in range(4)]
    sensors.connection, sensors.topic = connection_to(broker), fill_topic([*values, b"{broken"])
    sensors.save()
    drift = overview(sensors).drift
    assert [(name, kind) for name, kind, _ in drift.new] == [("fan", "integer")]
    assert drift.changed == [("temp", "number", "text")]
    assert drift.absent == ["ok"]
    assert list(drift.refused.values()) == [1]
    assert drift.wrong == {"temp is text, not a number.": 4}
    page = get(as_bo, "overview")
    assert "4 of 5: temp is text, not a number." in page
    assert "is saved as number, and is text now" in page
    assert "Add it" not in page  # Bo may not change it
    sensors.created_by = User.objects.get(username="bo")
    sensors.save()
    assert "?tab=settings&amp;field=fan&amp;kind=integer" in get(as_bo, "overview")
    settings = as_bo.get("/sources/sensors/?tab=settings&field=fan&kind=integer").content.decode()
    assert 'value="fan"' in settings


@pytest.fixture
def read_as(sensors: Source, broker: str, fill_topic):
    """The source `sensors` on a topic with these values, which are not JSON."""

    def read(message_format: str, schema: list[list[str]], values: list[bytes], avro: str = "") -> Source:
        sensors.connection, sensors.topic = connection_to(broker), fill_topic(values)
        sensors.format, sensors.schema, sensors.avro_schema = message_format, schema, avro
        sensors.save()
        return sensors

    return read


PRICES = {
    "type": "record",
    "name": "Price",
    "fields": [
        {"name": "ts", "type": "long"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {
            "name": "seller",
            "type": {"type": "record", "name": "S", "fields": [{"name": "id", "type": "int"}]},
        },
    ],
}


def test_drift_of_avro_names_new_changed_and_missing_fields(as_bo: Client, read_as) -> None:
    values = [written(PRICES, {"ts": NOW, "price": Decimal("2.50"), "seller": {"id": 7}})] * 3
    avro, known = json.dumps(PRICES), [["ts", "integer"], ["price", "number"], ["seller.id", "integer"]]
    assert not overview(read_as("avro", known, values, avro)).drift
    assert "Yes: no new fields, no changed types, all of them can be read." in get(as_bo, "overview")
    drift = overview(
        read_as("avro", [["ts", "integer"], ["price", "text"], ["gone", "text"]], [*values, b"?"], avro)
    ).drift
    assert drift.new == [("seller.id", "integer", "7")]
    assert drift.changed == [("price", "text", "decimal(2)")]
    assert drift.absent == ["gone"]
    assert drift.wrong == {"price is a number, not text.": 3}
    assert drift.refused == {"Not readable as Avro: the bytes do not fit the schema.": 1}


def test_drift_of_avro_needs_its_registry(as_bo: Client, read_as) -> None:
    record = {"ts": NOW, "price": Decimal(1), "seller": {"id": 7}}
    read_as("avro", [["ts", "integer"]], [written(PRICES, record, number=3)])
    Source.objects.update(registry="http://127.0.0.1:1")
    assert "The schema registry at http://127.0.0.1:1 does not answer." in get(as_bo, "overview")


@pytest.mark.parametrize(("message_format", "delimiter"), [("csv", b","), ("tsv", b"\t")])
def test_drift_of_records_compares_columns_by_their_place(
    as_bo: Client, read_as, message_format: str, delimiter: bytes
) -> None:
    def records(*lines: str) -> list[bytes]:
        return [line.encode().replace(b",", delimiter) for line in lines]

    known = [["ts", "integer"], ["code", "text"], ["temp", "number"]]
    assert not overview(read_as(message_format, known, records(f"{NOW},404,2", f"{NOW},x,2.5"))).drift
    assert "Yes: no column more or less, no changed types, all of them can be read." in get(as_bo, "overview")
    drift = overview(read_as(message_format, known, records(f"{NOW},,hot", f"{NOW},,cold"))).drift
    assert (drift.changed, drift.absent) == ([("temp", "number", "text")], ["code"])
    assert (drift.wrong, drift.refused) == ({"temp is text, not a number.": 2}, {})
    drift = overview(read_as(message_format, known, records(f"{NOW},a,1,true", f"{NOW},a,2,true"))).drift
    assert drift.refused == {"The message has 4 columns, not 3.": 2}
    assert (drift.new, drift.changed, drift.absent) == ([], [], [])
    assert "2 of 2: The message has 4 columns, not 3." in get(as_bo, "overview")


def test_an_empty_topic_has_nothing_to_compare(
    as_bo: Client, sensors: Source, broker: str, fill_topic
) -> None:
    sensors.connection, sensors.topic = connection_to(broker), fill_topic([])
    sensors.save()
    assert "there is nothing to compare" in get(as_bo, "overview")
    assert "is empty." in get(as_bo, "messages")


def test_groups_are_shown_with_their_members_and_real_lag(as_bo: Client, filled: Source, broker: str) -> None:
    assert "No consumer group reads" in get(as_bo, "consumers")
    assert get(as_bo, "consumers/count") == "0"
    consumer = KafkaConsumer(
        filled.topic,
        bootstrap_servers=broker,
        group_id="billing",
        client_id="billing-1",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    read = 0
    while read < 9:
        read += sum(map(len, consumer.poll(500).values()))
    consumer.commit()
    send(filled, {"ts": NOW}, {"ts": NOW}, partition=1)
    group = consumer_groups(filled).groups[0]
    assert (group.name, group.state, group.lag) == ("billing", "reading", 2)
    assert [(place.committed, place.lag) for place in group.places] == [(3, 0), (3, 2), (3, 0)]
    assert (group.members[0].client, group.members[0].partitions) == ("billing-1", [0, 1, 2])
    consumer.close()
    group = consumer_groups(filled).groups[0]
    assert (group.state, group.members, group.lag) == ("nobody connected", [], 2)
    page = get(as_bo, "consumers")
    assert "billing" in page
    assert get(as_bo, "consumers/count") == "1"
    assert "Millrace itself is no consumer group" in page


def test_groups_of_other_topics_are_not_shown(filled: Source, broker: str, fill_topic) -> None:
    other = TopicPartition(fill_topic([{"n": 1}], partitions=1), 0)
    consumer = KafkaConsumer(bootstrap_servers=broker, group_id="elsewhere", enable_auto_commit=False)
    consumer.assign([other])
    consumer.poll(500)
    consumer.commit()
    consumer.close()
    assert "elsewhere" not in [group.name for group in consumer_groups(filled).groups]


class GuardedBroker(Broker):
    """A broker with access control: whoever has no rule may do everything."""

    def _write_configuration(self) -> None:
        super()._write_configuration()
        with self._properties.open("a") as properties:
            properties.write(
                "\nauthorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
            )
            properties.write("allow.everyone.if.no.acl.found=true\n")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    jars, java = jars_dir(Path(configured.VAR_DIR)) / "broker", find_java().path
    with GuardedBroker(tmp_path_factory.mktemp("guarded"), free_port(), jars, java) as running:
        yield running.bootstrap_servers


def rule(kind: ResourceType, name: str, operation: ACLOperation, permission: ACLPermissionType) -> ACL:
    return ACL("User:ANONYMOUS", "*", operation, permission, ResourcePattern(kind, name))


def test_what_the_cluster_refuses_to_tell_is_said_in_words(
    as_bo: Client, sensors: Source, guarded: str
) -> None:
    sensors.connection, sensors.topic = connection_to(guarded), "secrets"
    sensors.save()
    admin = KafkaAdminClient(bootstrap_servers=guarded)
    admin.create_topics([NewTopic("secrets", 1, 1)])
    send(sensors, {"ts": NOW, "device": "a"})
    allow, deny = ACLPermissionType.ALLOW, ACLPermissionType.DENY
    topic, group, cluster = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
    consumer = KafkaConsumer(bootstrap_servers=guarded, group_id="hidden", enable_auto_commit=False)
    consumer.assign([TopicPartition("secrets", 0)])
    consumer.poll(500)
    consumer.commit()
    consumer.close()
    admin.create_acls(
        [
            rule(topic, "secrets", ACLOperation.READ, allow),
            rule(topic, "secrets", ACLOperation.DESCRIBE_CONFIGS, deny),
            rule(group, "hidden", ACLOperation.DESCRIBE, deny),
            rule(cluster, "kafka-cluster", ACLOperation.DESCRIBE, deny),
            rule(cluster, "kafka-cluster", ACLOperation.CLUSTER_ACTION, allow),
            rule(cluster, "kafka-cluster", ACLOperation.ALTER, allow),
        ]
    )
    page = get(as_bo, "overview")
    assert "not allowed to look at the topic’s configuration" in page
    assert "not allowed to look at the brokers’ disks" in page
    assert "as far as this connection may see them" in get(as_bo, "consumers")
    admin.create_acls([rule(topic, "secrets", ACLOperation.READ, deny)])
    assert "does not let this connection read “secrets”" in get(as_bo, "messages")
    admin.close()


def write_letters(source: Source, settings: LazySettings, *letters: tuple[int, int, str, str, bytes]) -> None:
    settings.KAFKA_BOOTSTRAP, settings.TOPIC_PREFIX = source.bootstrap_servers, f"letters-{time.time_ns()}"
    topics = Topics(settings.TOPIC_PREFIX)
    create_topics(source.bootstrap_servers, topics.shared())
    producer = KafkaProducer(bootstrap_servers=source.bootstrap_servers)
    for partition, offset, kind, reason, value in letters:
        letter = dead_letter(source.key, partition, offset, NOW, kind, reason, value)  # type: ignore[arg-type]
        encoded = json.dumps({name: getattr(letter, name) for name in letter.__struct_fields__}).encode()
        producer.send(topics.dead_letters, encoded, key=source.key.encode()).get(10)
    producer.close()


def test_letters_are_filtered_by_reason_and_open(
    as_bo: Client, filled: Source, settings: LazySettings
) -> None:
    write_letters(
        filled,
        settings,
        (0, 1, "malformed", "ts is text, not a number.", b'{"ts": "soon"}'),
        (0, 2, "late", "Late: event time is old.", b'{"ts": 1}'),
        (1, 5, "malformed", "Not readable as JSON.", b"\xff\x00"),
        (0, 1, "malformed", "ts is text, not a number.", b'{"ts": "soon"}'),
    )
    page = get(as_bo, "dead-letters")
    assert "Newest 3" in page  # one that was refused twice is one
    assert get(as_bo, "dead-letters/count") == "3"
    only = get(as_bo, "dead-letters", reason="late")
    assert "Newest 1 of 3" in only
    assert "dead-letters/0/2/" in only
    assert "dead-letters/1/5/" not in only
    opened = get(as_bo, "dead-letters/1/5")
    assert "Not readable as JSON." in opened
    assert "ff 00" in opened
    assert "no longer among the newest" in get(as_bo, "dead-letters/1/6")


def test_a_letter_of_avro_is_read_as_json_where_it_can_be(
    as_bo: Client, read_as, settings: LazySettings
) -> None:
    record = written(PRICES, {"ts": NOW, "price": Decimal("2.50"), "seller": {"id": 7}})
    source = read_as("avro", [["ts", "integer"]], [record], json.dumps(PRICES))
    write_letters(source, settings, (0, 0, "late", "Late: event time is old.", record))
    opened = get(as_bo, "dead-letters/0/0")
    assert "&quot;price&quot;: 2.50" in opened
    Source.objects.update(avro_schema="", registry="http://127.0.0.1:1")
    assert "Late: event time is old." in get(as_bo, "dead-letters/0/0")


def test_times_within_reasons_are_times_of_the_page(
    as_bo: Client, filled: Source, settings: LazySettings
) -> None:
    at = "2026-01-31T12:00:00.500Z"
    late = (0, 2, "late", f"Late: event time {at} came after the end of the data.", b'{"ts": 1}')
    write_letters(filled, settings, late, (0, 1, "malformed", f"{at} <is> no number.", b"?"))
    shown = f'Late: event time <time datetime="{at}" data-exact>{at}</time> came after'
    assert shown in get(as_bo, "dead-letters")
    assert shown in get(as_bo, "dead-letters/0/2")
    assert f"{at} &lt;is&gt; no number." in get(as_bo, "dead-letters")  # text of the message stays as it is


def add_noise(settings: LazySettings, count: int) -> None:
    """Letters of another source, newer than all that were there."""
    producer = KafkaProducer(bootstrap_servers=settings.KAFKA_BOOTSTRAP)
    for n in range(count):
        letter = {"source": "noisy", "partition": 0, "offset": n, "timestamp": NOW, "reason": "Noise."}
        producer.send(Topics(settings.TOPIC_PREFIX).dead_letters, json.dumps(letter).encode(), key=b"noisy")
    producer.close()


LETTER = (0, 1, "malformed", "ts is text, not a number.", b'{"ts": "soon"}')


def test_a_noisy_source_hides_no_letters_of_another(
    as_bo: Client, sensors: Source, broker: str, settings: LazySettings
) -> None:
    sensors.connection = connection_to(broker)
    write_letters(sensors, settings, LETTER)
    add_noise(settings, 2_500)
    page = get(as_bo, "dead-letters")
    assert "Newest 1<" in page
    assert "of all sources" not in page  # it looked at all of them
    assert get(as_bo, "dead-letters/count") == "1"
    assert "ts is text" in get(as_bo, "dead-letters/0/1")


def test_the_tab_says_how_far_it_looked(
    as_bo: Client, sensors: Source, broker: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "LOOKED_AT", 300)
    sensors.connection = connection_to(broker)
    write_letters(sensors, settings, LETTER)
    add_noise(settings, 299)
    assert "Newest 1<" in get(as_bo, "dead-letters")
    write_letters(sensors, settings, LETTER, (0, 2, *LETTER[2:]))
    add_noise(settings, 299)
    assert "of the last 300 refused messages of all sources; not counted" in get(as_bo, "dead-letters")
    assert get(as_bo, "dead-letters/count") == "1"
    add_noise(settings, 1)
    page = get(as_bo, "dead-letters")
    assert "No dead letters of sensors among the last 300 refused messages of all sources." in page
    assert get(as_bo, "dead-letters/count") == "0"


def test_enough_letters_of_a_noisy_source_are_enough(
    as_bo: Client, sensors: Source, broker: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_OWN", 200)
    Source.objects.filter(pk=sensors.pk).update(key="noisy")
    sensors.connection = connection_to(broker)
    write_letters(sensors, settings)
    add_noise(settings, 250)
    page = as_bo.get("/sources/noisy/dead-letters/").content.decode()
    assert "Newest 100 of 200<" in page
    assert "of the last 200 refused messages of all sources; not counted" in page


def test_letters_are_tried_again_with_the_fields_as_they_are_now(
    as_ana: Client, as_bo: Client, hot: SavedQuery, broker: str, fill_topic, settings: LazySettings
) -> None:
    sensors = hot.source
    values = [{"at": NOW, "temp": "hot"}, b"{broken", {"ts": NOW, "temp": 3}]
    sensors.connection = connection_to(broker)
    sensors.topic = fill_topic(values, partitions=1, first_timestamp=NOW)
    sensors.save()
    reasons = [(0, n, "malformed", "It was refused.", b"?") for n in (0, 1)]
    gone = (0, 77, "malformed", "It was refused.", b"?")
    write_letters(sensors, settings, *reasons, gone, (0, 2, "late", "Late.", b"?"))
    page = get(as_bo, "dead-letters/check")
    assert "0 of the newest 3 would be read" in page
    assert "Kafka no longer keeps 1 of them." in page
    Source.objects.update(schema=[["at", "integer"], ["temp", "number"]], event_time="at")
    page = get(as_bo, "dead-letters/check")
    assert "1 of the newest 3 would be read" in page
    assert "the job reads the topic again" in page
    assert "Read them again" not in page  # Bo may not change the source
    assert "reread-dialog" not in get(as_bo, "dead-letters")
    assert "Read them again" in get(as_ana, "dead-letters/check")
    asked = get(as_ana, "dead-letters")
    assert "at most 2,000,000 messages" in asked
    assert "1 query pauses for that long: “Hot devices”." in asked


def test_all_tabs_say_what_is_wrong_while_the_cluster_is_down(as_bo: Client, sensors: Source) -> None:
    for tab in ("check", "overview", "messages", "consumers", "messages/0/0"):
        assert "127.0.0.1:1 refused the connection" in get(as_bo, tab)
    assert get(as_bo, "consumers/count") == ""


def test_the_connection_is_tried_where_it_is_used(as_bo: Client, filled: Source) -> None:
    assert f"{filled.topic} holds 9 messages in 3 partitions." in get(as_bo, "check")


def test_strangers_are_turned_away(stranger: Client, sensors: Source) -> None:
    for address in ("", *ADDRESSES):
        answer = stranger.get(f"/sources/sensors/{address}")
        assert answer.status_code == 302
        assert answer.url.startswith("/sign-in/")


def test_nothing_is_changed_by_these_addresses(as_ana: Client, as_bo: Client, sensors: Source) -> None:
    for address in ADDRESSES:
        assert as_ana.post(f"/sources/sensors/{address}").status_code == 405  # not even by its owner
        assert as_bo.post(f"/sources/sensors/{address}").status_code == 403
        assert as_bo.get(f"/sources/nosuch/{address}").status_code == 404
