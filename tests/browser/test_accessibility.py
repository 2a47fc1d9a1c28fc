"""Every page, empty and full, right and wrong: nothing grave for axe-core, no sideways scrolling, focus seen.

The first test needs a Millrace in which nothing was made yet: this file is the first of its folder.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.urls import URLPattern, URLResolver, get_resolver
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Browser, Locator, Page, Route, expect

from streaming.topics import create_topics
from tests.browser.conftest import PASSWORD, Millrace
from tests.browser.walk import SIZES, Walk

pytestmark = [pytest.mark.browser, pytest.mark.spark]

TOPIC = "rooms"
EMPTY = (
    "/",
    "/dashboards/",
    "/queries/",
    "/queries/new/",
    "/sources/",
    "/connections/",
    "/plan/",
    "/alerts/",
    "/bin/",
    "/tokens/",
)
API = "/api/"
API_PAGE = "/api/docs"
# What these pages are complete with; others are as soon as they are loaded.
COMPLETE = {
    "/dashboards/rooms/": ".key-table td.newest:not(:text('–'))",
    "/plan/": "[data-flow-box] svg",
    "/sources/rooms/": "#topic-partitions",
}
TABS = {
    "messages&seek=offset&partition=0&offset=1190": ".message-line",
    "consumers": ".middle, .list",
    "dead-letters": ".message-line",
    "settings": "#settings-title",
}
MEAN = {"computations": [{"aggregate": "mean", "field": "temp"}], "windows": "10s, 1m every 5s"}


@dataclass(frozen=True)
class Things:
    """What there is to show: the key of one of each."""

    connection: str
    source: str
    query: str
    board: str
    panel: str
    alert: str

    def addresses(self, patterns: list[Any], prefix: str = "/") -> Iterator[str]:
        """Every address of the URL map but those of programs, with things in the place of parameters."""
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from self.addresses(pattern.url_patterns, route)
            elif isinstance(pattern, URLPattern) and (route == API_PAGE or not route.startswith(API)):
                yield self._filled(route)

    def _filled(self, route: str) -> str:
        for parameter, example in {
            "/queries/backtests/<slug:key>": "/queries/backtests/none",
            "/connections/<slug:key>": f"/connections/{self.connection}",
            "/sources/<slug:key>": f"/sources/{self.source}",
            "/queries/<slug:key>": f"/queries/{self.query}",
            "/plan/<slug:key>": f"/plan/{self.source}",
            "/dashboards/<slug:slug>": f"/dashboards/{self.board}",
            "/dashboards/of-query/<slug:key>": f"/dashboards/of-query/{self.query}",
            "/panels/<int:pk>": f"/panels/{self.panel}",
            "/history/<slug:key>": f"/history/{self.query}",
            "/alerts/<slug:key>": f"/alerts/{self.alert}",
            "/bin/<slug:kind>/delete/": f"/bin/query/delete/?key={self.query}",
            "<slug:kind>": "query",
            "<slug:strategy>": "no_share",
            "<str:tree_id>": "1",
            "<str:task>": "none",
            "<uidb64>/<token>": "MQ/none",
            "<int:number>": "1",
            "<int:partition>/<int:offset>": "0/0",
            "<int:pk>": "1",
            "<str:token>": "token",
        }.items():
            route = route.replace(parameter, example)
        assert "<" not in route, f"Say here what may stand for the parameters of {route}"
        return route


class Program:
    """Calls the API with a token."""

    def __init__(self, page: Page, token: str) -> None:
        self.request, self.headers = page.request, {"Authorization": f"Bearer {token}"}

    def add(self, what: str, **body: Any) -> str:
        answer = self.request.post(f"/api/{what}", data=body, headers=self.headers)
        assert answer.ok, answer.text()
        key: str = answer.json()["key"]
        return key

    def pause(self, query: str) -> None:
        assert self.request.post(f"/api/queries/{query}/pause", headers=self.headers).ok

    def delete_all(self) -> None:
        for what in ("queries", "sources", "connections"):
            for one in self.request.get(f"/api/{what}", headers=self.headers).json()["items"]:
                answer = self.request.delete(f"/api/{what}/{one['key']}", headers=self.headers)
                assert answer.ok, answer.text()
        for one in reversed(self.request.get("/api/bin", headers=self.headers).json()["items"]):
            self.request.delete(f"/api/bin/{one['kind']}/{one['key']}", headers=self.headers)


@pytest.fixture(scope="module")
def walk(browser: Browser, millrace: Millrace) -> Iterator[Walk]:
    """The page of somebody who signs in at the second try."""
    context = browser.new_context(base_url=millrace.address, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    walk = Walk(context.new_page())
    walk.go("/sign-in/")
    sign_in(walk.page, "wrong")
    walk.page.get_by_role("alert").wait_for()
    walk.look("/sign-in/ with a wrong password")
    sign_in(walk.page, PASSWORD)
    walk.page.wait_for_url(lambda url: "sign-in" not in url)
    yield walk
    context.close()


def sign_in(page: Page, password: str) -> None:
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


@pytest.fixture(scope="module")
def things(walk: Walk, millrace: Millrace) -> Iterator[Things]:
    """One of each, gone again afterwards: other tests begin with nothing."""
    send_events(millrace)
    program = Program(walk.page, make_token(walk))
    connection = program.add("connections", name="Plant", bootstrap_servers=millrace.bootstrap_servers)
    kinds = {"ts": "integer", "room": "text", "temp": "number", "status": "text"}
    source = program.add(
        "sources",
        name=TOPIC,
        connection=connection,
        topic=TOPIC,
        fields=[{"name": name, "type": kind} for name, kind in kinds.items()],
        time_source="field",
        event_time="ts",
    )
    query = program.add("queries", source=source, name="Warmth", tags=["plant"], where="temp > 1", **MEAN)
    by_room = {"group_by": ["room"], "computations": [*MEAN["computations"], {"aggregate": "count"}]}
    grouped = program.add("queries", source=source, name="By room", windows="30s every 5s", **by_room)
    program.pause(program.add("queries", source=source, name="Paused", **MEAN))
    alert = program.add("alerts", query=query, name="Too warm", condition="above", threshold="1000")
    board, panel = make_board(walk.page, [query, grouped])
    yield Things(connection, source, query, board, panel, alert)
    program.delete_all()


def send_events(millrace: Millrace) -> None:
    """Four minutes up to now, and three messages that are refused."""
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, 2, 1)])
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers, linger_ms=5)
    began = int(time.time() * 1000) - 240_000
    for number in range(2_400):
        event = {"ts": began + number * 100, "room": f"r{number % 5}", "temp": 20 + number % 7}
        key = f"device-{number % 11}".encode()
        producer.send(TOPIC, json.dumps(event | {"status": "ok"}).encode(), key, partition=number % 2)
    for refused in (b"not JSON", b'{"ts": "yesterday"}', b"\xff\x00\x01"):
        producer.send(TOPIC, refused, partition=0)
    producer.close()


def make_token(walk: Walk) -> str:
    page = walk.page
    page.goto("/tokens/")
    page.get_by_role("button", name="Make token").click()
    page.locator(".problem").wait_for()
    walk.look("/tokens/ without a name")
    page.get_by_label("Name", exact=True).fill("walk")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Make token").click()
    token = page.locator("#token").inner_text()
    walk.look("/tokens/ with a new one")
    return token


def make_board(page: Page, queries: list[str]) -> tuple[str, str]:
    """Its key, and that of a panel."""
    page.goto("/dashboards/new/")
    page.get_by_label("Name", exact=True).fill("Rooms")
    page.get_by_role("button", name="Save dashboard").click()
    page.wait_for_url("**/dashboards/rooms/")
    for query in queries:
        page.wait_for_load_state()
        page.get_by_role("button", name="Add panel").first.click()
        page.get_by_label("Query").select_option(query)
        page.get_by_role("dialog").get_by_role("button", name="Add panel").click()
        page.locator(f"[data-live-query='{query}']").wait_for()
    return "rooms", page.locator("[data-panel-id]").first.get_attribute("data-panel-id") or ""


def is_page(page: Page, address: str) -> bool:
    """Whether an address answers with a whole page: not a part of one, JSON, a file or a refusal."""
    answer = page.request.get(address, max_redirects=0)
    return (
        answer.status == 200
        and "text/html" in answer.headers.get("content-type", "")
        and "<html" in answer.text()
    )


def test_the_walk_sees_what_is_wrong(walk: Walk) -> None:
    walk.page.set_content(
        """<html lang="en"><title>Wrong</title><main><h1>Pale</h1><input aria-invalid="true"></main></html>"""
    )
    walk.page.evaluate(  # what is written into a page has no style, by its content policy
        """() => {
            Object.assign(document.querySelector("h1").style, {color: "#ccc", background: "#fff"});
            Object.assign(document.querySelector("input").style, {width: "2000px", outline: "none"});
        }"""
    )
    walk.look("a page")
    with pytest.raises(AssertionError) as found:
        walk.check()
    said = str(found.value)
    assert "a page at 390 px, dark: color-contrast (serious), h1" in said
    assert "label (critical), input" in said
    assert "a page at 390 px scrolls sideways" in said
    assert "focus cannot be seen on <input" in said
    assert "nothing says what is wrong with <input" in said


def test_pages_with_nothing_to_show_yet(walk: Walk) -> None:
    walk.page.goto("/sources/")
    expect(walk.page.get_by_text("No sources yet.")).to_be_visible()
    for address in EMPTY:
        walk.go(address, until=".middle")
    walk.check()


def test_every_page_of_the_map(walk: Walk, things: Things) -> None:
    everywhere = sorted(set(things.addresses(get_resolver().url_patterns)))
    pages = [address for address in everywhere if is_page(walk.page, address)]
    assert {"/sources/rooms/", "/queries/new/", "/connections/new/", "/dashboards/rooms/", API_PAGE} <= set(
        pages
    )
    assert {f"/alerts/{things.alert}/", "/plan/rooms/what-if/", "/people/", "/audit/"} <= set(pages)
    assert f"/dashboards/rooms/panels/{things.panel}/edit/" in pages
    for address in pages:
        walk.go(address, until=COMPLETE.get(address))
    walk.check()


def test_the_tabs_of_a_source(walk: Walk, things: Things) -> None:
    page = walk.page
    for tab, until in TABS.items():
        address = f"/sources/{things.source}/?tab={tab}"
        walk.go(address, until)
        if until == ".message-line":
            page.locator(until).first.click()
            page.locator("#inspector .panel-body").wait_for()
            walk.look(f"{address} with a line open", within="#inspector")
    page.get_by_label("Name", exact=True).fill("")
    page.get_by_label("Allowed lateness", exact=True).fill("soon")
    page.get_by_role("button", name="Save settings").click()
    page.locator(".problem").first.wait_for()
    walk.look("settings of a source with nonsense")
    walk.check()


def test_forms_with_nonsense(walk: Walk, things: Things) -> None:
    page = walk.page
    page.goto("/connections/new/")
    page.get_by_label("Security protocol").select_option("SASL_SSL")
    page.get_by_role("button", name="Save connection").click()
    page.locator(".problem").first.wait_for()
    page.get_by_text("Client certificate", exact=True).first.click()
    walk.look("/connections/new/ with nonsense")

    page.goto("/sources/new/")
    page.get_by_role("button", name="Test connection").click()
    page.get_by_role("button", name=TOPIC, exact=True).click()
    page.get_by_role("button", name="Save source").wait_for()
    walk.look("/sources/new/ with a sample")
    page.get_by_role("button", name="Save source").click()
    page.locator(".problem").first.wait_for()
    walk.look("/sources/new/ without a name", within="section:has(.problem)")

    page.goto("/dashboards/new/")
    page.get_by_label("Name", exact=True).fill(" ")
    page.get_by_role("button", name="Save dashboard").click()
    page.locator(".problem").wait_for()
    walk.look("/dashboards/new/ without a name")
    walk.check()


def test_queries_in_every_view_and_a_back_test(walk: Walk, things: Things) -> None:
    page = walk.page
    page.goto("/queries/new/")
    page.get_by_label("Field or expression", exact=True).fill("tmep")
    page.get_by_label("Windows", exact=True).fill("often")
    page.get_by_role("button", name="Save and start").click()
    page.locator(".problem").first.wait_for()
    page.get_by_text("Start from a template").click()
    walk.look("/queries/new/ with nonsense")

    page.goto(f"/queries/{things.query}/edit/")
    page.locator("#preview .key-table td").first.wait_for()
    walk.look("a query with its preview", within="#preview")
    for view in ("SQL", "JSON"):
        page.get_by_role("button", name=view, exact=True).click()
        page.locator(f"textarea[name={view.lower()}]").wait_for()
        walk.look(f"a query as {view}", within="#query-form")

    page.get_by_role("button", name="Back-test").click()
    page.locator("#exactly").fill("whenever")
    page.get_by_role("button", name="Run back-test").click()
    page.locator(".problem").wait_for()
    walk.look("a back-test with nonsense")
    page.locator("#exactly").fill("")
    page.get_by_role("button", name="Run back-test").click()
    page.locator("#history .key-table td").first.wait_for()
    walk.look("a back-test")
    page.get_by_role("button", name="Table", exact=True).click()
    walk.look("a back-test as a table", within="#history")
    walk.go("/queries/?q=nothing-like-it", until=".middle")
    walk.check()


def test_pages_for_when_something_is_wrong(walk: Walk) -> None:
    walk.go("/no-such-page/")
    rendered = ""

    def answer(route: Route) -> None:
        route.fulfill(body=rendered, content_type="text/html")

    walk.page.route("**/wrong/", answer)
    for template in ("errors/403.html", "errors/500.html", "accounts/locked_out.html"):
        rendered = render_to_string(template)
        walk.page.goto("/wrong/")
        walk.look(template)
    walk.check()


def test_to_the_bin_and_back_by_the_keyboard(walk: Walk, things: Things) -> None:
    page = walk.page
    page.goto(f"/queries/{things.query}/")
    page.get_by_role("link", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Delete “Warmth”?")).to_be_visible()
    expect(page.locator(".goes-along")).to_contain_text("Too warm: not firing")
    page.get_by_role("button", name="Delete query").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Deleted “Warmth”.")).to_be_visible()
    walk.go("/bin/", until="table.list")
    page.get_by_role("link", name="Delete query Warmth for good").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    walk.look("deleting for good")
    page.get_by_role("link", name="Cancel").press("Enter")
    page.get_by_role("button", name="Restore query Warmth").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Restored “Warmth”.")).to_be_visible()
    page.wait_for_url(f"**/queries/{things.query}/")
    walk.check()


def test_the_keyboard_alone(walk: Walk, things: Things) -> None:
    page = walk.page

    def focus() -> Locator:
        return page.locator(":focus")

    page.goto("/tokens/")
    page.keyboard.press("Tab")
    expect(focus()).to_have_text("Skip to the content")
    expect(focus()).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("main :focus")).to_have_text("API reference")

    page.get_by_role("button", name="Revoke walk").focus()
    page.keyboard.press("Enter")
    walk.look("/tokens/ with a question")
    for _ in range(4):  # round and round, through the browser's own controls, never to the page behind
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement.closest('dialog') || document.activeElement === document.body"
        )
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Revoke walk")).to_be_focused()

    page.goto(f"/dashboards/{things.board}/")
    menu = page.locator(".live-panel summary").first
    menu.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(focus()).to_have_text("Edit panel")
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(page.get_by_role("link", name="Edit panel").first).to_be_hidden()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Rename panel").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    walk.look("a dashboard with a menu open", within=".live-panel .menu-card")
    page.set_viewport_size(SIZES[1])
    page.locator(".person-menu summary").click()
    walk.look("the menu of a person", within=".person-menu")
    walk.check()
