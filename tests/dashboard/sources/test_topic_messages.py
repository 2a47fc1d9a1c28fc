"""The messages tab on a real broker: seeks, pages, odd messages, search, one message in full, download."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape

import pytest
from confluent_kafka import Producer
from django.http import QueryDict
from django.test import Client
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import ClusterAuthorizationFailedError

from dashboard.models import SavedQuery, Source
from dashboard.sources import topic_pages, topic_walk
from dashboard.sources.kafka import consumer_of
from dashboard.sources.presentation import hex_dump
from dashboard.sources.topic_pages import Asked, message_page
from dashboard.sources.topic_walk import Walk, extent
from streaming import record_batches
from tests.avro import written
from tests.dashboard.places import connection_to

NOW = int(time.time() * 1000)
MEGABYTES = 5 << 20
DEEP = b'{"ts":' + b"[" * 100_000


@pytest.fixture
def readings_of(sensors: Source, broker: str, fill_topic):
    """The source `sensors` on a real topic with these values."""

    def fill(values: list, partitions: int = 3, **how: int) -> Source:
        sensors.connection, sensors.topic = connection_to(broker), fill_topic(values, partitions, **how)
        sensors.save()
        return sensors

    return fill


def events(count: int) -> list[dict]:
    return [{"ts": NOW + n, "device": f"d{n}", "temp": n / 2, "ok": True} for n in range(count)]


def get(client: Client, address: str = "", **asked: str) -> str:
    return client.get(f"/sources/sensors/messages/{address}", asked).content.decode()


def offsets(source: Source, asked: Asked) -> list[tuple[int, int]]:
    return [(line.partition, line.offset) for line in message_page(source, asked).lines]


def devices(source: Source, asked: Asked) -> list[str]:
    page = message_page(source, asked)
    return [pair.value for line in page.lines for pair in line.pairs if pair.name == "device"]


def test_every_seek_begins_where_it_says(readings_of) -> None:
    source = readings_of(events(120), partitions=3)
    assert devices(source, Asked("newest"))[:2] == ["d119", "d118"]
    assert devices(source, Asked("oldest"))[:2] == ["d0", "d1"]
    assert offsets(source, Asked("offset", offset=38)) == [
        (0, 38),
        (1, 38),
        (2, 38),
        (0, 39),
        (1, 39),
        (2, 39),
    ]
    assert offsets(source, Asked("offset", partition=1, offset=38)) == [(1, 38), (1, 39)]
    assert devices(source, Asked("time", since=1_000 + 117)) == ["d117", "d118", "d119"]


def test_a_time_is_said_as_people_say_it(as_bo: Client, readings_of) -> None:
    source = readings_of(events(3), first_timestamp=NOW - 3_600_000)
    assert "d0" in get(as_bo, seek="time", since="90m ago")
    assert "No message there." in get(as_bo, seek="time", since="now-15m")
    assert devices(source, Asked.of(QueryDict("seek=time&since=1960-01-01")))[:1] == ["d0"]
    vienna = Asked.of(QueryDict("seek=time&since=2026-01-01+13:00&zone=Europe/Vienna"))
    assert vienna.since == Asked.of(QueryDict("seek=time&since=2026-01-01+12:00")).since


def test_pages_further_back_and_forth_show_every_message_once(readings_of) -> None:
    source = readings_of(events(130), partitions=4)
    first = message_page(source, Asked("newest"))
    asked, shown, pages = Asked("newest"), [], 0
    while True:
        page = message_page(source, asked)
        shown += [(line.partition, line.offset) for line in page.lines]
        pages += 1
        if not page.before:
            break
        asked = Asked("newest", before=topic_pages._places(page.before))
    assert (len(shown), len(set(shown)), pages) == (130, 130, 3)
    assert not first.after
    back = Asked("newest", after=topic_pages._places(page.after))
    assert [line.offset for line in message_page(source, back).lines] == [o for _, o in shown[50:100]]


def test_a_seek_beyond_the_end_says_so(as_bo: Client, readings_of) -> None:
    readings_of(events(3))
    assert "No message there." in get(as_bo, seek="offset", offset="4000")
    assert "There is no partition 9: they are 0 to 2." in get(as_bo, partition="9")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"seek": "sideways"}, "“sideways” is not a place to read from."),
        ({"seek": "offset"}, "Say from which offset, such as 1200."),
        ({"seek": "offset", "offset": "-3"}, "“-3” is not an offset: write a whole number."),
        ({"seek": "time"}, "Say since when, such as now-15m or 2026-11-16 09:30."),
        (
            {"seek": "time", "since": "soon"},
            "“soon” is not a time: write it as 2026-11-16 09:30, 14:00, yesterday, now-15m or 15m ago.",
        ),
        (
            {"seek": "time", "since": "14:00", "zone": "Mars"},
            "“Mars” is not a time zone: use a name such as Europe/Berlin.",
        ),
        ({"partition": "x"}, "“x” is not a partition: write a whole number."),
        ({"before": "0:x"}, "The address of this page is damaged"),
    ],
)
def test_nonsense_is_refused_in_words(as_bo: Client, sensors: Source, asked: dict, sentence: str) -> None:
    assert sentence in get(as_bo, **asked)


def test_odd_messages_are_shown_with_the_reason_why_they_are_refused(as_bo: Client, readings_of) -> None:
    big = b'{"ts": %d, "device": "big", "pad": "%s"}' % (NOW, b"x" * MEGABYTES)
    late = {"ts": NOW - 60_000, "device": "slow"}
    odd = [b"", None, b"\xff\x00\x10", {"ts": NOW, "temp": "hot"}, late, big, DEEP]
    readings_of([*events(1), *odd], partitions=1, first_timestamp=NOW)
    page = get(as_bo)
    for words in (
        "tombstone: key deleted, no value",
        "ff 00 10",
        "temp is text, not a number",
        "late by 50 s",
        "[[[[",
    ):
        assert words in page
    assert "Not readable as JSON" in page
    assert "big" in page
    assert len(page) < 100_000


def test_a_message_of_five_megabytes_opens_bounded_and_can_be_saved_whole(as_bo: Client, readings_of) -> None:
    big = b'{"ts": %d, "device": "big", "pad": "%s"}' % (NOW, b"x" * MEGABYTES)
    readings_of([big], partitions=1)
    page = get(as_bo, "0/0/")
    assert f"Only the first 262,144 of {len(big):,} bytes are shown." in page
    assert len(page) < 700_000
    assert ">big<" in page.replace("\n", "")  # read all the same
    saved = as_bo.get("/sources/sensors/messages/0/0/bytes/")
    assert saved.content == big
    assert saved["Content-Disposition"].startswith("attachment")


def test_the_inspector_shows_value_headers_bytes_and_the_reading(
    as_bo: Client, sensors: Source, hot: SavedQuery, broker: str, fill_topic
) -> None:
    sensors.connection, sensors.topic = connection_to(broker), fill_topic([], partitions=1)
    sensors.save()
    SavedQuery.objects.create(
        source=sensors,
        name="Cold",
        computations=[{"aggregate": "count", "field": None}],
        windows=[{"range": "1m", "slide": "1m"}],
        where="temp < 0",
    )
    producer = KafkaProducer(bootstrap_servers=broker)
    value = json.dumps(events(3)[2]).encode()
    producer.send(sensors.topic, value, headers=[("trace", b"a1"), ("bin", b"\xff")]).get(10)
    producer.close()
    page = get(as_bo, "0/0/")
    assert "Headers 2" in page
    for words in ("trace", "a1", "ff", "no key", "7b 22 74 73", "event time", "missing"):
        assert (words in page) is (words != "missing")  # all four fields are there
    assert "Hot devices" in page
    assert "the filter of 1 other leaves it out" in page


def test_what_cannot_be_opened_is_told(as_bo: Client, readings_of) -> None:
    readings_of(events(2), partitions=1)
    assert "Partition 0 ends before offset 2." in get(as_bo, "0/2/")
    assert "has no partition 7" in get(as_bo, "7/0/")
    assert as_bo.get("/sources/sensors/messages/0/2/bytes/").status_code == 404


def test_messages_that_aged_out_are_told(as_bo: Client, readings_of, broker: str) -> None:
    from kafka import TopicPartition

    source = readings_of(events(5), partitions=1)
    admin = KafkaAdminClient(bootstrap_servers=broker)
    admin.delete_records({TopicPartition(source.topic, 0): 3})
    admin.close()
    assert "Kafka no longer keeps offset 1: the oldest is 3." in get(as_bo, "0/1/")
    assert devices(source, Asked("oldest")) == ["d3", "d4"]
    assert devices(source, Asked("offset", offset=0)) == ["d3", "d4"]


def test_search_finds_keys_texts_and_conditions(as_bo: Client, readings_of) -> None:
    source = readings_of([*events(400), b"\xff"], partitions=3)
    assert devices(source, Asked(q="D399")) == ["d399"]
    assert devices(source, Asked(q="k7", seek="oldest"))[0] == "d7"
    assert devices(source, Asked(q="temp >= 199 and device <> 'd399'")) == ["d398"]
    page = message_page(source, Asked(q="temp < 1"))
    assert (page.looked_at, len(page.lines)) == (401, 2)
    wrong = get(as_bo, q="tempp > 3")
    assert "No field “tempp” (character 1). Searching as plain text instead." in wrong
    assert 'data-search-for="temp &gt; 3"' in wrong
    assert "Nothing found for “nosuch”." in get(as_bo, q="nosuch")


READING = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "ts", "type": "long"},
        {"name": "device", "type": "string"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "ratio", "type": "double"},
        {"name": "raw", "type": "bytes"},
    ],
}
FIRST = {"ts": NOW, "device": "Köln", "price": Decimal("12.50"), "ratio": 0.5, "raw": b"\xff"}


@pytest.fixture
def avro(readings_of) -> Source:
    """Two Avro records, and bytes that are none."""
    second = {**FIRST, "device": "Graz", "price": Decimal("3.00"), "ratio": float("nan")}
    source = readings_of([written(READING, FIRST), written(READING, second), b"\xff\x00"], partitions=1)
    Source.objects.update(
        format="avro",
        avro_schema=json.dumps(READING),
        schema=[["ts", "integer"], ["device", "text"], ["price", "number"]],
    )
    source.refresh_from_db()
    return source


def test_avro_is_shown_as_the_record_that_it_is_and_its_bytes_are_kept(as_bo: Client, avro: Source) -> None:
    page = unescape(get(as_bo, "0/0/"))
    assert '"device": "Köln",\n  "price": 12.50,\n  "ratio": 0.5,\n  "raw": {\n    "base64": "/w=="' in page
    assert hex_dump(written(READING, FIRST)) in page
    assert '"ratio": "nan"' in unescape(get(as_bo, "0/1/"))
    assert "ff 00" in get(as_bo, "0/2/")
    pairs = {pair.name: pair.value for pair in message_page(avro, Asked("oldest")).lines[0].pairs}
    assert pairs == {"device": "Köln", "price": "12.50", "ratio": "0.5", "raw": '{"base64":"/w=="}'}


def test_avro_is_found_by_what_is_written_in_it(avro: Source) -> None:
    for words, found in (("köln", [0]), ("12.50", [0]), ('"price":3.00', [1]), ("12.75", [])):
        assert [line.offset for line in message_page(avro, Asked("oldest", q=words)).lines] == found


def test_a_download_of_avro_has_records(as_bo: Client, avro: Source) -> None:
    content = as_bo.get("/sources/sensors/download/", {"seek": "oldest"}).content.decode()
    values = [json.loads(line)["value"] for line in content.splitlines()]
    assert values[0] == {
        "ts": NOW,
        "device": "Köln",
        "price": 12.5,
        "ratio": 0.5,
        "raw": {"base64": "/w=="},
    }
    assert values[2] == {"base64": "/wA="}


def test_a_search_stops_somewhere_and_says_how_far_it_looked(
    readings_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_pages, "SEARCHED", 250)
    source = readings_of(events(600), partitions=2)
    page = message_page(source, Asked(q="d5"))
    looked = page.looked_at
    further = message_page(source, Asked(q="device = 'd5'", before=topic_pages._places(page.before)))
    assert looked == 250
    assert further.looked_at == 250
    assert further.before


def test_large_messages_are_read_a_few_at_a_time(readings_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_walk, "PIECE_BYTES", 3_000)
    source = readings_of(
        [{"ts": NOW, "device": f"d{n}", "pad": "x" * 1_000} for n in range(30)], partitions=2
    )
    with consumer_of(source) as consumer:
        known = extent(consumer, source)
        walk = Walk(consumer, source.topic, known.first, known.end, backwards=True, wanted=30)
        assert len(list(walk)) == 30
    assert not walk.out_of_time


def test_compacted_topics_have_holes(as_bo: Client, sensors: Source, broker: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker)
    sensors.connection, sensors.topic = connection_to(broker), f"test.holes.{NOW}"
    sensors.save()
    admin.create_topics([NewTopic(sensors.topic, 1, 1)])
    producer = KafkaProducer(bootstrap_servers=broker, transactional_id=f"holes-{NOW}")
    producer.init_transactions()  # every commit leaves a marker, which takes an offset
    for event in events(6):
        producer.begin_transaction()
        producer.send(sensors.topic, json.dumps(event).encode())
        producer.commit_transaction()
    producer.close()
    admin.close()
    assert devices(sensors, Asked("newest")) == [f"d{n}" for n in (5, 4, 3, 2, 1, 0)]
    assert not message_page(sensors, Asked("newest")).before
    assert "Offset 1 holds no message: it is the mark of a transaction, or was compacted." in get(
        as_bo, "0/1/"
    )


@pytest.fixture
def transactions(readings_of) -> Iterator[Source]:
    """A committed message at offset 0, an aborted one at 2, and one at 4 of a transaction that is open."""
    source = readings_of([], partitions=1)
    producer = Producer({"bootstrap.servers": source.bootstrap_servers, "transactional.id": source.topic})
    producer.init_transactions()
    for event, end in zip(
        events(3), (producer.commit_transaction, producer.abort_transaction, None), strict=True
    ):
        producer.begin_transaction()
        producer.produce(source.topic, json.dumps(event).encode(), timestamp=NOW)
        producer.flush()
        if end is not None:
            end()
    yield source
    producer.abort_transaction()


def test_messages_that_were_aborted_are_shown_and_marked_when_asked_for(
    as_bo: Client, transactions: Source
) -> None:
    assert devices(transactions, Asked("newest")) == ["d0"]
    assert devices(transactions, Asked("newest", aborted=True)) == ["d1", "d0"]
    assert get(as_bo, seek="newest", aborted="1").count(">aborted</span>") == 1
    assert "Its transaction was aborted: it counts nowhere." in get(as_bo, "0/2/")
    assert "Partition 0 ends before offset 4." in get(as_bo, "0/4/")
    assert "Show aborted" in as_bo.get("/sources/sensors/?tab=messages").content.decode()


def test_a_source_that_reads_uncommitted_shows_all_there_is(as_bo: Client, transactions: Source) -> None:
    transactions.isolation = "read_uncommitted"
    transactions.save()
    assert devices(transactions, Asked("newest")) == ["d2", "d1", "d0"]
    assert "Show aborted" not in as_bo.get("/sources/sensors/?tab=messages").content.decode()
    assert "held back" not in as_bo.get("/sources/sensors/overview/").content.decode()


@pytest.mark.parametrize("rights", [True, False])
def test_a_partition_that_an_open_transaction_holds_back_is_said(
    as_bo: Client, transactions: Source, monkeypatch: pytest.MonkeyPatch, rights: bool
) -> None:
    began = datetime.now(UTC)
    if not rights:  # then the first message that waits tells since when

        def refuse(*_: object, **__: object) -> None:
            raise ClusterAuthorizationFailedError

        monkeypatch.setattr(KafkaAdminClient, "describe_producers", refuse)
    page = as_bo.get("/sources/sensors/overview/").content.decode()
    (since,) = re.findall(r"held back by an open transaction since <time datetime=\"([^\"]+)\"", page)
    expected = began if rights else datetime.fromtimestamp(NOW / 1000, UTC)
    assert abs(datetime.fromisoformat(since) - expected) < timedelta(seconds=60 if rights else 1)
    assert "1 offset from 4 on wait for its end" in page
    assert (f'<span class="code">{transactions.topic}</span>' in page) is rights


def test_messages_of_a_batch_that_takes_too_much_are_shown_as_refused(
    as_bo: Client, readings_of, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = readings_of(events(1), partitions=1)
    producer = Producer({"bootstrap.servers": source.bootstrap_servers, "compression.type": "gzip"})
    producer.produce(source.topic, bytes(900_000))
    producer.flush()
    monkeypatch.setattr(record_batches, "DECOMPRESSED_MB", 0)
    page = get(as_bo, seek="newest")
    assert "Its record batch takes more than 0 MB when decompressed" in page
    assert "d0" in page
    assert "tombstone" not in page
    assert "Tombstone" not in get(as_bo, "0/1/")
    assert "Its record batch takes more than 0 MB when decompressed." in get(as_bo, "0/1/")


def test_a_download_is_json_lines_that_lose_nothing(as_bo: Client, readings_of) -> None:
    readings_of([*events(2), b"\xff\x00", None, b"plain", b'{"a":\n 1}', DEEP], partitions=1)
    answer = as_bo.get("/sources/sensors/download/", {"seek": "oldest"})
    assert answer["Content-Disposition"] == 'attachment; filename="sensors.jsonl"'
    lines = [json.loads(line) for line in answer.content.decode().splitlines()]
    assert [line["value"] for line in lines] == [
        *events(2),
        {"base64": "/wA="},
        None,
        "plain",
        {"a": 1},
        DEEP.decode(),
    ]
    assert (lines[0]["key"], lines[0]["offset"], lines[0]["timestamp"]) == ("k0", 0, 1_000)


def test_a_download_is_bounded(as_bo: Client, readings_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_pages, "DOWNLOADED", 7)
    readings_of(events(20))
    assert len(as_bo.get("/sources/sensors/download/").content.splitlines()) == 7
    monkeypatch.setattr(topic_pages, "DOWNLOADED_BYTES", 100)
    assert len(as_bo.get("/sources/sensors/download/").content.splitlines()) == 2


def test_looking_commits_nothing_and_joins_no_group(as_bo: Client, readings_of, broker: str) -> None:
    readings_of(events(30))
    admin = KafkaAdminClient(bootstrap_servers=broker)
    before = {str(group) for group in admin.list_groups()}
    for tab in ("messages", "overview", "consumers", "download"):
        assert as_bo.get(f"/sources/sensors/{tab}/").status_code == 200
    assert {str(group) for group in admin.list_groups()} == before
    admin.close()
