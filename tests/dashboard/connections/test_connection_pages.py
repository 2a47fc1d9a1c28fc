"""The connection pages: what is kept and never shown, what is refused, and what sources hear of a change."""

import logging
import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from dashboard.connections.forms import MOVED
from dashboard.models import Connection, SavedQuery, Source
from dashboard.planning import service, wire
from dashboard.planning.news import NOT_HEARD
from streaming import security
from streaming.security import Security, seal, unseal
from tests.dashboard.places import connection_to, source_at
from tests.secured import LIMITED, PASSWORD, Authority, SecuredBroker

SECRET = "heron-at-the-weir-8"


@pytest.fixture(autouse=True)
def no_kafka(settings: LazySettings) -> None:
    settings.KAFKA_BOOTSTRAP = "127.0.0.1:1"
    wire._forget_producer()


def typed(**changes: str) -> dict[str, str]:
    return {"name": "Plant", "bootstrap_servers": "kafka:9092", "protocol": "PLAINTEXT", **changes}


def with_login(**changes: str) -> dict[str, str]:
    login = {
        "protocol": "SASL_PLAINTEXT",
        "mechanism": "SCRAM-SHA-256",
        "username": "ana",
        "password": SECRET,
    }
    return typed(**login, **changes)


@pytest.fixture
def guarded(ana: User) -> Connection:
    how = Security("SASL_SSL", "PLAIN", username="ana", sealed_password=seal(SECRET))
    return connection_to("kafka:9092", how, name="Guarded", created_by=ana)


def test_a_connection_is_saved_and_its_password_sealed(as_ana: Client, ana: User) -> None:
    assert as_ana.post("/connections/new/", with_login(bootstrap_servers=" a:1 ,b:2 ")).url == "/connections/"
    saved = Connection.objects.get()
    assert (saved.key, saved.bootstrap_servers, saved.created_by) == ("plant", "a:1,b:2", ana)
    assert saved.sealed_password != SECRET
    assert unseal(saved.sealed_password) == SECRET
    assert saved.words == "SCRAM-SHA-256, not encrypted"


@pytest.mark.parametrize("address", ["/connections/new/", "/connections/guarded/"])
def test_an_error_page_in_debug_mode_shows_no_secret(
    as_ana: Client,
    guarded: Connection,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
) -> None:
    settings.DEBUG = True
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", "short")  # then nothing can be sealed
    as_ana.raise_request_exception = False
    answer = as_ana.post(address, with_login(key="-----BEGIN a-private-key", ca="the-authority"))
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "32 random bytes" in page
    assert "the-authority" in page  # what was sent is shown
    assert SECRET not in page
    assert "a-private-key" not in page


def test_what_a_protocol_does_not_use_is_not_kept(as_ana: Client) -> None:
    as_ana.post("/connections/new/", with_login() | {"protocol": "PLAINTEXT", "ca": "anything"})
    assert Connection.objects.get().security() == Security()


def test_no_page_shows_a_secret(as_ana: Client, guarded: Connection) -> None:
    source_at("127.0.0.1:1", key="s", name="s", topic="t")
    Source.objects.update(connection=guarded)
    for address in ("/connections/", "/connections/guarded/", "/sources/s/?tab=settings", "/sources/new/"):
        page = as_ana.get(address).content.decode()
        assert SECRET not in page
        assert guarded.sealed_password not in page
    assert "Kept; type to replace it." in as_ana.get("/connections/guarded/").content.decode()


def test_what_was_typed_and_refused_comes_back_without_the_secrets(as_ana: Client) -> None:
    page = as_ana.post("/connections/new/", with_login(name="", key="PEM-KEY")).content.decode()
    assert 'value="ana"' in page
    assert SECRET not in page and "PEM-KEY" not in page


def test_a_kept_password_stays_until_another_is_typed(as_ana: Client, guarded: Connection) -> None:
    kept = {"name": "Guarded", "bootstrap_servers": "kafka:9092", "protocol": "SASL_SSL", "username": "ana"}
    as_ana.post("/connections/guarded/", kept)
    guarded.refresh_from_db()
    assert unseal(guarded.sealed_password) == SECRET
    as_ana.post("/connections/guarded/", kept | {"password": "another"})
    guarded.refresh_from_db()
    assert unseal(guarded.sealed_password) == "another"


def test_a_kept_password_is_not_sent_to_other_servers(as_ana: Client, guarded: Connection) -> None:
    moved = {
        "name": "Guarded",
        "bootstrap_servers": "elsewhere:9092",
        "protocol": "SASL_SSL",
        "username": "ana",
    }
    assert MOVED in as_ana.post("/connections/guarded/", moved).content.decode()
    assert MOVED in as_ana.post("/connections/test/", moved | {"editing": "guarded"}).content.decode()
    guarded.refresh_from_db()
    assert guarded.bootstrap_servers == "kafka:9092"


ONE, OTHER = Authority("a").sign("m"), Authority("a").sign("m")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "Give the connection a name."),
        ({"name": "guarded"}, "There is a connection “guarded” already: choose another name."),
        ({"bootstrap_servers": ""}, "Give at least one broker as host:port."),
        ({"bootstrap_servers": "kafka"}, "“kafka” is not an address: write host:port"),
        ({"protocol": ""}, "Choose a protocol."),
        ({"protocol": "SASL_SSL"}, "Give the user name."),
        ({"protocol": "SASL_SSL", "username": "u"}, "Give the password."),
        ({"protocol": "SSL", "ca": "x"}, "The CA is not a certificate"),
        ({"protocol": "SSL", "certificate": ONE.certificate}, "Give the key of the client certificate."),
        ({"protocol": "SSL", "key": ONE.key}, "Give the client certificate that the key belongs to."),
        (
            {"protocol": "SSL", "certificate": ONE.certificate, "key": OTHER.key},
            "The client key does not belong to the client certificate.",
        ),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    as_ana: Client, guarded: Connection, changes: dict[str, str], sentence: str
) -> None:
    answer = as_ana.post("/connections/new/", typed(**changes))
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert Connection.objects.count() == 1


def test_a_change_says_whom_it_concerns_and_reaches_their_plans(
    as_ana: Client, guarded: Connection, hot: SavedQuery, django_capture_on_commit_callbacks: Any
) -> None:
    Source.objects.update(connection=guarded)
    source = Source.objects.get()
    stream = source.spec().stream
    service.replan(source, "first")
    assert "1 source uses it: sensors." in as_ana.get("/connections/guarded/").content.decode()
    changed = {
        "name": "Guarded",
        "bootstrap_servers": "kafka:9092",
        "protocol": "SASL_SSL",
        "username": "ana",
        "password": "another",
    }
    with django_capture_on_commit_callbacks(execute=True):
        answer = as_ana.post("/connections/guarded/", changed, follow=True)
    newest = service.newest(source)
    assert newest is not None
    assert (newest.version, newest.cause) == (2, "Ana changed the connection Guarded")
    assert NOT_HEARD in answer.content.decode()
    spec = Source.objects.get().spec()
    assert unseal(spec.security.sealed_password) == "another"
    assert spec.stream == stream


def test_another_name_alone_makes_no_plan(
    as_ana: Client, sensors: Source, hot: SavedQuery, ana: User
) -> None:
    Connection.objects.update(created_by=ana)
    service.replan(sensors, "first")
    key = sensors.connection.key
    as_ana.post(f"/connections/{key}/", typed(name="Renamed", bootstrap_servers="127.0.0.1:1"))
    assert Connection.objects.get().name == "Renamed"
    newest = service.newest(sensors)
    assert newest is not None and newest.version == 1


def test_a_teammate_looks_and_uses_but_neither_changes_nor_tries_the_secrets(
    as_bo: Client, guarded: Connection
) -> None:
    page = as_bo.get("/connections/guarded/").content.decode()
    assert "Ana, who can change it" in page
    assert "Save connection" not in page
    assert as_bo.post("/connections/guarded/", with_login()).status_code == 403
    assert as_bo.post("/connections/test/", with_login(editing="guarded")).status_code == 403
    assert as_bo.post("/bin/connection/delete/?key=guarded").status_code == 403


def test_an_empty_list_says_what_to_do(as_ana: Client) -> None:
    assert "No connections yet." in as_ana.get("/connections/").content.decode()


def test_the_test_connects_as_typed(as_ana: Client, secured: SecuredBroker, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    right = typed(
        bootstrap_servers=secured.at("tlslogin"),
        protocol="SASL_SSL",
        mechanism="SCRAM-SHA-512",
        username="ana",
        password=PASSWORD,
        ca=secured.authority.certificate,
        check_host="on",
    )
    assert "Connected" in _try(as_ana, right)
    assert "refused the user name or the password" in _try(as_ana, right | {"password": SECRET})
    assert "signed by “Weir CA”" in _try(as_ana, right | {"ca": ""})
    elsewhere = right | {"bootstrap_servers": secured.at("tlslogin", "127.0.0.1")}
    assert "is for localhost, not for 127.0.0.1" in _try(as_ana, elsewhere)
    assert "Connected" in _try(as_ana, {**elsewhere, "check_host": ""})
    assert "does not resolve" in _try(as_ana, right | {"bootstrap_servers": "nosuch.invalid:1"})
    assert "no topic can be seen" in _try(as_ana, right | {"username": LIMITED})
    assert SECRET not in caplog.text and PASSWORD not in caplog.text


def _try(client: Client, data: dict[str, str]) -> str:
    return client.post("/connections/test/", data).content.decode()


def test_a_cluster_that_sends_readers_to_a_closed_door_is_told(
    as_ana: Client, secured: SecuredBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The broker calls itself localhost; from here that name shall not be known.
    from streaming import reach

    known = reach.closed_because
    monkeypatch.setattr(
        reach,
        "closed_because",
        lambda address, patience: known(address.replace("localhost", "nosuch.invalid"), patience),
    )
    answer = _try(
        as_ana,
        typed(
            bootstrap_servers=secured.at("tls", "127.0.0.1"),
            protocol="SSL",
            ca=secured.authority.certificate,
        ),
    )
    assert f"sends readers on to {secured.at('tls')}. The name nosuch.invalid does not resolve" in answer


def test_the_wizard_makes_a_connection_in_its_first_step(as_ana: Client) -> None:
    htmx = {"HX-Request": "true"}
    step = as_ana.post("/connections/new/", typed(name=""), headers=htmx).content.decode()
    assert "Give the connection a name." in step
    step = as_ana.post("/connections/new/", typed(), headers=htmx).content.decode()
    assert '<option value="plant" selected>Plant · not encrypted</option>' in step


def test_secrets_are_sealed_anew_with_the_first_key(
    guarded: Connection, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new = security.new_key()
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", f"{new},{security._keys()}")
    call_command("reseal")
    assert "Sealed the secrets of 1 connection anew." in capsys.readouterr().out
    monkeypatch.setenv("MILLRACE_SECRETS_KEY", new)
    guarded.refresh_from_db()
    assert unseal(guarded.sealed_password) == SECRET


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"]
)
def test_an_address_that_is_not_allowed_is_neither_saved_nor_tried(as_ana: Client, host: str) -> None:
    sent = typed(bootstrap_servers=f"kafka:9092,{host}:9092")
    sentence = "is in a network that is not allowed: the administrator allows networks in"
    assert sentence in as_ana.post("/connections/new/", sent).content.decode()
    assert sentence in as_ana.post("/connections/test/", sent).content.decode()
    assert not Connection.objects.exists()


def test_who_may_not_add_connections_is_told_nothing_of_ports(
    broker: str, client: Client, vera: User
) -> None:
    """One sentence for one that is open, one that is closed and one that is nowhere."""
    client.force_login(vera)
    answers = [
        client.post("/connections/test/", typed(bootstrap_servers=servers))
        for servers in (broker, "127.0.0.1:1", "nowhere.invalid:9092")
    ]
    assert {answer.status_code for answer in answers} == {403}
    tokens = re.compile(r"[A-Za-z0-9]{40,}")  # against forgery: others for each
    assert len({tokens.sub("", answer.content.decode()) for answer in answers}) == 1
