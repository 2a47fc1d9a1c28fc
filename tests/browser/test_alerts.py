"""An alert in the page: it fires on results as they come, is told, taken up, and recovers."""

import time
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from kafka import KafkaProducer
from playwright.sync_api import Page, expect

from streaming.results import encode
from streaming.topics import Topics
from tests.browser.conftest import Millrace
from tests.dashboard.live.messages import block

pytestmark = [pytest.mark.browser, pytest.mark.spark]

PATIENCE_MS = 60_000


def ask(page: Page, address: str, body: dict[str, Any]) -> dict[str, Any]:
    """A call of the API by who has signed in on the page."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    answer = page.request.post(f"/api/{address}", data=body, headers={"X-CSRFToken": token})
    assert answer.status == 201, answer.text()
    made: dict[str, Any] = answer.json()
    return made


@pytest.fixture
def query(page: Page, millrace: Millrace) -> str:
    """The key of a query by device; its results are made by the test."""
    where = ask(page, "connections", {"name": "Alerts", "bootstrap_servers": millrace.bootstrap_servers})
    fields = [{"name": "device", "type": "text"}, {"name": "temp", "type": "number"}]
    source = {"name": "fridges", "connection": where["key"], "topic": "fridges", "fields": fields}
    made = ask(page, "sources", {**source, "time_source": "message"})
    computed = {"computations": [{"aggregate": "max", "field": "temp"}], "windows": "1m every 10s"}
    definition = {"name": "Warmest", "source": made["key"], "group_by": ["device"], **computed}
    return str(ask(page, "queries", definition)["key"])


def send(millrace: Millrace, query: str, end: int, **temperatures: float) -> None:
    values: dict[Any, float] = {(device,): value for device, value in temperatures.items()}
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers)
    producer.send(Topics("browser").results, value=encode([block(end, values, query=f"{query}@1m/10s")]))
    producer.close()


def test_an_alert_fires_is_told_taken_up_and_recovers(page: Page, millrace: Millrace, query: str) -> None:
    page.goto(f"/alerts/new/?query={query}")
    page.get_by_label("Name").fill("Fridge warm")
    page.get_by_role("textbox", name="Value").fill("8")
    page.get_by_label("Ok again when back by").fill("2")
    expect(page.locator("#would-fire")).to_contain_text("ok again at 6 or below", timeout=PATIENCE_MS)
    page.get_by_role("button", name="Save alert").click()
    expect(page.get_by_role("heading", name="Fridge warm")).to_be_visible()
    own = page.url
    page.goto("/sources/")
    end = int(time.time() * 1000) // 10_000 * 10_000
    send(millrace, query, end, a=9.5, b=4)
    expect(page.locator(".toast-line")).to_contain_text("“Fridge warm” fires.", timeout=PATIENCE_MS)
    expect(page.locator(".shell-side [data-live-alarm]")).to_have_text("1 firing")
    page.goto(own)
    assert not [one for one in Axe().run(page).response["violations"] if one["impact"] == "critical"]
    page.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(page.get_by_text("Acknowledged 1 firing.")).to_be_visible()
    send(millrace, query, end + 10_000, a=7, b=4)
    send(millrace, query, end + 20_000, a=5.5, b=4)
    expect(page.locator("#alert-now")).to_contain_text("Nothing fires.", timeout=PATIENCE_MS)
    expect(page.locator("#alert-past tbody tr")).to_have_count(1)
    expect(page.locator("#alert-past tbody tr")).to_contain_text("9.5")
