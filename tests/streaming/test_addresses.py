"""Addresses that people type lead where an administrator allows it, whatever name or form leads there."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming import addresses, kafka_connection
from streaming.addresses import (
    DEFAULT,
    SETTING,
    NotAllowed,
    dial,
    is_allowed,
    networks_of,
    problem_of_literal,
)
from streaming.checked_socket import OPTIONS
from streaming.kafka_connection import Connection
from streaming.reach import SourceProblem, Unreachable, closed_because, secure_options
from streaming.registry import InvalidAddress, check_address, schemas_of
from streaming.security import PLAINTEXT
from streaming.watch import look
from tests.avro import known, served

NONE = networks_of("")
PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "100.64.0.1", "::1", "fc00::1", "fd12:3456::1"),
]
NEVER = [
    *("169.254.169.254", "169.254.0.1", "0.1.2.3", "255.255.255.255", "224.0.0.1", "240.0.0.1", "192.0.2.1"),
    *("::", "fe80::1", "fe80::1%eth0", "ff02::1", "2001:db8::1", "fd00:ec2::254", "100.100.100.200"),
    "168.63.129.16",
]
PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::200e"]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_networks_are_allowed_to_clusters_and_to_nothing_else(address: str) -> None:
    assert is_allowed(ip_address(address), networks_of(DEFAULT))
    assert not is_allowed(ip_address(address), NONE)
    assert problem_of_literal(address, NONE)


@pytest.mark.parametrize("address", NEVER)
def test_what_is_no_address_of_a_service_is_never_allowed(address: str) -> None:
    assert not is_allowed(ip_address(address), networks_of(DEFAULT))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert is_allowed(ip_address(address), NONE)


def test_an_address_that_gives_credentials_is_allowed_by_itself_alone() -> None:
    meta = ip_address("169.254.169.254")
    assert not is_allowed(meta, networks_of("169.254.0.0/16"))
    assert is_allowed(meta, networks_of("169.254.169.254/32"))


FORMS = {
    "mapped": lambda four: (0xFFFF << 32) | four,
    "translated": lambda four: (0xFFFF << 48) | four,
    "compatible": lambda four: four,
    "NAT64": lambda four: (0x64_FF9B << 96) | four,
    "local NAT64": lambda four: (0x64_FF9B_0001 << 80) | four,
    "6to4": lambda four: (0x2002 << 112) | (four << 80) | 1,
    "Teredo client": lambda four: (0x2001_0000 << 96) | (0x0808_0808 << 64) | (four ^ 0xFFFF_FFFF),
    "Teredo server": lambda four: (0x2001_0000 << 96) | (four << 64) | (0x0808_0808 ^ 0xFFFF_FFFF),
    "ISATAP": lambda four: (0x2606_4700 << 96) | (0x5EFE << 32) | four,
    "ISATAP, universal": lambda four: (0x2606_4700 << 96) | (0x0200_5EFE << 32) | four,
}


@pytest.mark.parametrize("form", FORMS)
@given(
    st.one_of(st.integers(2, 2**32 - 1), st.sampled_from([int(IPv4Address("169.254.169.254")), 0x7F000001]))
)
def test_what_stands_for_an_address_is_as_good_as_that_one(form: str, four: int) -> None:
    for networks in (NONE, networks_of(DEFAULT)):
        disguised = IPv6Address(FORMS[form](four))
        assert is_allowed(disguised, networks) == is_allowed(IPv4Address(four), networks)


@pytest.fixture
def only_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "017700000001"])
def test_however_it_is_written_nothing_is_dialled(only_public: None, host: str) -> None:
    """Open or closed, the sentence is the same: ports cannot be told apart where nobody may go."""
    said = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        for port in (server.getsockname()[1], 1):
            with pytest.raises(Unreachable) as refusal:
                closed_because(f"{host}:{port}", 1)
            said.append(str(refusal.value))
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert said[0] == said[1] and SETTING in said[0]


def test_a_name_is_looked_up_once_and_what_was_checked_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it could lead elsewhere the second time."""
    asked = []

    def rebinding(host: str, port: int, *_: Any) -> list[Any]:
        asked.append(host)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1" if len(asked) > 1 else "8.8.8.8", port))
        ]

    dialled = []
    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket.socket, "connect", lambda self, place: dialled.append(place))
    dial("rebinding.example", 80, 1, NONE).close()
    assert (asked, dialled) == (["rebinding.example"], [("8.8.8.8", 80)])


def test_a_name_of_which_one_address_is_private_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 80)) for one in ("8.8.8.8", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: found)
    with pytest.raises(NotAllowed, match=r"^two.example leads to 10.0.0.1, which is in a network"):
        dial("two.example", 80, 1, NONE)


def test_kafka_clients_ask_it_too(only_public: None, broker: str) -> None:
    with pytest.raises(Exception, match="is in a network that is not allowed"):
        look(broker, "nothing")
    with pytest.raises(kafka_connection.KafkaConnectionError):
        Connection(broker, secure_options(PLAINTEXT))
    assert secure_options(PLAINTEXT)["proxy_url"] == OPTIONS["proxy_url"]


def test_brokers_that_a_cluster_names_are_checked(monkeypatch: pytest.MonkeyPatch, broker: str) -> None:
    """Reached by a name that is allowed, it sends readers on to an address that is not."""
    asked = []
    real = addresses.resolved

    def resolved(host: str, port: int, networks: Any, setting: str = SETTING) -> Any:
        asked.append(host)
        return real(host, port, networks_of(DEFAULT) if host == "localhost" else networks, setting)

    monkeypatch.setenv(SETTING, "")
    monkeypatch.setattr(addresses, "resolved", resolved)
    with pytest.raises(SourceProblem):
        look(broker.replace("127.0.0.1", "localhost"), "nothing")
    assert asked[-1] == "127.0.0.1"


def test_a_registry_is_asked_where_it_is_allowed_and_redirects_are_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met = []

    class Redirecting(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            met.append(self.path)
            self.send_response(302)
            self.send_header("Location", f"{elsewhere}/schemas/ids/7")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with served(known(7, {"type": "record", "name": "R", "fields": []})) as elsewhere:
        server = HTTPServer(("127.0.0.1", 0), Redirecting)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(SourceProblem, match=r"answered with status 302\.$"):
                schemas_of(address)(7)
            assert schemas_of(elsewhere)(7)
            monkeypatch.setenv(SETTING, "")
            schemas_of.cache_clear()
            with pytest.raises(InvalidAddress, match=f"allows networks in {SETTING}"):
                check_address(address)
            with pytest.raises(SourceProblem, match=f"allows networks in {SETTING}"):
                schemas_of(address.replace("127.0.0.1", "127.1"))(7)
        finally:
            server.shutdown()
            server.server_close()
    assert met == ["/schemas/ids/7"]
