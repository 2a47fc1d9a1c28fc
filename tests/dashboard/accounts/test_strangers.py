"""Without signing in there is the sign-in page, setting a password with a link and, for who has a link to a
dashboard, what it shows; nothing else: no page, no API call, no socket."""

import re
from collections.abc import Iterator

import pytest
from channels.testing import WebsocketCommunicator
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.api.who import STRANGER
from dashboard.asgi import application
from dashboard.live.routing import websocket_urlpatterns

EXAMPLES = {"slug": "some-key", "int": "1", "str": "text", "path": "a/b", "uuid": "0" * 32}
OPEN_TO_ALL = {
    "/sign-in/",
    "/password/forgotten/",
    "/password/forgotten/mailed/",
    "/password/set/text/text/",
}
PAGES_OF_THE_API = {"/api/", "/api/docs"}  # for people: strangers are sent to sign in
METHODS = ("get", "post", "put", "patch", "delete")


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    """Every address of the URL map, with an example in the place of each parameter."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, route)
        else:
            yield re.sub(r"<(?:(\w+):)?\w+>", lambda found: EXAMPLES[found[1] or "str"], route)


ALL_ADDRESSES = sorted(set(addresses(get_resolver().url_patterns)))
API_ADDRESSES = [one for one in ALL_ADDRESSES if one.startswith("/api/") and one not in PAGES_OF_THE_API]
LINK_ADDRESSES = [one for one in ALL_ADDRESSES if one.startswith("/shared/")]
PAGE_ADDRESSES = [one for one in ALL_ADDRESSES if one not in {*API_ADDRESSES, *LINK_ADDRESSES, *OPEN_TO_ALL}]
SOCKET_ADDRESSES = sorted(addresses(websocket_urlpatterns))


def test_the_walk_finds_the_pages() -> None:
    assert {"/", "/sources/new/", "/queries/some-key/edit/", "/plan/", "/tokens/"} <= set(PAGE_ADDRESSES)
    assert {"/api/queries/some-key/pause", "/api/connections", "/api/openapi.json"} <= set(API_ADDRESSES)
    assert {"/api/backtests", "/api/backtests/some-key/results"} <= set(API_ADDRESSES)
    assert {"/ws/live/", "/ws/sources/some-key/messages/"} <= set(SOCKET_ADDRESSES)


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("address", PAGE_ADDRESSES)
def test_a_stranger_is_sent_to_the_sign_in_page(stranger: Client, address: str, method: str) -> None:
    response = getattr(stranger, method)(address)
    assert response.status_code == 302
    assert response.url.startswith("/sign-in/")


@pytest.mark.django_db
@pytest.mark.parametrize("address", LINK_ADDRESSES)
def test_a_made_up_link_shows_nothing(stranger: Client, address: str) -> None:
    for asked in (address, f"{address}?from=0&to=1"):
        answer = stranger.get(asked)
        assert answer.status_code == 404
        assert "side-link" not in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("address", API_ADDRESSES)
def test_a_stranger_is_turned_away_by_every_call_of_the_api(stranger: Client, address: str) -> None:
    answers = {method: getattr(stranger, method)(address) for method in METHODS}
    known = {method: answer for method, answer in answers.items() if answer.status_code != 405}
    assert known
    for method, answer in known.items():
        assert answer.status_code == 401, method
        assert answer.json() == {"problem": STRANGER}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", SOCKET_ADDRESSES)
async def test_a_stranger_is_refused_by_every_socket(address: str) -> None:
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
    connected, _ = await WebsocketCommunicator(application, address, headers).connect()
    assert not connected


@pytest.mark.django_db
@pytest.mark.parametrize("address", sorted(OPEN_TO_ALL))
def test_a_stranger_sees_no_places_on_the_pages_that_are_open(stranger: Client, address: str) -> None:
    page = stranger.get(address).content.decode()
    assert "sign-in" in page or "Sign in" in page
    assert "side-link" not in page
