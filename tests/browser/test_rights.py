"""Rights while somebody watches: withdrawn, asked for, given back; and who is invited gets in."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Browser, Page, expect

from streaming.topics import create_topics
from tests.browser.conftest import Millrace
from tests.browser.steps import wait_until_true

pytestmark = [pytest.mark.browser, pytest.mark.spark]

TOPIC = "reactor"
TITLE = "Reactor heat"
BOS_PASSWORD = "otter-below-the-dam-4"
AT_ONCE_MS = 5_000
PATIENCE_MS = 150_000


@pytest.fixture
def heat(millrace: Millrace) -> None:
    """Two minutes of readings up to now."""
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, 1, 1)])
    producer, now = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers), int(time.time() * 1000)
    for number in range(1_200):
        event = {"ts": now - 120_000 + number * 100, "temp": 20 + number % 7}
        producer.send(TOPIC, json.dumps(event).encode())
    producer.close()


def call(page: Page, method: str, address: str, body: dict[str, Any]) -> Any:
    """The API, in the session of the page."""
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": page.url}
    answer = page.request.fetch(f"/api/{address}", method=method, data=body, headers=headers)
    assert answer.ok, answer.text()
    return answer.json()


@pytest.fixture
def board(page: Page, millrace: Millrace, heat: None) -> str:
    """The address of a dashboard of Ana's, the administrator, with one panel."""
    page.goto("/account/")
    page.get_by_label("First name").fill("Ana")
    page.get_by_role("button", name="Save account").click()
    call(page, "POST", "connections", {"name": "Reactor", "bootstrap_servers": millrace.bootstrap_servers})
    fields = [{"name": "ts", "type": "integer"}, {"name": "temp", "type": "number"}]
    source = {"name": TOPIC, "connection": "reactor", "topic": TOPIC, "fields": fields}
    call(page, "POST", "sources", {**source, "time_source": "field", "event_time": "ts"})
    query = {"source": TOPIC, "name": TITLE, "computations": [{"aggregate": "max", "field": "temp"}]}
    key = call(page, "POST", "queries", {**query, "windows": "10s every 5s"})["key"]
    page.goto("/dashboards/new/")
    page.get_by_label("Name").fill("Control room")
    page.get_by_role("button", name="Save dashboard").click()
    page.wait_for_url(lambda address: not address.endswith("/new/"))  # and until its scripts have run
    page.get_by_role("button", name="Add panel").first.click()
    page.get_by_label("Query").select_option(key)
    page.locator("#add-panel").get_by_role("button", name="Add panel").click()
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    return page.url


@pytest.fixture
def as_bo(page: Page, browser: Browser, millrace: Millrace) -> Iterator[Page]:
    """Bo's browser: invited as a viewer, with the password that he sets by the link."""
    page.goto("/people/")
    page.get_by_role("button", name="Invite person").first.click()
    name = f"bo-{time.time_ns()}"
    page.get_by_label("User name").fill(name)
    page.get_by_label("First name").fill("Bo")
    page.get_by_label("Role").select_option("viewer")
    page.locator("#invite").get_by_role("button", name="Invite person").click()
    link = page.locator("#link").inner_text()
    context = browser.new_context(viewport={"width": 1440, "height": 900}, base_url=millrace.address)
    context.set_default_timeout(60_000)
    fresh = context.new_page()
    fresh.goto(link)
    fresh.get_by_label("New password", exact=True).fill(BOS_PASSWORD)
    fresh.get_by_label("New password, again").fill(BOS_PASSWORD)
    fresh.get_by_role("button", name="Set password").click()
    fresh.get_by_label("User name").fill(name)
    fresh.get_by_label("Password").fill(BOS_PASSWORD)
    fresh.get_by_role("button", name="Sign in").click()
    fresh.wait_for_url(lambda url: "sign-in" not in url)
    yield fresh
    context.close()


def drawn(page: Page) -> None:
    script = "() => document.querySelector('canvas')?.millraceSeries?.().some(({ points }) => points.length)"
    wait_until_true(page, script, timeout=PATIENCE_MS)


def test_a_right_that_is_withdrawn_takes_the_panel_off_the_page_at_once(
    page: Page, as_bo: Page, board: str
) -> None:
    as_bo.goto(board)
    expect(as_bo.get_by_role("heading", name=TITLE)).to_be_visible()
    expect(as_bo.get_by_role("button", name="Add panel")).to_have_count(0)
    drawn(as_bo)

    page.goto(f"/sources/{TOPIC}/")
    page.get_by_role("button", name="Who may see this").click()
    page.get_by_label("Only those named below").check()
    page.get_by_role("button", name="Save access").click()
    expect(as_bo.get_by_text("You may not see this query.")).to_be_visible(timeout=AT_ONCE_MS)
    expect(as_bo.get_by_text("Ana owns it and can give you access.")).to_be_visible()
    expect(as_bo.locator("canvas")).to_have_count(0)
    assert TITLE not in as_bo.content()
    assert TOPIC not in as_bo.content()
    assert as_bo.goto(f"/sources/{TOPIC}/").status == 403

    as_bo.goto(board)
    assert TITLE not in as_bo.content()
    page.goto("/queries/")
    as_bo.get_by_role("button", name="Ask for access").click()
    expect(as_bo.get_by_text("Asked Ana.")).to_be_visible()
    expect(page.get_by_text(f"Bo asks to see the source “{TOPIC}”.")).to_be_visible(timeout=AT_ONCE_MS)
    page.get_by_role("button", name="See notices").click()
    page.get_by_role("button", name="Give access").click()
    expect(as_bo.get_by_role("heading", name=TITLE)).to_be_visible(timeout=2 * AT_ONCE_MS)
    drawn(as_bo)


def test_an_ended_session_leaves_nothing_on_the_screen(page: Page, as_bo: Page) -> None:
    as_bo.goto("/queries/")
    expect(as_bo.locator("#job-card b").first).to_be_visible()
    newest = max(one["id"] for one in page.request.get("/api/people").json()["items"])
    page.goto(f"/people/{newest}/")
    page.get_by_role("button", name="Sign out everywhere").click()
    expect(as_bo.get_by_role("heading", name="Sign in")).to_be_visible(timeout=2 * AT_ONCE_MS)
