"""The live tail: what comes, a sample of what comes fast, and nothing for strangers."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User
from kafka import KafkaAdminClient, KafkaProducer

from dashboard.live.routing import websocket_urlpatterns
from dashboard.models import Source
from dashboard.sources.topic_pages import Asked, message_page
from dashboard.sources.topic_tail import SHOWN, Tail
from tests.dashboard.conftest import open_as
from tests.dashboard.places import connection_to

NOW = int(time.time() * 1000)


@pytest.fixture
def followed(sensors: Source, broker: str, fill_topic) -> Source:
    sensors.connection, sensors.topic = (
        connection_to(broker),
        fill_topic([{"ts": NOW, "device": "old"}], partitions=2),
    )
    sensors.save()
    return sensors


def send(source: Source, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=source.bootstrap_servers, linger_ms=5)
    for number in range(count):
        value = json.dumps({"ts": NOW, "device": f"d{number}"}).encode()
        producer.send(source.topic, value, partition=number % 2)
    producer.close()


@pytest.fixture
def tail(followed: Source):
    made: list[Tail] = []

    def open_tail(asked: Asked) -> Tail:
        made.append(Tail(followed, asked))
        made[-1].open()
        return made[-1]

    yield open_tail
    for one in made:
        one.close()


def test_what_arrives_is_shown_newest_first(followed: Source, tail) -> None:
    following = tail(Asked("live"))
    assert following.next().arrived == 0
    send(followed, 3)
    glimpse = following.next()
    shown = [pair.value for line in glimpse.lines for pair in line.pairs if pair.name == "device"]
    assert (glimpse.arrived, sorted(shown)) == (3, ["d0", "d1", "d2"])
    assert following.next().arrived == 0


def test_it_goes_on_where_the_page_ended(followed: Source, tail) -> None:
    page = message_page(followed, Asked("live"))
    send(followed, 4)
    places = {int(part): int(at) for part, at in (entry.split(":") for entry in page.up_to.split(","))}
    assert tail(Asked("live", after=places)).next().arrived == 4


def test_of_a_flood_a_sample_is_shown_and_the_rest_counted(followed: Source, tail) -> None:
    following = tail(Asked("live"))
    send(followed, 1_000)
    glimpse = following.next()
    assert (glimpse.arrived, len(glimpse.lines), glimpse.looked_at) == (1_000, SHOWN, SHOWN)


def test_one_partition_or_a_search_narrows_it(followed: Source, tail) -> None:
    one, found = tail(Asked("live", partition=1)), tail(Asked("live", q="device = 'd7'"))
    send(followed, 10)
    assert (one.next().arrived, {line.partition for line in one.next().lines} <= {1}) == (5, True)
    glimpse = found.next()
    assert (glimpse.arrived, glimpse.looked_at, len(glimpse.lines)) == (10, 10, 1)


def test_following_leaves_no_group_behind(followed: Source, tail, broker: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker)
    before = {str(group) for group in admin.list_groups()}
    tail(Asked("live")).next()
    assert {str(group) for group in admin.list_groups()} == before
    admin.close()


async def socket(
    user: User | AnonymousUser, key: str = "sensors", asked: str = "seek=live"
) -> WebsocketCommunicator:
    application = URLRouter(websocket_urlpatterns)
    communicator = WebsocketCommunicator(application, f"/ws/sources/{key}/messages/?seek=live")
    await open_as(communicator, user)
    return communicator


@pytest.fixture
async def of_ana(ana: User, followed: Source) -> AsyncIterator[WebsocketCommunicator]:
    communicator = await socket(ana)
    connected, _ = await communicator.connect()
    assert connected
    yield communicator
    await communicator.disconnect()


@pytest.mark.django_db(transaction=True)
async def test_rows_come_over_the_socket(of_ana: WebsocketCommunicator, followed: Source) -> None:
    first = await of_ana.receive_json_from(timeout=20)
    assert (first["type"], first["arrived"]) == ("rows", 0)
    await of_ana.send_json_to({})
    send(followed, 2)
    rows: dict[str, Any] = {"arrived": 0}
    while not rows["arrived"]:
        rows = await of_ana.receive_json_from(timeout=20)
        await of_ana.send_json_to({})
    assert "d0" in rows["html"]
    assert 'class="message-line"' in rows["html"]


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_does_not_answer_gets_no_more(of_ana: WebsocketCommunicator) -> None:
    for _ in range(3):
        await of_ana.receive_json_from(timeout=20)
    assert await of_ana.receive_nothing(timeout=2.5)


@pytest.mark.django_db(transaction=True)
async def test_strangers_and_sources_that_do_not_exist_are_refused(followed: Source, ana: User) -> None:
    for refused in (await socket(AnonymousUser()), await socket(ana, key="nosuch")):
        connected, _ = await refused.connect()
        assert not connected


@pytest.mark.django_db(transaction=True)
async def test_what_is_wrong_is_said_and_ends_it(sensors: Source, ana: User) -> None:
    communicator = await socket(ana)
    await communicator.connect()
    told = await communicator.receive_json_from(timeout=20)
    assert told["type"] == "problem"
    assert "refused the connection" in told["sentence"]
    await communicator.disconnect()
