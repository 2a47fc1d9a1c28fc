"""Who may read which topic, wherever one can be named: wizard, API, another connection, a source's pages."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.levels import NOTHING
from dashboard.accounts.rights import may_see, visible_sources
from dashboard.accounts.tokens import make_token
from dashboard.bin.actions import delete
from dashboard.models import Connection, Grant, Source
from dashboard.sources.topic_rights import hidden_topics, readable, refusal
from streaming.topics import Topics, create_topics
from tests.dashboard.places import connection_to, source_at

SERVERS = "127.0.0.1:1"
OWN = "Topics that begin with “millrace.” are Millrace’s own: administrators alone read them."
HIDDEN = "“orders” is read by a source that you may not see: ask its owner, or an administrator."


@pytest.fixture
def orders(ana: User) -> Source:
    """A private source of Ana's."""
    return source_at(key="orders", name="Orders", topic="orders", created_by=ana, for_all=NOTHING)


def added_by(person: User, connection: Connection, topic: str) -> Any:
    sent = {
        "name": f"Mine {topic}",
        "connection": connection.key,
        "topic": topic,
        "fields": [{"name": "a", "type": "text"}],
    }
    token = make_token(person, "script", None)[1]
    headers = {"Authorization": f"Bearer {token}"}
    return Client().post("/api/sources", sent, content_type="application/json", headers=headers)


def test_a_topic_of_a_private_source_is_read_by_those_who_see_the_source(
    orders: Source, ana: User, bo: User, ada: User
) -> None:
    refused = added_by(bo, orders.connection, "orders")
    assert refused.status_code == 422 and refused.json()["problems"]["topic"] == HIDDEN
    for person in (ana, ada):
        assert refusal(person, orders.connection, "orders") == ""
    assert added_by(bo, orders.connection, "others").status_code == 201
    Grant.objects.create(source=orders, person=bo)
    assert added_by(bo, orders.connection, "orders").status_code == 201


def test_a_topic_that_a_source_for_all_reads_too_is_no_secret(orders: Source, bo: User) -> None:
    source_at(key="open", name="Open", topic="orders")
    assert hidden_topics(bo, orders.connection) == set()


def test_another_connection_to_the_same_servers_leads_to_the_same_topics(orders: Source, bo: User) -> None:
    same = connection_to(f"other:9092, {SERVERS}", name="Same", created_by=bo)
    other = connection_to("other:9092", name="Other", created_by=bo)
    assert refusal(bo, same, "orders") == HIDDEN
    assert refusal(bo, other, "orders") == ""
    assert readable(bo, same, ["orders", "millrace.results", "free"]) == ["free"]


def test_a_source_does_not_move_to_where_its_topic_is_somebody_else_s(
    orders: Source, bo: User, as_bo: Client
) -> None:
    elsewhere = connection_to("other:9092", name="Elsewhere", created_by=bo)
    mine = Source.objects.create(
        key="mine", name="Mine", topic="orders", connection=elsewhere, created_by=bo, schema=[["a", "text"]]
    )
    refused = as_bo.post("/sources/mine/settings/", {"connection": orders.connection.key})
    assert refused.status_code == 422 and HIDDEN in refused.content.decode()
    mine.refresh_from_db()
    assert mine.connection == elsewhere


def test_millrace_s_own_topics_are_an_administrator_s_who_is_warned(bo: User, ada: User) -> None:
    connection = connection_to(SERVERS)
    refused = added_by(bo, connection, "millrace.results")
    assert refused.status_code == 422 and refused.json()["problems"]["topic"] == OWN
    told = added_by(ada, connection, "millrace.results")
    assert told.status_code == 201
    assert told.json()["note"].startswith(
        "“millrace.results” is Millrace’s own: it holds what belongs to everybody."
    )
    assert added_by(ada, connection, "orders").json()["note"] is None


def test_a_source_of_an_own_topic_is_seen_by_administrators_alone(bo: User, ada: User, as_bo: Client) -> None:
    """Also one that was added when everybody could, and whoever owns it."""
    own = source_at(key="own", name="Own", topic="millrace.results", created_by=bo)
    assert (may_see(bo, own), may_see(ada, own)) == (False, True)
    assert own not in visible_sources(bo) and own in visible_sources(ada)
    for place in ("", "messages/"):
        assert as_bo.get(f"/sources/own/{place}").status_code in (403, 404)


def test_the_wizard_neither_offers_nor_shows_them(
    broker: str,
    fill_topic: Callable[..., str],
    as_bo: Client,
    client: Client,
    ana: User,
    ada: User,
    settings: LazySettings,
) -> None:
    settings.TOPIC_PREFIX = f"own-{uuid4().hex[:8]}"
    create_topics(broker, Topics(settings.TOPIC_PREFIX).shared())
    own = f"{settings.TOPIC_PREFIX}.results"
    private, free = fill_topic([{"secret": 1}]), fill_topic([{"a": 1}])
    source = source_at(broker, key="p", name="P", topic=private, created_by=ana, for_all=NOTHING)

    def probe(who: Client, topic: str) -> str:
        return who.post(
            "/sources/probe/", {"connection": source.connection.key, "topic": topic}
        ).content.decode()

    listed = probe(as_bo, "")
    assert f'data-topic="{free}"' in listed
    assert private not in listed and settings.TOPIC_PREFIX not in listed
    for topic in (private, own):
        assert "secret" not in probe(as_bo, topic) and "administrator" in probe(as_bo, topic)
    client.force_login(ada)
    assert f'data-topic="{private}"' in probe(client, "")
    assert "5 topics of Millrace itself" in probe(client, "")
    assert "is Millrace’s own: it holds what belongs to everybody" in probe(client, own)


def test_a_private_source_in_the_bin_keeps_its_topic_private(orders: Source, ana: User, bo: User) -> None:
    connection = orders.connection
    delete([orders], ana)
    assert refusal(bo, connection, "orders") == HIDDEN
    assert refusal(ana, connection, "orders") == ""
