"""Where addresses that people type may lead: all that a name resolves to is checked, and that is dialled.

A name could lead elsewhere when it is looked up again, so it is looked up once. The same holds for brokers
that a cluster sends its readers on to. Public addresses are allowed, and the networks of a setting; what
stands for another address (IPv4 within IPv6, NAT64, 6to4, Teredo) is as good as that one.
"""

import os
import socket
import ssl
import time
from collections.abc import Sequence
from functools import lru_cache
from http.client import HTTPConnection
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import SplitResult

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

SETTING = "MILLRACE_ALLOWED_NETWORKS"  # for clusters and registries; those stand in private networks mostly
DEFAULT = "127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7"
# They give a cloud's credentials to anybody: allowed where a network is one of them alone, or everything.
METADATA = frozenset(
    map(ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"))
)
# NAT64, IPv4-compatible, IPv4-mapped and IPv4-translated addresses: the last 32 bits are the address.
_WITHIN = tuple(
    map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0/96", "::ffff:0:0:0/96"))
)
_LAST_32 = 0xFFFF_FFFF
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)

Found = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]


class NotAllowed(OSError):
    """An address that leads where it may not; the message is the sentence shown to people."""


def networks_of(text: str) -> tuple[IpNetwork, ...]:
    """The networks of a setting; raises ValueError.

    >>> networks_of("10.0.0.0/8, ::1/128")
    (IPv4Network('10.0.0.0/8'), IPv6Network('::1/128'))
    """
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


def allowed_networks() -> tuple[IpNetwork, ...]:
    """Those of the setting, which the processes of the job have, too."""
    return _parsed(os.environ.get(SETTING, DEFAULT))


_parsed = lru_cache(maxsize=8)(networks_of)


def is_allowed(address: IpAddress, networks: Sequence[IpNetwork]) -> bool:
    """Whether an address is public or in one of the networks; or else what it stands for."""
    if isinstance(address, IPv6Address):
        address = IPv6Address(int(address))  # whatever its zone
        if meant := _meant(address):
            return all(is_allowed(one, networks) for one in meant)
        if _tunnelled(address) and not is_allowed(IPv4Address(int(address) & _LAST_32), networks):
            return False
    holding = [one for one in networks if address.version == one.version and address in one]
    if address in METADATA:
        return any(one.prefixlen in (0, one.max_prefixlen) for one in holding)
    return bool(holding) or (address.is_global and not address.is_multicast)


def _meant(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address stands for, if it does."""
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if any(address in one for one in _WITHIN) and int(address) > 1:  # neither :: nor ::1
        return (IPv4Address(int(address) & _LAST_32),)
    return ()


def _tunnelled(address: IPv6Address) -> bool:
    """Whether its host part is an IPv4 address, as ISATAP has it."""
    return int(address) >> 32 & _LAST_32 in _ISATAP


def not_allowed(host: str, found: str, setting: str = SETTING) -> str:
    leads = host if host == found else f"{host} leads to {found}, which"
    return f"{leads} is in a network that is not allowed: the administrator allows networks in {setting}."


def problem_of_literal(host: str, networks: Sequence[IpNetwork], setting: str = SETTING) -> str:
    """Why a host may not be dialled, as far as can be said without looking its name up; or nothing."""
    try:
        literal = ip_address("127.0.0.1" if host.rstrip(".").lower() == "localhost" else host)
    except ValueError:
        return ""
    return "" if is_allowed(literal, networks) else not_allowed(host, host, setting)


def resolved(host: str, port: int, networks: Sequence[IpNetwork], setting: str = SETTING) -> list[Found]:
    """All that a name leads to, or NotAllowed if any of it is not to be dialled."""
    found = socket.getaddrinfo(host, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    for *_, place in found:
        if not is_allowed(ip_address(place[0]), networks):
            raise NotAllowed(not_allowed(host, str(place[0]), setting))
    return found  # type: ignore[return-value]


def dial(
    host: str, port: int, seconds: float, networks: Sequence[IpNetwork] | None = None, setting: str = SETTING
) -> socket.socket:
    """Connected to the first address of a name that answers, after all of them were checked."""
    places = resolved(host, port, allowed_networks() if networks is None else networks, setting)
    ends = time.monotonic() + seconds
    for number, (family, kind, protocol, _, place) in enumerate(places, 1):
        dialled = socket.socket(family, kind, protocol)
        dialled.settimeout(max(0.05, ends - time.monotonic()))
        try:
            dialled.connect(place)
            return dialled
        except OSError:
            dialled.close()
            if number == len(places):
                raise
    raise socket.gaierror(socket.EAI_NONAME, f"{host} leads nowhere")


def http(
    parts: SplitResult, seconds: float, networks: Sequence[IpNetwork] | None = None, setting: str = SETTING
) -> HTTPConnection:
    """A connection that is made already, to an address that was checked; it follows no redirects."""
    host = str(parts.hostname)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = HTTPConnection(host, port, timeout=seconds)
    dialled = dial(host, port, seconds, networks, setting)
    if parts.scheme == "https":
        dialled = ssl.create_default_context().wrap_socket(dialled, server_hostname=host)
    connection.sock = dialled
    return connection
