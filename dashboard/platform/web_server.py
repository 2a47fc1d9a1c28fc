"""The web server: uvicorn, with bounds on what a client may send, and how slowly."""

import asyncio
import logging
import os
import sys
from typing import Any

from django.conf import settings
from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

HEAD_SECONDS = 15.0  # from the first byte of a request, or from the connection, to the end of its headers
HEAD_BYTES = 64 * 1024
BODY_SECONDS = 60.0  # from the end of the headers to the end of the body
IDLE_SECONDS = 15  # between two requests on one connection
SHUTDOWN_SECONDS = 3  # for requests in work when the server is told to end
# s; a proxy or a browser that died is noticed. When a thousand dashboards come at once, answers take a while.
PING_SECONDS, PONG_SECONDS = 20.0, 60.0
# Bytes; the largest `watch` (200 queries, 1,000 rows of a list) has some 100 kB.
SOCKET_MESSAGE_BYTES = 256 * 1024
# Bytes, more than is ever in flight to a viewer (`live/viewer.py`): sending never waits for a slow browser,
# as whoever waits there makes all other viewers of this process wait.
SOCKET_SEND_BUFFER = 64 * 1024 * 1024


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 of a client whose headers and bodies end in time, and whose headers are of a sane size."""

    _deadline: asyncio.TimerHandle | None = None
    _begun = _in_head = False
    _came = 0  # bytes since the request before

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._allow(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._allow(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        super().data_received(data)
        if self._in_head and self._came > HEAD_BYTES:
            self._refuse(431, b"The headers of the request are too large.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun = self._in_head = True
        self._allow(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._allow(BODY_SECONDS)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._begun, self._came = False, 0
        self._allow(None)
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        self._allow(None)
        super().handle_websocket_upgrade()

    def _allow(self, seconds: float | None) -> None:
        """Give what comes next so many seconds; None: it may take its time."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self._begun:
            self._refuse(408, b"The request took too long to arrive.")
        else:
            self.transport.close()  # nothing was asked

    def _refuse(self, status: int, sentence: bytes) -> None:
        """Answer and hang up; only hang up where an answer has begun."""
        self._allow(None)
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            length = str(len(sentence)).encode()
            head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: " + length
            self.transport.write(STATUS_LINE[status] + head + b"\r\nconnection: close\r\n\r\n" + sentence)
        self.transport.close()


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A socket to which sending never waits; `live/viewer.py` bounds what is sent to a slow one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=SOCKET_SEND_BUFFER)


class DashboardServer(Server):
    async def shutdown(self, sockets: Any = None) -> None:
        """Close sockets with 1012, on which pages come back, finish what is in work, and end.

        Threads that still work for a request when its time is over would keep the process for ever.
        """
        await super().shutdown(sockets)
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def serve(host: str, port: int) -> None:
    """Serve pages and sockets until SIGTERM or SIGINT."""
    proxies = settings.TRUSTED_PROXIES
    config = Config(
        "dashboard.asgi:application",
        host=host,
        port=port,
        http=BoundedHttp,
        ws=BoundedWebSocket,
        ws_max_size=SOCKET_MESSAGE_BYTES,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PONG_SECONDS,
        ws_per_message_deflate=False,  # would compress the same results again for every viewer
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    DashboardServer(config).run()
