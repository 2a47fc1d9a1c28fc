"""An alert in the page: it fires on results as they come, is told, taken up, and recovers."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Page, expect

from streaming.topics import create_topics
from tests.browser.conftest import Millrace

pytestmark = [pytest.mark.browser, pytest.mark.spark]

PATIENCE_MS = 90_000
TOPIC = "fridges"


class Fridges:
    """Two fridges that tell their temperatures five times a second."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.temperatures = {"a": 5.0, "b": 4.0}
        self._producer = KafkaProducer(bootstrap_servers=bootstrap_servers)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            for device, temp in self.temperatures.items():
                self._producer.send(TOPIC, json.dumps({"device": device, "temp": temp}).encode())

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._producer.close()


@pytest.fixture
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


@pytest.fixture
def query(page: Page, millrace: Millrace, fridges: Fridges) -> str:
    """The key of a query by device."""
    where = ask(page, "connections", {"name": "Alerts", "bootstrap_servers": millrace.bootstrap_servers})
    fields = [{"name": "device", "type": "text"}, {"name": "temp", "type": "number"}]
    source = {"name": TOPIC, "connection": where["key"], "topic": TOPIC, "fields": fields}
    made = ask(page, "sources", {**source, "time_source": "message", "allowed_lateness": "1s"})
    computed = {"computations": [{"aggregate": "max", "field": "temp"}], "windows": "2s every 2s"}
    definition = {"name": "Warmest", "source": made["key"], "group_by": ["device"], **computed}
    return str(ask(page, "queries", definition)["key"])


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
