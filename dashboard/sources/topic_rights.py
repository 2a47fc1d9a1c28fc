"""Who may read which topic: Millrace's own are an administrator's, and one that only private sources read is
hidden from who may not see any of them."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth.models import User

from dashboard.accounts.people import is_administrator
from dashboard.accounts.rights import visible_sources
from dashboard.connections.models import Connection
from dashboard.sources.models import Source


def own_prefix() -> str:
    """How the names of Millrace's own topics begin."""
    return f"{settings.TOPIC_PREFIX}."


def refusal(person: User, connection: Connection, topic: str) -> str:
    """Why a person may not read a topic; empty: they may."""
    if is_administrator(person):
        return ""
    if topic.startswith(own_prefix()):
        return f"Topics that begin with “{own_prefix()}” are Millrace’s own: administrators alone read them."
    if topic in hidden_topics(person, connection):
        return f"“{topic}” is read by a source that you may not see: ask its owner, or an administrator."
    return ""


def warning(topic: str) -> str:
    """What an administrator has to know of a topic; empty: nothing."""
    if not topic.startswith(own_prefix()):
        return ""
    return f"“{topic}” is Millrace’s own: it holds what belongs to everybody. Administrators alone see it."


def readable(person: User, connection: Connection, topics: Iterable[str]) -> list[str]:
    """Those of a cluster's topics that a person may read."""
    if is_administrator(person):
        return list(topics)
    hidden = hidden_topics(person, connection)
    return [name for name in topics if name not in hidden and not name.startswith(own_prefix())]


def hidden_topics(person: User, connection: Connection) -> set[str]:
    """Topics of a cluster that sources read, those in the bin too, but none that this person may see."""
    here = [one.pk for one in Connection.with_deleted.all() if _same_cluster(one, connection)]
    read = Source.with_deleted.filter(connection__in=here)
    seen = visible_sources(person, with_deleted=True).filter(connection__in=here)
    return set(read.values_list("topic", flat=True)) - set(seen.values_list("topic", flat=True))


def _same_cluster(one: Connection, other: Connection) -> bool:
    """Whether two connections have a server in common, or are one."""
    return one.pk == other.pk or not _servers(one).isdisjoint(_servers(other))


def _servers(connection: Connection) -> set[str]:
    return {server.strip().lower() for server in connection.bootstrap_servers.split(",")}
