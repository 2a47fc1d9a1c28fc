"""Alerts in the page: they fire on results as they come, are told, taken up, silenced, and recover."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Browser, Locator, Page, expect

from streaming.topics import create_topics
from tests.browser.conftest import PASSWORD, Millrace, new_page, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.spark]

PATIENCE_MS = 90_000
TOPIC = "fridges"
CALM = {"a": 5.0, "b": 4.0, "c": 4.0, "d": 4.0}


class Fridges:
    """Fridges that tell their temperatures five times a second; one without a temperature tells nothing."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.temperatures: dict[str, float | None] = dict(CALM)
        self._producer = KafkaProducer(bootstrap_servers=bootstrap_servers)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            for device, temp in self.temperatures.items():
                if temp is not None:
                    self._producer.send(TOPIC, json.dumps({"device": device, "temp": temp}).encode())

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._producer.close()


@pytest.fixture(scope="module")
def fridges(millrace: Millrace) -> Iterator[Fridges]:
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, 1, 1)])
    running = Fridges(millrace.bootstrap_servers)
    yield running
    running.stop()


def ask(page: Page, address: str, body: dict[str, Any]) -> dict[str, Any]:
    """A call of the API by who has signed in on the page."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    answer = page.request.post(f"/api/{address}", data=body, headers={"X-CSRFToken": token})
    assert answer.status == 201, answer.text()
    made: dict[str, Any] = answer.json()
    return made


def made_query(page: Page, millrace: Millrace, name: str, lateness: str) -> str:
    """The key of a query by device, of a source of its own."""
    where = ask(page, "connections", {"name": name, "bootstrap_servers": millrace.bootstrap_servers})
    fields = [{"name": "device", "type": "text"}, {"name": "temp", "type": "number"}]
    source = {"name": name, "connection": where["key"], "topic": TOPIC, "fields": fields}
    made = ask(page, "sources", {**source, "time_source": "message", "allowed_lateness": lateness})
    computed = {"computations": [{"aggregate": "max", "field": "temp"}], "windows": "2s every 2s"}
    definition = {"name": f"Warmest of {name}", "source": made["key"], "group_by": ["device"], **computed}
    return str(ask(page, "queries", definition)["key"])


@pytest.fixture(scope="module")
def query(browser: Browser, millrace: Millrace, fridges: Fridges) -> str:
    page = new_page(browser, millrace)
    sign_in(page, "admin", PASSWORD)
    page.wait_for_url(lambda url: "sign-in" not in url)
    key = made_query(page, millrace, TOPIC, "8s")
    page.context.close()
    return key


@pytest.fixture(autouse=True)
def calm_again(page: Page, fridges: Fridges) -> Iterator[None]:
    """No test hears of the alerts of another."""
    yield
    fridges.temperatures.update(CALM)
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    for one in page.request.get("/api/alerts").json()["items"]:
        headers = {"X-CSRFToken": token, "Referer": page.url}
        assert page.request.delete(f"/api/alerts/{one['key']}", headers=headers).ok


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_MS / 1_000
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.2)


def test_an_alert_fires_is_told_taken_up_and_recovers(page: Page, query: str, fridges: Fridges) -> None:
    page.goto(f"/alerts/new/?query={query}")
    page.get_by_label("Name").fill("Fridge warm")
    page.get_by_role("textbox", name="Value").fill("8")
    page.get_by_label("Ok again when back by").fill("2")
    expect(page.locator("#would-fire")).to_contain_text("ok again at 6 or below", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Save alert").click()
    expect(page.get_by_role("heading", name="Fridge warm")).to_be_visible()
    own = page.url
    page.goto("/sources/")
    fridges.temperatures["a"] = 9.5
    expect(page.locator(".toast-line")).to_contain_text("“Fridge warm” fires.", timeout=PATIENCE_MS)
    expect(page.locator(".shell-side [data-live-alarm]")).to_have_text("1 firing")
    page.goto(own)
    assert not [one for one in Axe().run(page).response["violations"] if one["impact"] == "critical"]
    page.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(page.get_by_text("Acknowledged 1 firing.")).to_be_visible()
    fridges.temperatures["a"] = 5.5
    expect(page.locator("#alert-now")).to_contain_text("Nothing fires.", timeout=PATIENCE_MS)
    expect(page.locator("#alert-past tbody tr")).to_have_count(1)
    expect(page.locator("#alert-past tbody tr")).to_contain_text("9.5")


def test_the_form_says_of_each_condition_whether_it_would_have_fired(
    page: Page, query: str, fridges: Fridges
) -> None:
    page.goto(f"/alerts/new/?query={query}")
    said, condition = page.locator("#would-fire"), page.get_by_label("Condition")
    bound = page.locator("#alert_threshold")
    condition.select_option("between")
    bound.fill("6.5")
    page.get_by_label("To", exact=True).fill("7.5")
    expect(said).to_contain_text("between 6.5 and 7.5", timeout=PATIENCE_MS)
    fridges.temperatures["b"] = 7.0  # from 4

    def would_have_fired() -> bool:
        page.locator("#alert-form").dispatch_event("change")  # the form asks again
        page.wait_for_timeout(1_000)
        return said.get_by_text("Would have fired").is_visible()

    until(would_have_fired, "a warm fridge among the results")
    expect(said.locator("tbody tr")).to_contain_text(["b"])
    condition.select_option("outside")
    bound.fill("0")
    page.get_by_label("To", exact=True).fill("100")
    expect(said).to_contain_text("outside 0 to 100")
    expect(said).to_contain_text("Would not have fired")
    condition.select_option("change")
    bound.fill("60")
    page.get_by_label("Within").fill("10s")
    page.get_by_label("in per cent of the earlier value").check()
    expect(said).to_contain_text("changed by 60\u202f% or more within 10 s")
    expect(said).to_contain_text("Would have fired")
    condition.select_option("no_data")
    page.get_by_label("For", exact=True).fill("30m")
    expect(said).to_contain_text("no data for 30 m")
    expect(said).to_contain_text("Would not have fired")


class Receiver:
    """Where a webhook leads: all that it was sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    @contextmanager
    def listening(self) -> Iterator[str]:
        received = self.messages

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Tests have nothing to say."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            server.server_close()


@pytest.fixture
def receiver() -> Iterator[tuple[Receiver, str]]:
    made = Receiver()
    with made.listening() as address:
        yield made, address


def rows(page: Page, state: str) -> Locator:
    """The groups that an alert's page lists in this state."""
    return page.locator("#alert-now tbody tr").filter(has_text=state)


def test_groups_are_pending_fire_in_one_message_and_are_told_nobody_while_silenced(
    page: Page, query: str, fridges: Fridges, receiver: tuple[Receiver, str]
) -> None:
    sent, address = receiver
    page.goto(f"/alerts/new/?query={query}")
    page.get_by_label("Name").fill("Warm for a while")
    page.get_by_role("textbox", name="Value").fill("8")
    page.get_by_label("For", exact=True).fill("20s")
    page.get_by_label("Webhook", exact=True).fill(address)
    page.get_by_label("Secret of the webhook").fill("tell-nobody")
    page.get_by_label("At most one message every").fill("1s")
    page.get_by_role("button", name="Save alert").click()
    expect(page.locator("#alert-now")).to_contain_text("Nothing fires.")
    other = page.context.new_page()
    other.goto("/sources/")
    toasts = other.locator(".toast-line")
    fridges.temperatures.update(b=9.5, c=9.5, d=9.5)
    expect(rows(page, "Pending")).to_have_count(3, timeout=PATIENCE_MS)
    expect(toasts).to_have_count(0)
    expect(rows(page, "Firing")).to_have_count(3, timeout=PATIENCE_MS)
    expect(toasts).to_contain_text(["“Warm for a while” fires for 3 groups."])
    until(lambda: len(sent.messages) == 1, "a message")
    assert sent.messages[0]["counts"] == {"new": 3, "resolved": 0, "firing": 3}

    page.get_by_role("button", name="Silence", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_label("For").fill("1h")
    page.get_by_role("dialog").get_by_label("Reason").fill("defrosting")
    page.keyboard.press("Enter")
    expect(page.locator("#alert-now")).to_contain_text("silenced until")
    expect(page.locator("#alert-now")).to_contain_text("defrosting")
    fridges.temperatures.update(b=4.0, c=4.0, d=4.0)
    expect(page.locator("#alert-now")).to_contain_text("Nothing fires.", timeout=PATIENCE_MS)
    other.reload()
    fridges.temperatures["b"] = 9.5
    expect(rows(page, "Firing")).to_have_count(1, timeout=PATIENCE_MS)
    expect(other.locator(".shell-side [data-live-alarm]")).to_have_text("1 firing")
    expect(toasts).to_have_count(0)
    assert len(sent.messages) == 1, "neither what ended nor what fires in silence is told"

    page.get_by_role("button", name="End silence").click()
    expect(page.get_by_text("“Warm for a while” speaks again.")).to_be_visible()
    expect(toasts).to_contain_text(["“Warm for a while” fires."])
    until(lambda: len(sent.messages) == 2, "the message that the silence kept back")
    assert sent.messages[1]["counts"] == {"new": 1, "resolved": 0, "firing": 1}
    acknowledge = rows(page, "Firing").get_by_role("button", name="Acknowledge b")
    acknowledge.focus()
    page.keyboard.press("Enter")
    expect(rows(page, "Firing")).not_to_contain_text("nobody yet")


def test_provisional_results_fire_sooner_by_choice_and_missing_ones_fire_too(
    page: Page, millrace: Millrace, query: str, fridges: Fridges
) -> None:
    slow = made_query(page, millrace, "slow fridges", "5m")  # its results are final minutes later
    ask(page, "alerts", {"query": slow, "name": "Later", "condition": "above", "threshold": "8"})
    ask(page, "alerts", {"query": query, "name": "Gone", "condition": "no_data", "hold": "20s"})
    page.goto(f"/alerts/new/?query={slow}")
    page.get_by_label("Name").fill("Sooner")
    page.get_by_role("textbox", name="Value").fill("8")
    page.get_by_label("Count provisional results, too").check()
    page.get_by_role("button", name="Save alert").click()
    expect(page.get_by_text("provisional and final results")).to_be_visible()

    page.goto("/alerts/")
    sooner, later, gone = (
        page.get_by_role("row").filter(has_text=name) for name in ("Sooner", "Later", "Gone")
    )
    fridges.temperatures["a"] = 9.5
    expect(sooner).to_contain_text("Firing", timeout=PATIENCE_MS)
    assert "Firing" not in later.inner_text(), "its result is final minutes later"
    fridges.temperatures["d"] = None
    expect(gone).to_contain_text("Firing", timeout=PATIENCE_MS)
    gone.get_by_role("link", name="Gone").click()
    expect(rows(page, "Firing")).to_contain_text(["d"])
    fridges.temperatures["d"] = 4.0
    expect(page.locator("#alert-now")).to_contain_text("Nothing fires.", timeout=PATIENCE_MS)
