"""Looking into Kafka: what is found, and what is wrong in words."""

import pytest
from kafka import KafkaAdminClient

from dashboard.sources.kafka import KafkaProblem, list_topics, newest_messages
from streaming.reach import Unreachable, split_address


def test_the_newest_messages_come_from_all_partitions_newest_first(broker: str, fill_topic) -> None:
    topic = fill_topic([{"n": number} for number in range(50)], partitions=3)
    sample = newest_messages(broker, topic, limit=7)
    assert (sample.partitions, sample.kept) == (3, 50)
    assert [message.value for message in sample.messages] == [b'{"n": %d}' % n for n in range(49, 42, -1)]
    assert {message.partition for message in sample.messages} == {0, 1, 2}


def test_an_empty_topic_has_no_messages(broker: str, fill_topic) -> None:
    sample = newest_messages(broker, fill_topic([], partitions=2))
    assert (sample.partitions, sample.kept, sample.messages) == (2, 0, [])


def test_tombstones_and_any_bytes_are_read(broker: str, fill_topic) -> None:
    sample = newest_messages(broker, fill_topic([b"\xff\x00", None], partitions=1))
    assert [message.value for message in sample.messages] == [None, b"\xff\x00"]


def test_topics_are_listed_without_kafkas_own(broker: str, fill_topic) -> None:
    topic = fill_topic([], partitions=1)
    topics = list_topics(broker)
    assert topic in topics
    assert not [name for name in topics if name.startswith("__")]


def test_looking_leaves_no_consumer_group_behind(broker: str, fill_topic) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker)
    before = {str(group) for group in admin.list_groups()}
    newest_messages(broker, fill_topic([{"n": 1}]))
    assert {str(group) for group in admin.list_groups()} == before
    admin.close()


def test_a_topic_that_does_not_exist_is_not_made_by_looking(broker: str) -> None:
    with pytest.raises(KafkaProblem) as problem:
        newest_messages(broker, "nosuch.topic")
    assert problem.value.field == "topic"
    assert problem.value.sentence == f"There is no topic “nosuch.topic” on {broker}."
    assert "nosuch.topic" not in list_topics(broker)


@pytest.mark.parametrize(
    ("servers", "sentence"),
    [
        ("127.0.0.1:1", "127.0.0.1:1 refused the connection; check that Kafka is running on this port."),
        ("nosuch.invalid:9092", "The name nosuch.invalid does not resolve; check its spelling."),
    ],
)
def test_a_closed_door_is_told_in_words(servers: str, sentence: str) -> None:
    with pytest.raises(KafkaProblem) as problem:
        list_topics(servers)
    assert (problem.value.field, problem.value.sentence) == ("bootstrap_servers", sentence)


def test_one_open_door_is_enough(broker: str) -> None:
    assert isinstance(list_topics(f"127.0.0.1:1, {broker}"), list)


@pytest.mark.parametrize("address", ["kafka", "kafka:", ":9092", "kafka:port", "kafka:0", "kafka:70000"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(Unreachable, match="write host:port"):
        split_address(address)


def test_addresses_of_both_kinds_are_read() -> None:
    assert split_address("kafka-1:9092") == ("kafka-1", 9092)
    assert split_address("[::1]:9092") == ("::1", 9092)
