"""Sends the browser's files.

WhiteNoise knows the files, their headers and their compressed forms. Its middleware, though, takes a thread
and the whole way through Django for each of them, which makes a page of 85 modules wait four times as long.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

_AS_FOR_PAGES = (b"x-content-type-options", b"nosniff")  # which get it from Django's SecurityMiddleware


class FileServer(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise has no types
    """Answers for files within the event loop; all other requests go to the application behind it."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        super().__init__()
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        file = self.find_file(path) if self.autorefresh else self.files.get(path)
        if file is None:
            await self._application(scope, receive, send)
        else:
            await _send(file, scope, send)


async def _send(file: StaticFile, scope: Scope, send: Send) -> None:
    answer = file.get_response(scope["method"], _as_wsgi_names(scope))
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
    body = b""
    if answer.file is not None:
        with answer.file:
            body = answer.file.read()
    headers.append(_AS_FOR_PAGES)
    await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _as_wsgi_names(scope: Scope) -> dict[str, str]:
    """WhiteNoise looks headers up by the names that WSGI gives them."""
    return {
        "HTTP_" + name.decode("latin-1").upper().replace("-", "_"): value.decode("latin-1")
        for name, value in scope["headers"]
    }
