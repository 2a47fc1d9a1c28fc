"""The cast of every page test: Ana owns things, Bo is her teammate, both editors; Vera only looks, Ada is the
administrator; a stranger has not signed in."""

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser, User
from django.test import Client

from dashboard.accounts.people import ADMINISTRATOR, EDITOR, VIEWER, give_role
from dashboard.models import SavedQuery, Source
from dashboard.planning import places, steps
from tests.dashboard.places import source_at

PASSWORD = "heron-at-the-weir-7"


def someone(name: str, role: str) -> User:
    person = User.objects.create_user(name, password=PASSWORD, first_name=name.capitalize())
    give_role(person, role)
    return User.objects.get(pk=person.pk)  # without what it has been asked before


def signed_in_as(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


@database_sync_to_async
def open_as(communicator: WebsocketCommunicator, person: User | AnonymousUser) -> Client:
    """Say of a socket what its middleware would: who opens it, in which browser; that one is returned."""
    client = Client() if isinstance(person, AnonymousUser) else signed_in_as(person)
    communicator.scope |= {"user": person, "session": client.session}
    return client


@pytest.fixture(autouse=True)
def no_plan_of_another_test() -> None:
    """Plans are known by their numbers in the database, which the next test's database begins anew."""
    steps._change.cache_clear()
    steps._queries.cache_clear()
    places._trees.cache_clear()


@pytest.fixture
def ana(db: None) -> User:
    return someone("ana", EDITOR)


@pytest.fixture
def bo(db: None) -> User:
    return someone("bo", EDITOR)


@pytest.fixture
def vera(db: None) -> User:
    return someone("vera", VIEWER)


@pytest.fixture
def ada(db: None) -> User:
    return someone("ada", ADMINISTRATOR)


@pytest.fixture
def as_ana(ana: User) -> Client:
    return signed_in_as(ana)


@pytest.fixture
def as_bo(bo: User) -> Client:
    return signed_in_as(bo)


@pytest.fixture
def as_vera(vera: User) -> Client:
    return signed_in_as(vera)


@pytest.fixture
def as_ada(ada: User) -> Client:
    return signed_in_as(ada)


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
