"""Sources and tokens as people handle them: a guarded cluster, a refused message, a change, a goodbye."""

import io
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import fastavro
import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Page, expect

from streaming.topics import create_topics
from tests.avro import written
from tests.browser.conftest import PASSWORD as OWN_PASSWORD
from tests.browser.conftest import Millrace
from tests.browser.steps import wait_until_true
from tests.browser.test_path import drawn
from tests.secured import PASSWORD, SecuredBroker

pytestmark = [pytest.mark.browser, pytest.mark.spark]

FIELDS = [("ts", "integer"), ("order", "text"), ("total", "number")]


def produce(servers: str, topic: str, values: list[bytes]) -> None:
    producer = KafkaProducer(bootstrap_servers=servers)
    for number, value in enumerate(values):
        producer.send(topic, value, partition=number % 2)
    producer.close()


def orders(count: int) -> list[bytes]:
    now = int(time.time() * 1000)
    made = [{"ts": now - n, "order": f"o{n}", "total": n + 0.5} for n in range(count)]
    return [json.dumps(one).encode() for one in made]


def call(page: Page, address: str, body: dict[str, Any]) -> Any:
    """What the page's own session may do over the API."""
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    answer = page.request.post(f"/api/{address}", data=body, headers={"X-CSRFToken": cookies["csrftoken"]})
    assert answer.status == 201, answer.text()
    return answer.json()


def add_source(
    page: Page,
    millrace: Millrace,
    name: str,
    *values: bytes,
    fields: list[tuple[str, str]] = FIELDS,
    **more: str,
) -> str:
    """A source on a topic of its own with these messages; the address of its page."""
    create_topics(millrace.bootstrap_servers, [NewTopic(name, 2, 1)])
    produce(millrace.bootstrap_servers, name, list(values))
    servers = {"name": f"Kafka of {name}", "bootstrap_servers": millrace.bootstrap_servers}
    told = {
        "name": name,
        "connection": call(page, "connections", servers)["key"],
        "topic": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
        "event_time": "ts",
        **more,
    }
    return f"/sources/{call(page, 'sources', told)['key']}/"


def test_a_source_behind_tls_and_a_login_is_added_and_read(page: Page, secured: SecuredBroker) -> None:
    create_topics(secured.bootstrap_servers, [NewTopic("guarded", 2, 1)])
    produce(secured.bootstrap_servers, "guarded", orders(20))
    page.goto("/sources/new/")
    if page.get_by_role("button", name="New connection").count():
        page.get_by_role("button", name="New connection").click()
    page.get_by_label("Name", exact=True).fill("Guarded Kafka")
    page.get_by_label("Bootstrap servers", exact=True).fill(secured.at("tlslogin"))
    page.get_by_label("Security protocol").select_option("SASL_SSL")
    page.get_by_label("Mechanism").select_option("SCRAM-SHA-512")
    page.get_by_label("User name").fill("ana")
    page.get_by_label("Password").fill("not hers")
    page.get_by_label("CA certificate").fill(secured.authority.certificate)
    tested, form = page.locator("#tested"), page.get_by_role("form", name="New connection")
    form.get_by_role("button", name="Test connection").click()
    expect(tested).to_contain_text("refused the user name or the password")
    page.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Test connection").click()
    expect(tested).to_contain_text("Connected.")
    page.get_by_role("button", name="Save connection").click()

    page.get_by_role("button", name="guarded", exact=True).click()
    expect(page.get_by_text("guarded has 2 partitions and keeps 20 messages")).to_be_visible()
    expect(page.get_by_label("Field", exact=True)).to_have_value("ts")
    page.get_by_label("Type of order").select_option("")
    page.get_by_label("Allowed lateness", exact=True).fill("7s")
    page.get_by_label("Name", exact=True).fill("Guarded orders")
    page.get_by_role("button", name="Test connection").click()  # a step back, and on again
    expect(page.locator("#topics-found")).to_contain_text("guarded")
    with page.expect_response("**/sources/probe/"):
        page.get_by_role("button", name="Read messages").click()
    expect(page.get_by_label("Type of order")).to_have_value("")
    expect(page.get_by_label("Allowed lateness", exact=True)).to_have_value("7s")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Guarded orders")
    page.get_by_role("button", name="Save source").click()
    page.wait_for_url("**/sources/guarded-orders**")

    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#checked")).to_contain_text("guarded holds 20 messages in 2 partitions.")
    page.get_by_role("link", name="Messages").click()
    expect(page.locator(".message-line")).to_have_count(20)
    page.get_by_text("Since time", exact=True).click()
    page.get_by_label("Since", exact=True).fill("1h ago")
    page.get_by_label("Since", exact=True).press("Enter")
    expect(page.locator(".message-head")).to_contain_text("20 since then")
    page.get_by_label("Since", exact=True).fill("soon")
    page.get_by_label("Since", exact=True).press("Enter")
    expect(page.locator("#message-page")).to_contain_text(
        "“soon” is not a time: write it as 2026-11-16 09:30"
    )


def test_a_connection_that_is_being_typed_outlives_a_reload_but_its_secrets_do_not(page: Page) -> None:
    for address, draft in (("/connections/new/", "connection.new"), ("/sources/new/", "connection.wizard")):
        page.goto(address)
        if page.get_by_role("button", name="New connection").count():
            page.get_by_role("button", name="New connection").click()
        page.locator(".connection-form").get_by_label("Name", exact=True).press_sequentially("Harbour")
        page.get_by_label("Security protocol").select_option("SASL_SSL")
        page.get_by_label("User name").press_sequentially("ana")
        page.get_by_label("Password").press_sequentially("typed-in-vain")
        page.get_by_text("Client certificate").first.click()
        page.get_by_label("Client key").press_sequentially("a-private-key")
        expect(page.locator("[data-draft-note]")).to_contain_text("Draft kept")
        kept = page.evaluate(f"localStorage.getItem('millrace.draft.{draft}')")
        assert "Harbour" in kept
        assert "typed-in-vain" not in kept
        assert "a-private-key" not in kept

        page.reload()
        form = page.locator(".connection-form")
        expect(form.get_by_label("Name", exact=True)).to_have_value("Harbour")
        expect(page.get_by_label("User name")).to_have_value("ana")
        expect(page.get_by_label("Password")).to_have_value("")
        page.get_by_label("Security protocol").select_option("PLAINTEXT")
        form.get_by_label("Name", exact=True).fill(f"Harbour of {draft}")
        form.get_by_label("Bootstrap servers", exact=True).fill("127.0.0.1:1")
        form.get_by_role("button", name="Save connection").click()
        expect(page.locator(".connection-form")).to_have_count(0)
        wait_until_true(page, f"localStorage.getItem('millrace.draft.{draft}') === null")


def asked_with(token: str, address: str) -> tuple[int, Any]:
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_a_token_is_shown_once_copied_used_and_revoked(page: Page, millrace: Millrace) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/tokens/")
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Current password").fill(OWN_PASSWORD)
    page.get_by_role("button", name="Make token").click()
    page.get_by_role("button", name="Copy token").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    token = page.evaluate("navigator.clipboard.readText()")
    assert token == page.locator("#token").inner_text()
    status, told = asked_with(token, f"{millrace.address}/api/sources")
    assert (status, sorted(told)) == (200, ["count", "items"])

    page.goto("/tokens/")
    assert token not in page.content()
    page.get_by_role("button", name="Revoke nightly").click()
    page.get_by_role("button", name="Revoke token").click()
    expect(page.get_by_text("Revoked “nightly”.")).to_be_visible()
    status, told = asked_with(token, f"{millrace.address}/api/sources")
    assert status == 401
    assert "it was revoked" in told["problem"]


def test_a_refused_message_is_found_with_its_reason_and_a_used_source_says_whom_a_change_stops(
    page: Page, millrace: Millrace
) -> None:
    source = add_source(page, millrace, "refunds", *orders(10))
    computation = {"aggregate": "sum", "field": "total"}
    call(
        page,
        "queries",
        {"source": "refunds", "name": "Totals", "computations": [computation], "windows": "1s"},
    )
    broken = json.dumps({"ts": "soon", "order": "o77", "total": 5}).encode()
    produce(millrace.bootstrap_servers, "refunds", [broken])

    letters = page.locator("#letters")
    deadline = time.monotonic() + 150  # the job may have to start first
    page.goto(f"{source}?tab=dead-letters")
    while not letters.get_by_text("o77").count():
        assert time.monotonic() < deadline, letters.inner_text()
        page.wait_for_timeout(1_000)
        page.reload()
        expect(letters).not_to_contain_text("Reading the dead letters")
    expect(letters.locator(".letter-reason")).to_contain_text("ts is text, not a number.")
    expect(page.get_by_role("link", name="Dead letters 1")).to_be_visible()
    letters.get_by_role("button", name="offset").click()
    expect(page.locator("#inspector")).to_contain_text('"ts": "soon"')

    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_text("1 query pauses for that long: “Totals”.")).to_be_visible()
    page.get_by_role("link", name="Delete source").click()
    expect(page.get_by_role("heading", name="Deleted with it")).to_be_visible()
    expect(page.locator(".goes-along")).to_contain_text("Totals")


def test_messages_that_were_refused_are_counted_once_the_source_is_mended(
    page: Page, millrace: Millrace
) -> None:
    now = int(time.time() * 1000)
    parcels = [json.dumps({"ts": now - n, "parcel": n}).encode() for n in range(10)]
    fields = [("sent", "integer"), ("ts", "integer"), ("parcel", "integer")]
    source = add_source(page, millrace, "parcels", *parcels, fields=fields, event_time="sent")
    counted = {"computations": [{"aggregate": "distinct_count", "field": "parcel"}], "windows": "1m"}
    key = call(page, "queries", {"source": "parcels", "name": "Parcels", **counted})["key"]
    wait_until_refused(page, source, 10)
    expect(page.locator("#letters")).to_contain_text("No event time in sent.")

    page.goto(f"{source}?tab=settings")
    page.locator("#id_event_time").select_option("ts")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("Saved “parcels”.")).to_be_visible()
    check_again(page, source, 10)
    wait_until_counted(page, key, 10)


def test_avro_messages_that_were_refused_are_counted_once_the_schema_is_mended(
    page: Page, millrace: Millrace
) -> None:
    fields = [{"name": "ts", "type": "long"}, {"name": "crate", "type": "string"}]
    schema = {"type": "record", "name": "Crate", "fields": [*fields, {"name": "kg", "type": "double"}]}
    now = int(time.time() * 1000)
    crates = [written(schema, {"ts": now - n, "crate": f"c{n}", "kg": n / 2}) for n in range(10)]
    too_short = json.dumps({**schema, "fields": fields}, indent=2)
    known = [("ts", "integer"), ("crate", "text")]
    source = add_source(page, millrace, "crates", *crates, fields=known, format="avro", avro_schema=too_short)
    counted = {"computations": [{"aggregate": "count"}], "windows": "1m"}
    key = call(page, "queries", {"source": "crates", "name": "Crates", **counted})["key"]
    wait_until_refused(page, source, 10)
    expect(page.locator("#letters")).to_contain_text("8 more bytes than the schema has")

    page.goto(f"{source}?tab=settings")
    expect(page.get_by_text("With another Avro schema")).to_contain_text("the source starts anew")
    expect(page.get_by_text("1 query pauses for that long: “Crates”.")).to_be_visible()
    page.get_by_label("Avro schema").fill("{")
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("The Avro schema of the source cannot be read.")).to_be_visible()
    page.get_by_label("Avro schema").fill(json.dumps(schema, indent=2))
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("Saved “crates”.")).to_be_visible()
    check_again(page, source, 10)
    wait_until_counted(page, key, 10)


def wait_until_refused(page: Page, source: str, count: int) -> None:
    deadline = time.monotonic() + 150  # the job may have to start first
    page.goto(f"{source}?tab=dead-letters")
    while not page.get_by_role("link", name=f"Dead letters {count}").count():
        assert time.monotonic() < deadline, page.locator("#letters").inner_text()
        page.wait_for_timeout(1_000)
        page.reload()
        expect(page.locator("#letters")).not_to_contain_text("Reading the dead letters")


def check_again(page: Page, source: str, count: int) -> None:
    """All that were refused would be read now."""
    page.goto(f"{source}?tab=dead-letters")
    page.get_by_role("button", name="Would they be read now?").click()
    expect(page.locator("#letter-check")).to_contain_text(f"{count} of the newest {count} would be read")


@contextmanager
def young_registry() -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a schema registry, and the schemas that it knows by now: none."""
    known: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            schema = known.get(self.path.removeprefix("/schemas/ids/"))
            self.send_response(404 if schema is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"schema": schema}).encode())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", known
    server.shutdown()


def avro(schema: dict[str, Any], number: int, record: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, schema, record)
    return b"\0" + number.to_bytes(4, "big") + body.getvalue()


def test_messages_whose_schema_came_late_are_counted_once_somebody_has_them_read_again(
    page: Page, millrace: Millrace
) -> None:
    now = int(time.time() * 1000)
    fields = [{"name": "ts", "type": "long"}, {"name": "ship", "type": "long"}]
    schema = {"type": "record", "name": "Ship", "fields": fields}
    ships = [avro(schema, 3, {"ts": now - n, "ship": n}) for n in range(10)]
    with young_registry() as (address, known):
        reading = {"format": "avro-registry", "registry": address}
        names = [("ts", "integer"), ("ship", "integer")]
        source = add_source(page, millrace, "ships", *ships, fields=names, **reading)
        counted = {"computations": [{"aggregate": "distinct_count", "field": "ship"}], "windows": "1m"}
        key = call(page, "queries", {"source": "ships", "name": "Ships", **counted})["key"]
        deadline = time.monotonic() + 150  # the job may have to start first
        page.goto(f"{source}?tab=dead-letters")
        while not page.get_by_role("link", name="Dead letters 10").count():
            assert time.monotonic() < deadline, page.locator("#letters").inner_text()
            page.wait_for_timeout(1_000)
            page.reload()
            expect(page.locator("#letters")).not_to_contain_text("Reading the dead letters")
        page.get_by_role("button", name="Would they be read now?").click()
        expect(page.locator("#letter-check")).to_contain_text("0 of the newest 10 would be read")
        expect(page.get_by_role("button", name="Read them again")).to_have_count(0)

        known["3"] = json.dumps(schema)
        page.get_by_role("button", name="Would they be read now?").click()
        expect(page.locator("#letter-check")).to_contain_text("10 of the newest 10 would be read")
        page.get_by_role("button", name="Read them again").click()
        dialog = page.get_by_role("dialog", name="Read ships again?")
        expect(dialog).to_contain_text("1 query pauses for that long: “Ships”.")
        dialog.get_by_role("button", name="Read it again").click()
        expect(page.get_by_text("Reading “ships” again.")).to_be_visible()
        wait_until_counted(page, key, 10)


def wait_until_counted(page: Page, key: str, count: int) -> None:
    """So many events are in all windows that the query's chart draws."""
    page.goto(f"/queries/{key}/")
    deadline = time.monotonic() + 150  # the job may have to start first
    while (told := [sum(value for _, value, _ in points) for points in drawn(page).values()]) != [count]:
        assert time.monotonic() < deadline, told
        page.wait_for_timeout(500)
