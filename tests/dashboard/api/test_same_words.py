"""The API refuses what the forms of the pages refuse, in the same words."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape

from dashboard.models import Connection, SavedQuery, Source
from tests.dashboard.api.conftest import Ask
from tests.dashboard.places import connection_to

QUERY: dict[str, Any] = {
    "source": "sensors",
    "name": "Mean temp",
    "computations": [{"aggregate": "mean", "field": "temp"}],
    "windows": "1m every 10s",
    "group_by": [],
    "where": "",
}
CONNECTION: dict[str, Any] = {"name": "Plant", "bootstrap_servers": "kafka:9092", "protocol": "PLAINTEXT"}
SOURCE: dict[str, Any] = {
    "name": "web",
    "connection": "cluster",
    "topic": "web",
    "format": "json",
    "fields": [{"name": "ts", "type": "integer"}, {"name": "route", "type": "text"}],
    "time_source": "field",
    "event_time": "ts",
    "time_unit": "ms",
    "allowed_lateness": "10s",
}


def compute(*lines: tuple[str, str | None], **given: float) -> dict[str, Any]:
    return {"computations": [{"aggregate": aggregate, "field": field, **given} for aggregate, field in lines]}


def query_form(sent: dict[str, Any]) -> dict[str, Any]:
    """The same as the builder sends it."""
    lines = sent.pop("computations")
    return {
        **sent,
        "aggregate": [one["aggregate"] for one in lines],
        "field": [one["field"] or "" for one in lines],
        "parameter": [str(one.get("fraction", one.get("k", ""))) for one in lines],
    }


def source_form(sent: dict[str, Any]) -> dict[str, Any]:
    """The same as the wizard sends it."""
    fields = sent.pop("fields")
    mark = f"{sent['connection']} {sent['topic']} {sent['format']}"
    names, kinds = [one["name"] for one in fields], [one["type"] for one in fields]
    return {**sent, "field": names, "kind": kinds, "tested": mark}


def check_same(response: Any, page: Any, field: str) -> None:
    """Both refuse; the page has the sentence of the API, and it is about this field."""
    assert (response.status_code, page.status_code) == (422, 422)
    problems = response.json()["problems"]
    assert field in problems
    for sentence in problems.values():
        assert escape(sentence) in page.content.decode()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"name": "Mean\0temp"}, "name"),
        ({"name": "\x1b[2J" + "x" * 121}, "name"),
        ({"name": "Mean\ttemp"}, "name"),
        ({"windows": "1m\0"}, "windows"),
        ({"where": "temp > 3\n AND \x07 ok"}, "where"),
        ({"group_by": ["de\0vice"]}, "group_by"),
        (compute(("max", "te\0mp")), "computations"),
        ({"source": "nowhere"}, "source"),
        ({"windows": ""}, "windows"),
        ({"windows": "1m every soon"}, "windows"),
        ({"windows": "1m, 1m every 10s, 1m every 10s"}, "windows"),
        ({"windows": "1m every 2m every 3m"}, "windows"),
        ({"where": "tmep > 3"}, "where"),
        ({"where": "temp >"}, "where"),
        ({"where": "temp"}, "where"),
        ({"where": "(" * 5000}, "where"),
        ({"group_by": ["colour"]}, "group_by"),
        (compute(), "computations"),
        (compute(("mean", "temp"), ("mean", "temp")), "computations"),
        (compute(("mean", None)), "computation-0"),
        (compute(("mean", "device")), "computation-0"),
        (compute(("count", None), ("median-ish", "temp")), "computation-1"),
        (compute(("max", "temp + ")), "computation-0"),
        (compute(("percentile", "temp"), fraction=1.5), "computation-0"),
        (compute(("top_k", "temp"), k=1001), "computation-0"),
        (compute(("max", "(" * 5000)), "computation-0"),
        ({"name": "", "windows": "x", "where": "y"}, "where"),
    ],
)
def test_a_query(ask: Ask, as_ana: Client, sensors: Source, wrong: dict[str, Any], field: str) -> None:
    sent = {**QUERY, **wrong}
    check_same(ask("post", "queries", sent), as_ana.post("/queries/new/", query_form(dict(sent))), field)
    assert not SavedQuery.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": " "}, "name"),
        ({"windows": "0s"}, "windows"),
        ({"where": "nothing = 1"}, "where"),
        ({"group_by": ["colour"]}, "group_by"),
    ],
)
def test_a_changed_query(
    ask: Ask, as_ana: Client, hot: SavedQuery, wrong: dict[str, Any], field: str
) -> None:
    typed = query_form({**QUERY, **wrong})
    page = as_ana.post(f"/queries/{hot.key}/edit/", typed)
    check_same(ask("patch", f"queries/{hot.key}", wrong), page, field)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT",
        "SELECT max(temp) \0FROM sensors",
        "SELECT max(tmep) FROM sensors WINDOW TUMBLING (1m)",
        "SELECT count(*) FROM nowhere",
    ],
)
def test_a_query_in_sql(ask: Ask, as_ana: Client, sensors: Source, sql: str) -> None:
    page = as_ana.post("/queries/new/", {"view": "sql", "sql": sql, "name": "Q", "source": "sensors"})
    response = ask("post", "queries", {"sql": sql, "name": "Q", "source": "sensors"})
    assert response.status_code == page.status_code == 422
    shown = page.context["problems"]
    assert response.json()["problems"] == {field: problem.sentence for field, problem in shown.items()}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"source": "nowhere"}, "source"),
        ({"windows": "soon"}, "windows"),
        ({"where": "tmep > 3"}, "where"),
        (compute(("mean", "device")), "computation-0"),
    ],
)
def test_the_draft_of_a_back_test(
    ask: Ask, as_ana: Client, sensors: Source, wrong: dict[str, Any], field: str
) -> None:
    sent = {**QUERY, "name": "", **wrong}
    page = as_ana.post("/queries/backtests/", query_form(dict(sent)))
    check_same(ask("post", "backtests", sent), page, field)


@pytest.mark.parametrize("since", ["soon", "now-", "2026-13-01", "a\0b"])
def test_when_a_back_test_begins(
    ask: Ask, as_ana: Client, sensors: Source, settings: LazySettings, tmp_path: Path, since: str
) -> None:
    settings.VAR_DIR = tmp_path
    asked = as_ana.post("/queries/backtests/", query_form(dict(QUERY)))
    page = as_ana.post(f"{asked['Location']}run/", {"exactly": since})
    check_same(ask("post", "backtests", {**QUERY, "since": since}), page, "since")
    assert ask("get", "backtests").json()["count"] == 1  # the page's own, which waits for a time


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "CLUSTER"}, "name"),
        ({"name": "Pl\0ant"}, "name"),
        ({"name": "Plant\x9b1m"}, "name"),
        ({"protocol": "SASL_PLAINTEXT", "username": "a\0", "password": "p"}, "username"),
        ({"protocol": "SSL", "ca": "no\0certificate"}, "ca"),
        ({"bootstrap_servers": ""}, "bootstrap_servers"),
        ({"bootstrap_servers": " , "}, "bootstrap_servers"),
        ({"bootstrap_servers": "kafka"}, "bootstrap_servers"),
        ({"bootstrap_servers": "kafka:²"}, "bootstrap_servers"),
        ({"protocol": "HTTP"}, "protocol"),
        ({"protocol": "SASL_PLAINTEXT"}, "username"),
        ({"protocol": "SASL_PLAINTEXT", "username": "ana"}, "password"),
        ({"protocol": "SSL", "ca": "no certificate"}, "ca"),
        ({"protocol": "SSL", "certificate": "no certificate"}, "private_key"),
    ],
)
def test_a_connection(ask: Ask, as_ana: Client, wrong: dict[str, Any], field: str) -> None:
    connection_to("127.0.0.1:1", name="cluster")
    sent = {**CONNECTION, **wrong}
    check_same(ask("post", "connections", sent), as_ana.post("/connections/new/", sent), field)
    assert Connection.objects.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "we\0b"}, "name"),
        ({"name": "we\nb"}, "name"),
        ({"topic": "we\0b"}, "topic"),
        ({"fields": [{"name": "t\0s", "type": "integer"}]}, "fields"),
        ({"connection": "nowhere"}, "connection"),
        ({"topic": ""}, "topic"),
        ({"format": "xml"}, "format"),
        ({"format": "avro"}, "avro_schema"),
        ({"format": "avro-registry", "registry": "somewhere"}, "registry"),
        ({"fields": []}, "fields"),
        ({"fields": [{"name": "ts", "type": "date"}]}, "fields"),
        ({"fields": [{"name": "ts", "type": "integer"}] * 2}, "fields"),
        ({"event_time": ""}, "event_time"),
        ({"event_time": "when"}, "event_time"),
        ({"event_time": "route"}, "time_unit"),
        ({"event_time": "route", "time_unit": "pattern", "time_pattern": ""}, "time_pattern"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"allowed_lateness": "soon"}, "allowed_lateness"),
        ({"future_bound": "1"}, "future_bound"),
        ({"past_bound": "-1s"}, "past_bound"),
        ({"isolation": "serializable"}, "isolation"),
    ],
)
def test_a_source(ask: Ask, as_ana: Client, ana: User, wrong: dict[str, Any], field: str) -> None:
    connection_to("127.0.0.1:1", name="cluster")
    sent = {**SOURCE, **wrong}
    response, page = ask("post", "sources", sent), as_ana.post("/sources/new/", source_form(dict(sent)))
    assert (response.status_code, page.status_code) == (422, 422)
    errors = {name: lines[0] for name, lines in page.context["form"].errors.items()}
    errors = {{"schema": "fields"}.get(name, name): str(line) for name, line in errors.items()}
    assert response.json()["problems"] == errors
    assert field in errors
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"connection": "nowhere"}, "connection"),
        ({"event_time": "when"}, "event_time"),
        ({"allowed_lateness": ""}, "allowed_lateness"),
        ({"fields": [{"name": "other", "type": "text"}]}, "fields"),
        (
            {
                "fields": [
                    {"name": "ts", "type": "integer"},
                    {"name": "device", "type": "text"},
                    {"name": "temp", "type": "text"},
                    {"name": "ok", "type": "boolean"},
                ]
            },
            "fields",
        ),
    ],
)
def test_changed_settings(
    ask: Ask, as_ana: Client, hot: SavedQuery, wrong: dict[str, Any], field: str
) -> None:
    typed = dict(wrong)
    if "fields" in typed:
        fields = typed.pop("fields")
        typed |= {"field": [one["name"] for one in fields], "kind": [one["type"] for one in fields]}
    page = as_ana.post("/sources/sensors/settings/", typed)
    response = ask("patch", "sources/sensors", wrong)
    assert (response.status_code, page.status_code) == (422, 422)
    [(name, lines)] = page.context["form"].errors.items()
    assert response.json()["problems"] == {field: str(lines[0])}
    assert {"schema": "fields"}.get(name, name) == field


AVRO = '{"type": "record", "name": "R", "fields": [{"name": "ts", "type": "long"}]}'
GIVEN, BY_REGISTRY = {"avro_schema": AVRO}, {"registry": "http://registry:8081"}


@pytest.mark.parametrize(
    ("described", "wrong"),
    [
        (GIVEN, {"avro_schema": ""}),
        (GIVEN, {"avro_schema": "{"}),
        (GIVEN, BY_REGISTRY),
        (BY_REGISTRY, {"registry": ""}),
        (BY_REGISTRY, {"registry": "somewhere"}),
        (BY_REGISTRY, {"registry": "http://ana:secret@registry"}),
        (BY_REGISTRY, GIVEN),
    ],
)
def test_a_changed_description_of_avro(
    ask: Ask, as_ana: Client, sensors: Source, described: dict[str, str], wrong: dict[str, str]
) -> None:
    Source.objects.update(format="avro", **described)
    page, response = as_ana.post("/sources/sensors/settings/", wrong), ask("patch", "sources/sensors", wrong)
    assert (response.status_code, page.status_code) == (422, 422)
    [(field, lines)] = page.context["form"].errors.items()
    assert response.json()["problems"] == {field: str(lines[0])}
    assert [field] == [*wrong]
    assert Source.objects.filter(**described).exists()


def test_a_schema_that_can_be_read_is_taken(ask: Ask, sensors: Source) -> None:
    Source.objects.update(format="avro", avro_schema=AVRO)
    mended = AVRO.replace("long", "double")
    assert ask("patch", "sources/sensors", {"avro_schema": mended}).json()["avro_schema"] == mended
    assert ask("patch", "sources/sensors", {"name": "Plant"}).json()["avro_schema"] == mended
