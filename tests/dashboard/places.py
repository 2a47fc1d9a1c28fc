"""Sources and connections for tests that do not care how they are reached."""

from typing import Any

from dashboard.connections.keys import free_key
from dashboard.models import Connection, Source
from streaming.security import PLAINTEXT, Security


def connection_to(bootstrap_servers: str, security: Security = PLAINTEXT, **more: Any) -> Connection:
    """One that has this address and security, made if there is none."""
    found = {"bootstrap_servers": bootstrap_servers, **security.to_json()}
    known = Connection.objects.filter(**found).first()
    name = more.pop("name", bootstrap_servers)
    return known or Connection.objects.create(key=free_key(Connection, name), name=name, **found, **more)


def source_at(bootstrap_servers: str = "127.0.0.1:1", **more: Any) -> Source:
    return Source.objects.create(connection=connection_to(bootstrap_servers), **more)
