"""Bounds the bodies of requests before any of them is kept: strangers send a password, no more."""

from collections.abc import Awaitable, Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpResponse, JsonResponse

from dashboard.accounts.tokens import owner_of

Message = Mapping[str, Any]
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

STRANGERS_BYTES = 64 * 1024


class TooLarge(Exception):
    """More came than may come."""


class BodyLimit:
    """Answers 413 to what is too large, without reading on; all else goes to the application behind it."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        stated = _stated_length(headers)
        if stated is not None and stated <= STRANGERS_BYTES:  # the server sees to it that no more comes
            await self._application(scope, receive, send)
            return
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if await _is_known(headers) else STRANGERS_BYTES
        if stated is not None and stated > most:
            await _refuse(most, scope, send)
            return
        try:
            await self._application(scope, _counted(receive, most), send)
        except TooLarge:
            await _refuse(most, scope, send)


def _stated_length(headers: Mapping[bytes, bytes]) -> int | None:
    """Bytes of the body; None if it comes in chunks until it ends."""
    if b"transfer-encoding" in headers:
        return None
    stated = headers.get(b"content-length", b"0")
    return int(stated) if stated.isdigit() else None


def _counted(receive: Receive, most: int) -> Receive:
    came = 0

    async def receive_counted() -> Message:
        nonlocal came
        message = await receive()
        came += len(message.get("body", b""))
        if came > most:
            raise TooLarge
        return message

    return receive_counted


async def _refuse(most: int, scope: Scope, send: Send) -> None:
    sentence = f"The request is too large: at most {most // 1024:,} kB are taken."
    answer: HttpResponse = (
        JsonResponse({"problem": sentence})
        if scope["path"].startswith("/api/")
        else HttpResponse(sentence, content_type="text/plain; charset=utf-8")
    )
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.items()]
    headers += [(b"connection", b"close"), (b"content-length", str(len(answer.content)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": answer.content})


@database_sync_to_async  # type: ignore[untyped-decorator]
def _is_known(headers: Mapping[bytes, bytes]) -> bool:
    """Whether somebody who has an account sends this."""
    kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if kind.lower() == "bearer":
        return owner_of(token.strip()) is not None
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return False
    session = cookies.get(settings.SESSION_COOKIE_NAME)
    return session is not None and SESSION_KEY in SessionStore(session.value)
