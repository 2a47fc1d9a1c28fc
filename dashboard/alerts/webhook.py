"""Webhooks: signed, and sent to addresses that the administrator allows, whatever name leads there."""

import hashlib
import hmac
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from threading import Event, Thread
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from streaming import addresses

TIMEOUT_SECONDS = 10
MAY_BE_TRIED_AGAIN = (408, 425, 429)
NOT_AN_ADDRESS = "Give the address as https://host/path."
PRIVATE = (
    "Webhooks may not go to the private network: "
    "the administrator allows networks in MILLRACE_WEBHOOK_NETWORKS."
)


class NotSent(Exception):
    """Why a message did not arrive; `final`: it will not, however often it is tried."""

    def __init__(self, sentence: str, *, final: bool = False) -> None:
        super().__init__(sentence)
        self.final = final


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """`t=…,v1=…`: HMAC-SHA256 of time, a dot and the body. With the time, nobody can send it again later."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


def problem_of(address: str) -> str:
    """Why this is no address for a webhook, as far as that can be said without looking its name up."""
    try:
        parts = urlsplit(address)
        host, _ = _place(parts)
    except (ValueError, NotSent):
        return NOT_AN_ADDRESS
    if parts.username or parts.password:
        return "Leave the name and password out of the address: the secret shows who sends."
    return PRIVATE if addresses.problem_of_literal(host, settings.WEBHOOK_NETWORKS) else ""


def post(address: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Send within TIMEOUT_SECONDS in all, from the name's look-up to the answer's headers, or raise NotSent.

    A socket's own time-out begins anew with every byte, and a name's look-up has none: that is why this
    happens in a thread, which is not waited for. When the time is over its connection is cut off.
    """
    sent: Future[None] = Future()
    connections: list[HTTPConnection] = []
    over = Event()

    def opened(connection: HTTPConnection) -> None:
        connections.append(connection)
        if over.is_set():
            _cut_off(connection)

    def send() -> None:
        try:
            _post(address, body, headers, opened)
            sent.set_result(None)
        except Exception as error:
            sent.set_exception(error)

    Thread(target=send, name="webhook", daemon=True).start()
    try:
        sent.result(TIMEOUT_SECONDS)
    except FutureTimeout:
        over.set()
        for connection in connections:
            _cut_off(connection)
        host = urlsplit(address).hostname
        raise NotSent(f"{host} did not answer within {TIMEOUT_SECONDS} s.") from None


def _cut_off(connection: HTTPConnection) -> None:
    with suppress(OSError, AttributeError):  # it may have ended by itself meanwhile
        connection.sock.shutdown(socket.SHUT_RDWR)


def _post(
    address: str, body: bytes, headers: Mapping[str, str], opened: Callable[[HTTPConnection], None]
) -> None:
    """Redirects are not followed: they could lead anywhere. Of the answer, its status alone is read."""
    parts = urlsplit(address)
    host, _ = _place(parts)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = None
    try:
        connection = addresses.http(parts, TIMEOUT_SECONDS, settings.WEBHOOK_NETWORKS)
        opened(connection)
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        status = connection.getresponse().status
    except addresses.NotAllowed as error:
        raise NotSent(PRIVATE, final=True) from error
    except (OSError, HTTPException) as error:
        raise NotSent(f"{host} could not be reached: {error or type(error).__name__}.") from error
    finally:
        if connection is not None:
            connection.close()
    _judge(host, status)


def _judge(host: str, status: int) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotSent(f"{host} answers with a redirect ({status}): give the address it leads to.", final=True)
    if status < 500 and status not in MAY_BE_TRIED_AGAIN:
        raise NotSent(f"{host} refused it ({status}).", final=True)
    raise NotSent(f"{host} failed to take it ({status}).")


def _place(parts: SplitResult) -> tuple[str, int]:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotSent(NOT_AN_ADDRESS, final=True)
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def is_allowed(address: addresses.IpAddress) -> bool:
    return addresses.is_allowed(address, settings.WEBHOOK_NETWORKS)
