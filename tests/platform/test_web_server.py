"""What clients may send to the web server, and how slowly: real sockets, the application a stand-in."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import pytest
import websockets
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from uvicorn import Config
from uvicorn.server import ServerState

from dashboard.accounts.tokens import make_token
from dashboard.platform import body_limit, web_server
from dashboard.platform.body_limit import BodyLimit
from dashboard.platform.web_server import BoundedHttp, BoundedWebSocket

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
LENGTH = 24 * 1024 * 1024


async def length_of_body(scope: Any, receive: Any, send: Any) -> None:
    """Answers with how many bytes came; echoes what a socket hears."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": str(len(message["text"]))})
        return
    came, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        came, more = came + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": f"{came} bytes".encode()})


@asynccontextmanager
async def served(application: Callable[..., Awaitable[None]]) -> AsyncIterator[int]:
    """The port of a server whose protocols are those of `serve`."""
    config = Config(
        application, ws=BoundedWebSocket, ws_max_size=web_server.SOCKET_MESSAGE_BYTES, log_config=None
    )
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: BoundedHttp(config, state, {}), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()


async def answer(port: int, *sent: bytes, pause: float = 0.0, timeout: float = 5.0) -> str:
    """All that comes back until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with closing(writer):
        for piece in sent:
            writer.write(piece)
            await asyncio.sleep(pause)
        async with asyncio.timeout(timeout):
            return (await reader.read()).decode()


def head(*lines: str, path: str = "/sign-in/") -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


async def test_headers_that_never_end_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "HEAD_SECONDS", 0.3)
    async with served(length_of_body) as port:
        drops = [b"GET / HTTP/1.1\r\n", *(b"X-A: b\r\n" for _ in range(3))]
        began = time.monotonic()
        said = await answer(port, *drops, pause=0.05)
        assert said.startswith("HTTP/1.1 408 ")
        assert time.monotonic() - began < 1.0
        assert await answer(port) == ""  # a connection on which nothing is said


async def test_headers_of_a_second_request_have_their_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "HEAD_SECONDS", 0.3)
    async with served(length_of_body) as port:
        whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        said = await answer(port, whole, whole, whole, b"GET / HTTP/1.1\r\n", pause=0.2)
        assert said.count("HTTP/1.1 200 OK") == 3
        assert said.count("HTTP/1.1 408 ") == 1


async def test_a_body_that_never_ends_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "BODY_SECONDS", 0.3)
    async with served(length_of_body) as port:
        said = await answer(port, head("Content-Length: 1000"), *(b"x" for _ in range(3)), pause=0.05)
        assert said.startswith("HTTP/1.1 408 ")


@pytest.mark.parametrize("line", ["X-A: " + "b" * 200_000, "\r\n".join(f"X-{n}: b" for n in range(20_000))])
async def test_headers_have_a_bound(line: str) -> None:
    async with served(length_of_body) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with closing(writer):
            writer.write(b"GET / HTTP/1.1\r\n" + line.encode())
            async with asyncio.timeout(5):
                assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")


@pytest.mark.django_db(transaction=True)
async def test_a_strangers_body_is_refused_before_it_is_read() -> None:
    async with served(BodyLimit(length_of_body)) as port:
        said = await answer(port, head(f"Content-Length: {LENGTH}", "Cookie: sessionid=guessed"))
        assert said.startswith("HTTP/1.1 413 ")
        assert said.endswith("The request is too large: at most 64 kB are taken.")
        said = await answer(port, head(f"Content-Length: {LENGTH}", path="/api/queries"))
        assert json.loads(said.splitlines()[-1])["problem"].startswith("The request is too large")


@pytest.mark.django_db(transaction=True)
async def test_a_body_in_chunks_is_counted() -> None:
    async with served(BodyLimit(length_of_body)) as port:
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        ended = b"0\r\n\r\n"
        chunked = head("Transfer-Encoding: chunked", "Connection: close")
        assert (await answer(port, chunked + 3 * chunk + ended)).endswith("12288 bytes\r\n0\r\n\r\n")
        assert (await answer(port, chunked + 17 * chunk)).startswith("HTTP/1.1 413 ")


@pytest.mark.django_db(transaction=True)
async def test_who_has_an_account_may_send_more(client: Client) -> None:
    ana = await database_sync_to_async(User.objects.create_user)("ana")
    await database_sync_to_async(client.force_login)(ana)
    _, token = await database_sync_to_async(make_token)(ana, "A test", None)
    known = (f"Cookie: a=b; sessionid={client.cookies['sessionid'].value}", f"Authorization: Bearer {token}")
    large, too_large = 500_000, 3_000_000
    async with served(BodyLimit(length_of_body)) as port:
        for line in known:
            sent = head(line, f"Content-Length: {large}", "Connection: close") + b"x" * large
            assert f"{large} bytes" in await answer(port, sent)
            said = await answer(port, head(line, f"Content-Length: {too_large}"))
            assert said.startswith("HTTP/1.1 413 ")
            assert said.endswith("at most 2,560 kB are taken.")
    assert large > body_limit.STRANGERS_BYTES


async def test_messages_of_a_socket_have_a_size() -> None:
    async with (
        served(length_of_body) as port,
        websockets.connect(f"ws://127.0.0.1:{port}/", max_size=None) as page,
    ):
        await page.send("x" * 100_000)
        assert await page.recv() == "100000"
        await page.send("x" * 300_000)
        with pytest.raises(websockets.ConnectionClosed):
            await page.recv()
        assert page.close_code == 1009


async def test_nobody_waits_for_a_browser_that_does_not_read() -> None:
    sent = threading.Event()

    async def tell(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        for _ in range(20):
            await send({"type": "websocket.send", "text": "x" * 500_000})
        sent.set()
        await receive()

    async with served(tell) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        key = "dGhlIHNhbXBsZSBub25jZQ=="
        lines = ["Host: localhost", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        with closing(writer):
            text = "\r\n".join(["GET / HTTP/1.1", *lines, f"Sec-WebSocket-Key: {key}", "", ""])
            writer.write(text.encode())
            async with asyncio.timeout(5):
                while not sent.is_set():
                    await asyncio.sleep(0.01)
