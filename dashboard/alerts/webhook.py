"""Webhooks: signed, and sent to addresses that the administrator allows, whatever name leads there."""

import hashlib
import hmac
from collections.abc import Mapping
from http.client import HTTPException
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
    """Send, or raise NotSent. Redirects are not followed: they could lead anywhere."""
    parts = urlsplit(address)
    host, _ = _place(parts)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = None
    try:
        connection = addresses.http(parts, TIMEOUT_SECONDS, settings.WEBHOOK_NETWORKS)
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
