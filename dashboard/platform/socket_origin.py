"""Which pages may open a socket: those of this site, on this very port, as Django decides for forms."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import validate_host

Application = Callable[[Any, Any, Any], Awaitable[None]]
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class OwnPagesOnly:
    """Refuses sockets that another site's page opens, or that say not whose page opens them."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin, host = headers.get(b"origin", ""), headers.get(b"host", "")
        allowed = is_own(origin, host)
        await (self._application if allowed else WebsocketDenier())(scope, receive, send)


def is_own(origin: str, host: str) -> bool:
    """Whether a page of this origin is one of the site that is asked under this host.

    >>> is_own("http://localhost:8000", "localhost:8000"), is_own("http://localhost:9000", "localhost:8000")
    (True, False)
    >>> is_own("https://localhost", "localhost:443"), is_own("null", "localhost")
    (True, False)
    """
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    try:
        page = urlsplit(origin)
        asked = urlsplit(f"//{host}")
        default = DEFAULT_PORTS[page.scheme]
        same = (page.hostname, page.port or default) == (asked.hostname, asked.port or default)
    except (KeyError, ValueError):
        return False
    return same and page.hostname is not None and validate_host(_bracketed(page.hostname), _allowed_hosts())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _allowed_hosts() -> list[str]:
    if settings.DEBUG and not settings.ALLOWED_HOSTS:
        return ["localhost", "127.0.0.1", "[::1]"]
    return list(settings.ALLOWED_HOSTS)
