"""Nothing but the sign-in page is reachable without signing in."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

EXAMPLES = {"slug": "some-key", "int": "1", "str": "text", "path": "a/b", "uuid": "0" * 32}
OPEN_TO_ALL = {"/sign-in/"}


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    """Every address of the URL map, with an example in the place of each parameter."""
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, route)
        else:
            yield re.sub(r"<(?:(\w+):)?\w+>", lambda found: EXAMPLES[found[1] or "str"], route)


ALL_ADDRESSES = sorted(addresses(get_resolver().url_patterns))


def test_the_walk_finds_the_pages() -> None:
    assert {"/", "/sign-in/", "/sources/new/", "/queries/some-key/edit/", "/plan/"} <= set(ALL_ADDRESSES)


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("address", [one for one in ALL_ADDRESSES if one not in OPEN_TO_ALL])
def test_a_stranger_is_sent_to_the_sign_in_page(stranger: Client, address: str, method: str) -> None:
    response = getattr(stranger, method)(address)
    assert response.status_code == 302
    assert response.url.startswith("/sign-in/")


@pytest.mark.django_db
def test_a_stranger_sees_no_places_on_the_sign_in_page(stranger: Client) -> None:
    page = stranger.get("/sign-in/").content.decode()
    assert "Sign in" in page
    assert "side-link" not in page
