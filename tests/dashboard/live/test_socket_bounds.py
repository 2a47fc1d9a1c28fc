"""Sockets of strangers and of broken programs: how many, how fast, what they say, and whose page it is."""

from collections import Counter
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from dashboard.live import sockets
from dashboard.live.consumers import LiveConsumer
from dashboard.live.hub import Hub
from dashboard.platform.socket_origin import OwnPagesOnly
from dashboard.sources.topic_tail import TailConsumer
from tests.dashboard.conftest import open_as
from tests.dashboard.places import source_at

pytestmark = pytest.mark.django_db(transaction=True)


async def page_of(person: User) -> WebsocketCommunicator:
    page = WebsocketCommunicator(LiveConsumer.as_asgi(start_relay=Hub), "/ws/live/")
    await open_as(page, person)
    assert (await page.connect(timeout=5))[0]
    return page


async def close_code(page: WebsocketCommunicator) -> int:
    while (told := await page.receive_output(timeout=5))["type"] != "websocket.close":
        pass
    return int(told["code"])


async def test_one_person_has_so_many_pages_open_and_others_are_not_touched(
    ana: User, bo: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SOCKETS_PER_PERSON = 2
    monkeypatch.setattr(sockets, "_open", Counter())  # other tests may have left some open
    first, second = await page_of(ana), await page_of(ana)
    assert await close_code(await page_of(ana)) == sockets.TOO_MANY
    of_bo = await page_of(bo)
    await first.disconnect()
    third = await page_of(ana)
    assert (await third.receive_json_from(timeout=5))[0]["type"] == "state"
    for page in (second, third, of_bo):
        await page.disconnect()
    assert not sockets._open


async def test_messages_that_come_too_fast_end_the_socket(ana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    page = await page_of(ana)
    for _ in range(int(sockets.MESSAGES_AT_ONCE) + 50):
        await page.send_to(text_data="{}")
    assert await close_code(page) == sockets.TOO_FAST


@pytest.mark.parametrize("said", ["", "{", "[" * 100_000, '{"type": "watch"', "\ufeff{}"])
async def test_what_is_not_json_ends_the_socket_without_an_error_of_ours(ana: User, said: str) -> None:
    page = await page_of(ana)
    await page.send_input({"type": "websocket.receive", "text": said})
    assert await close_code(page) == sockets.NOT_JSON
    await page.disconnect()


async def test_bytes_end_the_socket(ana: User) -> None:
    page = await page_of(ana)
    await page.send_input({"type": "websocket.receive", "bytes": b"\x00\xff"})
    assert await close_code(page) == sockets.NOT_JSON
    await page.disconnect()


def test_a_pace_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(sockets.time, "monotonic", lambda: now)
    pace = sockets.Pace(at_once=3, a_second=2)
    assert [pace.allows() for _ in range(4)] == [True, True, True, False]
    now += 1.0
    assert [pace.allows() for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://localhost:8000", "localhost:8000", True),
        ("http://localhost:9000", "localhost:8000", False),
        ("http://localhost", "localhost:8000", False),
        ("https://millrace.example.org", "millrace.example.org", True),
        ("https://millrace.example.org:443", "millrace.example.org", True),
        ("https://evil.example.org", "millrace.example.org", False),
        ("https://evil.example.org", "evil.example.org", False),
        ("https://front.example.org", "inside:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://localhost:99999", "localhost:99999", False),
        ("null", "localhost:8000", False),
        ("", "localhost:8000", False),
    ],
)
async def test_only_pages_of_this_site_and_port_open_sockets(
    origin: str, host: str, own: bool, settings: Settings
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "[::1]", "millrace.example.org"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://front.example.org"]

    async def accepting(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

    headers = [(b"host", host.encode()), (b"origin", origin.encode())]
    page = WebsocketCommunicator(OwnPagesOnly(accepting), "/ws/live/", headers=headers)
    assert (await page.connect())[0] is own


async def test_the_tail_of_a_topic_has_the_same_bounds(ana: User, settings: Settings) -> None:
    settings.SOCKETS_PER_PERSON = 0
    source = await database_sync_to_async(source_at)("127.0.0.1:1", key="s", created_by=ana)
    page = WebsocketCommunicator(TailConsumer.as_asgi(), "/ws/sources/s/messages/")
    page.scope["url_route"] = {"kwargs": {"key": source.key}}
    await open_as(page, ana)
    assert (await page.connect(timeout=5))[0]
    assert await close_code(page) == sockets.TOO_MANY
