"""A program of Ana's: a client that signs in with nothing but her token."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.tokens import make_token
from dashboard.planning import wire

Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_kafka(settings: LazySettings) -> None:
    settings.KAFKA_BOOTSTRAP = "127.0.0.1:1"
    wire._forget_producer()


def asks_with(token: str) -> Ask:
    """A function that sends JSON to an address under /api/ and gives the response."""
    client = Client(enforce_csrf_checks=True)

    def ask(method: str, address: str, body: Any = None) -> Any:
        sent = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(client, method)(
            f"/api/{address}", **sent, headers={"Authorization": f"Bearer {token}"}
        )

    return ask


@pytest.fixture
def ask(ana: User) -> Ask:
    return asks_with(make_token(ana, "script", None)[1])


@pytest.fixture
def ask_as_bo(bo: User) -> Ask:
    return asks_with(make_token(bo, "script", None)[1])
