"""The cast of every page test: Ana owns things, Bo is her teammate, a stranger has not signed in."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import SavedQuery, Source
from tests.dashboard.places import source_at

PASSWORD = "heron-at-the-weir-7"


@pytest.fixture
def ana(db: None) -> User:
    return User.objects.create_user("ana", password=PASSWORD, first_name="Ana")


@pytest.fixture
def bo(db: None) -> User:
    return User.objects.create_user("bo", password=PASSWORD, first_name="Bo")


@pytest.fixture
def as_ana(ana: User) -> Client:
    client = Client()
    client.force_login(ana)
    return client


@pytest.fixture
def as_bo(bo: User) -> Client:
    client = Client()
    client.force_login(bo)
    return client


@pytest.fixture
def stranger() -> Client:
    return Client()


@pytest.fixture
def sensors(ana: User) -> Source:
    """A source nobody has to reach: pages about it must work while its cluster is down."""
    return source_at(
        "127.0.0.1:1",
        key="sensors",
        name="sensors",
        topic="sensors",
        schema=[["ts", "integer"], ["device", "text"], ["temp", "number"], ["ok", "boolean"]],
        event_time="ts",
        created_by=ana,
    )


@pytest.fixture
def hot(sensors: Source, ana: User) -> SavedQuery:
    return SavedQuery.objects.create(
        source=sensors,
        name="Hot devices",
        computations=[{"aggregate": "max", "field": "temp"}],
        windows=[{"range": "1m", "slide": "10s"}, {"range": "5m", "slide": "10s"}],
        group_by=["device"],
        owner=ana,
    )
