"""What programs do over the API: the same as people on the pages, with the same rights."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.api.who import NO_CSRF, STRANGER, UNKNOWN_TOKEN
from dashboard.models import Connection, PlanVersion, SavedQuery, Source
from dashboard.planning.news import NOT_HEARD
from streaming.security import unseal
from tests.dashboard.api.conftest import Ask
from tests.dashboard.places import connection_to

SECRET = "heron-at-the-weir-8"
QUERY = {
    "source": "sensors",
    "name": "Mean temp",
    "computations": [{"aggregate": "mean", "field": "temp"}],
    "windows": "1m, 5m every 10s",
    "group_by": ["device"],
    "where": "ok",
    "tags": ["plant", " plant ", ""],
}


def test_a_query_is_added_looked_at_changed_deleted_and_brought_back(
    ask: Ask, ana: User, sensors: Source
) -> None:
    response = ask("post", "queries", QUERY)
    assert response.status_code == 201
    made = response.json()
    assert made["windows"] == [{"range": "1m", "slide": "10s"}, {"range": "5m", "slide": "10s"}]
    assert (made["owner"], made["tags"], made["note"]) == ("ana", ["plant"], NOT_HEARD)
    address = f"queries/{made['key']}"
    assert PlanVersion.objects.get().cause == "Ana added “Mean temp”"

    changed = ask("patch", address, {"where": "temp > 3"}).json()
    assert (changed["where"], changed["name"], changed["windows"]) == (
        "temp > 3",
        "Mean temp",
        made["windows"],
    )

    assert ask("delete", address).json()["name"] == "Mean temp"
    assert ask("get", address).status_code == 404
    assert ask("get", address).json() == {"problem": f"There is no query “{made['key']}”."}
    assert ask("post", f"{address}/restore").json()["key"] == made["key"]
    assert ask("get", address).json()["where"] == "temp > 3"
    assert PlanVersion.objects.count() == 4

    ask("delete", address)
    sensors.schema = [["ts", "integer"], ["device", "text"], ["temp", "text"], ["ok", "boolean"]]
    sensors.save()
    refused = ask("post", f"{address}/restore")
    assert refused.status_code == 422
    assert "“Mean temp” does not fit the fields of “sensors” any more" in refused.json()["problems"]["query"]


def test_a_query_is_paused_and_resumed(ask: Ask, hot: SavedQuery) -> None:
    assert ask("post", f"queries/{hot.key}/pause").json()["paused_at"]
    assert SavedQuery.objects.get().paused_by == hot.owner
    assert ask("post", f"queries/{hot.key}/resume").json()["paused_at"] is None


def test_a_topic_is_read_again(ask: Ask, sensors: Source) -> None:
    answer = ask("post", "sources/sensors/read-again")
    assert answer.status_code == 422
    sentence = "No query reads sensors: there is nothing to count again."
    assert answer.json()["problems"] == {"queries": sentence}
    ask("post", "queries", QUERY)
    before = sensors.spec().stream
    assert ask("post", "sources/sensors/read-again").json()["key"] == "sensors"
    assert Source.objects.get().spec().stream != before


def test_a_query_may_be_written_as_sql_and_windows_as_objects(ask: Ask, sensors: Source) -> None:
    sql = "SELECT max(temp) FROM sensors WHERE ok GROUP BY device WINDOW HOPPING (5m, 10s), TUMBLING (1h)"
    by_sql = ask("post", "queries", {"name": "Hot", "sql": sql}).json()
    parts = {
        "name": "Hot",
        "source": "sensors",
        "computations": [{"aggregate": "max", "field": "temp"}],
        "windows": [{"range": "5m", "slide": "10s"}, {"range": "1h"}],
        "group_by": ["device"],
        "where": "ok",
    }
    by_parts = ask("post", "queries", parts).json()
    same = ("source", "name", "computations", "windows", "group_by", "where")
    assert [by_sql[name] for name in same] == [by_parts[name] for name in same]
    windows = [{"count": 100, "every": 10}, {"gap": "30s"}]
    assert ask("patch", f"queries/{by_sql['key']}", {"windows": windows}).json()["windows"] == windows


def test_a_change_in_sql_stays_with_its_source(ask: Ask, hot: SavedQuery, ana: User) -> None:
    other = Source.objects.get()
    other.pk, other.key, other.name = None, "other", "other"
    other.save()
    sql = "SELECT count(*) FROM other WINDOW TUMBLING (1m)"
    problems = ask("patch", f"queries/{hot.key}", {"sql": sql}).json()["problems"]
    assert problems == {"source": "A query stays with its source: write FROM sensors, or make a new query."}


def test_tags_alone_make_no_plan(ask: Ask, hot: SavedQuery) -> None:
    assert ask("patch", f"queries/{hot.key}", {"tags": ["a"]}).json()["tags"] == ["a"]
    assert not PlanVersion.objects.exists()


def test_the_cost_of_a_query_is_told_and_nothing_is_saved(ask: Ask, hot: SavedQuery) -> None:
    told = ask("post", "queries/preview", {**QUERY, "name": ""}).json()
    assert [cell["label"] for cell in told["words"]][1:] == ["Load", "Sharing", "First result"]
    assert told["load_after"] >= told["load_before"]
    assert told["joins"][0]["tree"]
    assert ask("post", f"queries/{hot.key}/preview", {"windows": "1h"}).json()["first_result_seconds"] > 0
    assert SavedQuery.objects.count() == 1
    assert not PlanVersion.objects.exists()


def test_lists_come_in_parts(ask: Ask, hot: SavedQuery) -> None:
    for number in range(4):
        ask("post", "queries", {**QUERY, "name": f"Q{number}"})
    page = ask("get", "queries?limit=2&offset=1").json()
    assert (page["count"], [one["name"] for one in page["items"]]) == (5, ["Q0", "Q1"])
    assert ask("get", "queries?source=nowhere").json() == {"items": [], "count": 0}
    assert ask("get", "queries?limit=0").status_code == 422


def test_a_connection_is_added_and_changed_and_its_secrets_never_come_out(ask: Ask) -> None:
    login = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": "ana", "password": SECRET}
    response = ask("post", "connections", {"name": "Plant", "bootstrap_servers": "a:1", **login})
    assert response.status_code == 201
    assert (response.json()["key"], response.json()["has_password"]) == ("plant", True)
    renamed = ask("patch", "connections/plant", {"name": "Works"})
    assert (renamed.json()["name"], renamed.json()["username"]) == ("Works", "ana")
    saved = Connection.objects.get()
    assert unseal(saved.sealed_password) == SECRET
    listed = ask("get", "connections")
    for answer in (response, renamed, listed, ask("get", "connections/plant")):
        assert SECRET not in answer.content.decode()
        assert saved.sealed_password not in answer.content.decode()


def test_a_source_is_added_and_changed_and_its_plan_read(ask: Ask, ana: User) -> None:
    connection_to("kafka:9092", name="Plant")
    sent = {
        "name": "Web requests",
        "connection": "plant",
        "topic": "web.requests",
        "fields": [{"name": "at", "type": "text"}, {"name": "ms", "type": "number"}],
        "event_time": "at",
        "time_unit": "iso",
    }
    made = ask("post", "sources", sent)
    assert made.status_code == 201
    assert made.json()["key"] == "web-requests"
    assert (made.json()["time_source"], made.json()["future_bound"]) == ("field", "5m")
    assert ask("get", "sources/web-requests/plan").status_code == 404
    ask(
        "post",
        "queries",
        {"name": "All", "source": "web-requests", "computations": [{"aggregate": "count"}], "windows": "1m"},
    )
    changed = ask("patch", "sources/web-requests", {"allowed_lateness": "1m"})
    assert (changed.json()["allowed_lateness"], changed.json()["event_time"]) == ("1m", "at")
    plan = ask("get", "sources/web-requests/plan").json()
    assert (plan["version"], plan["cause"]) == (2, "Ana changed the settings of Web requests")
    assert ask("get", "sources").json()["items"] == [changed.json()]


def test_only_owners_and_administrators_change_things(ask_as_bo: Ask, hot: SavedQuery, bo: User) -> None:
    query, source = f"queries/{hot.key}", "sources/sensors"
    for method, address, sentence in [
        ("patch", query, "You may not change this query. Ana owns it."),
        ("delete", query, "You may not change this query. Ana owns it."),
        ("post", f"{query}/pause", "You may not change this query. Ana owns it."),
        ("post", f"{query}/resume", "You may not change this query. Ana owns it."),
        ("post", f"{query}/restore", "You may not change this query. Ana owns it."),
        ("patch", source, "You may not change this source. Ana added it."),
        ("delete", source, "You may not change this source. Ana added it."),
    ]:
        response = ask_as_bo(method, address, {})
        assert (response.status_code, response.json()) == (403, {"problem": sentence}), address
    connection = hot.source.connection.key
    assert ask_as_bo("delete", f"connections/{connection}").status_code == 403
    assert ask_as_bo("patch", f"connections/{connection}", {}).status_code == 403
    assert ask_as_bo("get", query).status_code == 200
    bo.is_staff = True
    bo.save()
    assert ask_as_bo("post", f"{query}/pause").status_code == 200


@pytest.mark.parametrize("token", ["", "nonsense", "millrace_" + "x" * 43, "\ud800"])
@pytest.mark.django_db
def test_a_token_that_nobody_made_is_refused(stranger: Client, token: str) -> None:
    header = f"Bearer {token}".encode("utf-8", "surrogatepass").decode("latin-1")
    response = stranger.get("/api/queries", headers={"Authorization": header})
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert response.json() == {"problem": UNKNOWN_TOKEN}


def test_a_bad_token_is_refused_though_the_cookie_is_good(as_ana: Client) -> None:
    assert as_ana.get("/api/queries").status_code == 200
    assert as_ana.get("/api/queries", headers={"Authorization": "Bearer nonsense"}).status_code == 401


def test_a_page_changes_things_with_its_csrf_token_alone(ana: User, hot: SavedQuery) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ana)
    refused = client.post(f"/api/queries/{hot.key}/pause")
    assert (refused.status_code, refused.json()) == (403, {"problem": NO_CSRF})
    client.get("/tokens/")  # sets the cookie
    csrf = {"X-CSRFToken": client.cookies["csrftoken"].value}
    assert client.post(f"/api/queries/{hot.key}/pause", headers=csrf).status_code == 200


@pytest.mark.parametrize(
    ("sent", "problems"),
    [
        ({"name": 5}, {"name": "“name” must be a text."}),
        ({"group_by": "device"}, {"group_by": "“group_by” must be a list."}),
        ({"group_by": [{}]}, {"group_by": "“group_by” must be a text."}),
        ({"colour": "red"}, {"colour": "There is no “colour” here."}),
        ({"computations": [{"field": "temp"}]}, {"computations": "“aggregate” is missing."}),
        (
            {"computations": [{"aggregate": "max", "field": "temp", "fraction": 0.9}]},
            {"computation-0": "The max has no “fraction”: only percentile has one."},
        ),
        ({"name": "a\0b"}, {"name": "Remove the control character U+0000 after “a”."}),
        ({"name": "\x1b[2J"}, {"name": "Remove the control character U+001B at the beginning."}),
        ({"tags": ["a\tb"]}, {"tags": "Remove the control character U+0009 after “a”."}),
        ({"windows": "1m\0"}, {"windows": "Remove the control character U+0000 after “1m”."}),
        ([], {"body": "“body” must be an object."}),
    ],
)
def test_what_has_not_the_right_shape_is_refused_in_words(ask: Ask, sent: Any, problems: Any) -> None:
    response = ask("post", "queries", sent)
    assert response.status_code == 422
    assert response.json() == {"problems": problems}


def test_what_is_not_json_is_refused_in_words(ask: Ask, as_ana: Client) -> None:
    response = as_ana.post("/api/queries", "{", content_type="application/json")
    assert (response.status_code, response.json()) == (400, {"problem": "The body is not JSON."})
    unknown = ask("get", "nothing/here")
    assert unknown.status_code == 404
    assert json.loads(unknown.content)["problem"].startswith("There is nothing at this address")


def test_the_reference_page_has_every_call_and_needs_nobody_elses_server(as_ana: Client, ask: Ask) -> None:
    described = ask("get", "openapi.json").json()
    page = as_ana.get("/api/docs").content.decode()
    for path, operations in described["paths"].items():
        for operation in operations.values():
            assert f'id="call-{operation["operationId"].replace("_", "-")}"' in page, path
    assert "https://" not in page
    assert as_ana.get("/api/").url == "/api/docs"


def test_a_stranger_hears_how_to_be_let_in(stranger: Client, db: None) -> None:
    assert stranger.get("/api/queries").json() == {"problem": STRANGER}
