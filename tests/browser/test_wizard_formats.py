"""The source wizard with messages that are not JSON, and with event times that are not milliseconds."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Page, expect

from streaming.topics import create_topics
from tests.avro import known, served, written
from tests.browser.conftest import Millrace
from tests.browser.steps import make_connection

pytestmark = [pytest.mark.browser, pytest.mark.spark]

NOW = int(time.time())
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "item", "type": "string"},
        {"name": "price", "type": {"type": "fixed", "name": "Price", "size": 4}},
    ],
}


def send(millrace: Millrace, topic: str, *values: bytes) -> None:
    create_topics(millrace.bootstrap_servers, [NewTopic(topic, 1, 1)])
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers)
    for value in values:
        producer.send(topic, value)
    producer.close()


def begin(page: Page, millrace: Millrace, topic: str) -> None:
    """The wizard with a connection of its own, and the topic typed."""
    make_connection(page, f"Kafka of {topic}", millrace.bootstrap_servers)
    expect(page.get_by_role("button", name=topic, exact=True)).to_be_visible()
    expect(page.get_by_text("of Millrace itself (browser.*) are not listed")).to_be_visible()
    page.get_by_role("combobox", name="Topic").fill(topic)


def save_as(page: Page, name: str) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Save source").click()
    page.wait_for_url(f"**/sources/{name}**")


def event_times(page: Page) -> list[int]:
    """In seconds, of the messages in the order in which they were sent."""
    page.get_by_role("link", name="Messages").click()
    page.get_by_text("Oldest", exact=True).click()
    expect(page.locator(".message-head")).to_contain_text("Oldest")
    told = page.locator(".message-line time").evaluate_all("all => all.map(one => one.dateTime)")
    return [int(datetime.fromisoformat(one).timestamp()) for one in told]


def test_csv_with_a_time_that_is_written_in_a_pattern_and_a_zone(page: Page, millrace: Millrace) -> None:
    zone = ZoneInfo("Asia/Kolkata")
    local = [datetime.fromtimestamp(NOW - n, zone).strftime("%d.%m.%Y %H-%M-%S") for n in (60, 30)]
    send(millrace, "tills", *[f'{text},"till, {n}",{n}.5'.encode() for n, text in enumerate(local)])
    begin(page, millrace, "tills")
    page.get_by_role("combobox", name="Format").select_option("csv")
    page.get_by_role("button", name="Read messages").click()
    for number, (name, kind) in enumerate([("at", "text"), ("till", "text"), ("total", "number")], 1):
        page.get_by_label(f"Name of column {number}").fill(name)
        expect(page.locator("select[name=kind]").nth(number - 1)).to_have_value(kind)
    with page.expect_response("**/sources/probe/"):
        page.get_by_role("button", name="Read messages").click()  # the columns are known by their names now
    page.get_by_role("combobox", name="Event time", exact=True).select_option("field")
    page.get_by_role("combobox", name="Field", exact=True).select_option("at")
    page.get_by_role("combobox", name="Written as").select_option("pattern")
    page.get_by_label("Pattern").fill("%d.%m.%Y %H-%M-%S")
    page.get_by_label("Time zone").fill("Asia/Kolkata")
    save_as(page, "tills")
    expect(page.locator("#topic")).to_contain_text("Yes: no column more or less, no changed types")
    assert event_times(page) == [NOW - 60, NOW - 30]


@pytest.fixture
def registry() -> Iterator[str]:
    with served(known(7, ORDER)) as address:
        yield address


def test_avro_of_a_registry_and_of_a_schema_that_is_pasted(
    page: Page, millrace: Millrace, registry: str
) -> None:
    record = {"at": datetime.fromtimestamp(NOW - 60, UTC), "item": "tea", "price": b"\0\0\1\2"}
    send(millrace, "orders.named", written(ORDER, record, number=7))
    send(millrace, "orders.plain", written(ORDER, record))
    begin(page, millrace, "orders.named")
    page.get_by_role("combobox", name="Format").select_option("avro-registry")
    page.get_by_label("Schema registry").fill(registry)
    page.get_by_role("button", name="Read messages").click()
    expect(page.locator(".sample-rows")).to_contain_text("tea")
    expect(page.get_by_label("Type of item")).to_have_value("text")
    expect(page.get_by_role("combobox", name="Written as")).to_have_value("us")

    page.get_by_role("combobox", name="Topic").fill("orders.plain")
    page.get_by_role("combobox", name="Format").select_option("avro")
    schema = page.get_by_label("Avro schema")
    schema.fill(json.dumps({**ORDER, "fields": ORDER["fields"][:2]}, indent=2))
    page.get_by_role("button", name="Read messages").click()
    expect(page.locator("#found")).to_contain_text(
        "0 of the 1 newest messages are Avro records of the schema"
    )
    schema.fill(json.dumps(ORDER, indent=2))
    page.get_by_role("button", name="Read messages").click()
    expect(page.locator("#found")).to_contain_text("Holds bytes, which queries cannot use.")
    save_as(page, "orders-in-avro")
    assert event_times(page) == [NOW - 60]
    page.locator(".message-line").first.get_by_role("button").first.click()
    expect(page.locator("#inspector")).to_contain_text('"item": "tea"')
    page.get_by_role("button", name="Raw bytes").click()
    expect(page.locator("#inspector [data-part-of=raw]")).to_contain_text("74 65 61")
