"""The messages tab as a person uses it: live rows, a pause, one message in full, a search, a seek."""

import json
import re
import time

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Page, expect

from streaming.topics import create_topics
from tests.browser.conftest import Millrace
from tests.browser.steps import make_connection

pytestmark = [pytest.mark.browser, pytest.mark.spark]

TOPIC = "orders"


def send(millrace: Millrace, first: int, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers)
    for number in range(first, first + count):
        event = {"ts": int(time.time() * 1000), "order": f"o{number}", "total": number, "user": {"id": "u1"}}
        key = b"key-%d" % number
        producer.send(
            TOPIC, json.dumps(event).encode(), key=key, partition=number % 2, headers=[("via", b"web")]
        )
    producer.close()


@pytest.fixture(scope="module")
def source(millrace: Millrace) -> str:
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, 2, 1)])
    send(millrace, 0, 80)
    return "/sources/orders/"


def add_source(page: Page, millrace: Millrace) -> None:
    page.goto("/sources/")
    if page.get_by_role("link", name="orders", exact=True).count():
        return
    make_connection(page, "The shop’s Kafka", millrace.bootstrap_servers)
    page.get_by_role("button", name=TOPIC, exact=True).click()
    page.get_by_label("Name", exact=True).fill("orders")
    page.get_by_role("button", name="Save source").click()
    page.wait_for_url("**/sources/orders**")


def test_messages_are_followed_paused_opened_and_searched(
    page: Page, millrace: Millrace, source: str
) -> None:
    add_source(page, millrace)
    page.goto(f"{source}?tab=messages")
    lines = page.locator(".message-line")
    expect(lines).to_have_count(50)

    page.mouse.move(5, 5)
    send(millrace, 100, 3)
    expect(page.get_by_text("o102")).to_be_visible()
    expect(lines).to_have_count(53)

    lines.nth(20).hover()  # rows must not move under the pointer
    held = lines.first.inner_text()
    send(millrace, 200, 2)
    expect(page.locator("#tail-line")).to_contain_text("2 new wait while you look")
    assert lines.first.inner_text() == held
    page.mouse.move(5, 5)
    expect(page.get_by_text("o201")).to_be_visible()

    page.get_by_role("button", name="Pause").click()
    send(millrace, 300, 1)
    expect(page.locator("#tail-line")).to_contain_text("paused at")
    page.wait_for_timeout(2_500)
    assert page.get_by_text("o300").count() == 0
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("o300")).to_be_visible()

    page.get_by_label("Search messages").fill("total = 42")
    page.get_by_label("Search messages").press("Enter")
    expect(lines).to_have_count(1)
    lines.first.click()
    inspector = page.locator("#inspector")
    expect(inspector.get_by_text("How Millrace reads it")).to_be_visible()
    expect(inspector.locator("pre").first).to_contain_text('"order": "o42"')
    inspector.get_by_role("button", name=re.compile("Headers")).click()
    expect(inspector.get_by_text("via")).to_be_visible()
    inspector.get_by_role("button", name="Raw bytes").click()
    expect(inspector.get_by_text("7b 22 74 73")).to_be_visible()
    inspector.get_by_role("button", name="Close").click()
    expect(inspector).to_be_hidden()


def test_a_seek_shows_what_it_says_and_stays_in_the_address(
    page: Page, millrace: Millrace, source: str
) -> None:
    add_source(page, millrace)
    page.goto(f"{source}?tab=messages")
    page.locator(".message-line").first.wait_for()
    page.get_by_text("From offset", exact=True).click()
    page.get_by_label("Offset", exact=True).fill("38")
    page.get_by_label("Partition", exact=True).select_option("1")
    first = page.locator(".message-line").first
    expect(first).to_contain_text("o77")
    page.reload()
    expect(page.locator(".message-line").first).to_contain_text("o77")
    first.get_by_role("button").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#inspector h2")).to_have_text("Partition 1, offset 39")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert lines[0]["value"]["order"] == "o77"
    assert lines[0]["key"] == "key-77"


def test_the_oldest_and_the_newest_are_found_and_a_value_is_copied(
    page: Page, millrace: Millrace, source: str
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    add_source(page, millrace)
    send(millrace, 900, 1)
    page.goto(f"{source}?tab=messages")
    lines, head = page.locator(".message-line"), page.locator(".message-head h2")
    page.get_by_text("Oldest", exact=True).click()
    expect(head).to_have_text("Oldest 50")
    expect(lines.first).to_contain_text("o0")
    page.get_by_role("button", name="Newer").click()
    expect(head).to_have_text(re.compile(r"^\d+ messages$"))
    expect(lines.filter(has_text="key-79")).to_have_count(1)
    page.get_by_text("Newest", exact=True).click()
    expect(head).to_have_text("Newest 50")
    expect(lines.first).to_contain_text("o900")

    lines.first.click()
    page.get_by_role("button", name="Copy value").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert (copied["order"], copied["user"]) == ("o900", {"id": "u1"})


def test_the_page_works_at_phone_width(page: Page, millrace: Millrace, source: str) -> None:
    add_source(page, millrace)
    page.set_viewport_size({"width": 390, "height": 844})
    for tab in ("overview", "messages", "consumers", "dead-letters"):
        page.goto(f"{source}?tab={tab}")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
