"""What a source's tabs say of odd messages, of other readers, of its health and of times elsewhere."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PASSWORD, Millrace, sign_in
from tests.browser.test_managing import add_source, call, orders, produce

pytestmark = [pytest.mark.browser, pytest.mark.spark]

KOLKATA = timedelta(hours=5, minutes=30)


@pytest.fixture
def far_page(browser: Browser, millrace: Millrace) -> Iterator[Page]:
    """A page of somebody in Kolkata."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, base_url=millrace.address, timezone_id="Asia/Kolkata"
    )
    context.set_default_timeout(60_000)
    page = context.new_page()
    sign_in(page, "admin", PASSWORD)
    page.wait_for_url(lambda url: "sign-in" not in url)
    yield page
    context.close()


def told_in_kolkata(milliseconds: int) -> re.Pattern[str]:
    """The time of day there; its day stands before it unless it is today's."""
    local = datetime.fromtimestamp(milliseconds / 1000, UTC) + KOLKATA
    return re.compile(rf"^({local:%Y-%m-%d} )?{local:%H:%M:%S}.{milliseconds % 1000:03}$")


def told_in_utc(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{moment.isoformat(timespec='milliseconds').removesuffix('+00:00')}Z (UTC)"


def test_times_are_those_of_the_browser_and_of_utc_on_hover(far_page: Page, millrace: Millrace) -> None:
    now = int(time.time() * 1000)
    ahead = now + 86_400_123
    values = [json.dumps({"ts": at, "order": "o1", "total": 1.5}).encode() for at in (now, ahead)]
    source = add_source(far_page, millrace, "voyages", *values)
    counted = {"computations": [{"aggregate": "count"}], "windows": "1s"}
    call(far_page, "queries", {"source": "voyages", "name": "Voyages", **counted})

    far_page.goto(f"{source}?tab=messages&seek=newest")
    for at in (now, ahead):
        cell = far_page.locator(f'.message-line time[title="{told_in_utc(at)}"]')
        expect(cell).to_have_text(told_in_kolkata(at))

    deadline = time.monotonic() + 150  # the job may have to start first
    far_page.goto(f"{source}?tab=dead-letters")
    while not far_page.get_by_role("link", name="Dead letters 1").count():
        assert time.monotonic() < deadline, far_page.locator("#letters").inner_text()
        far_page.wait_for_timeout(1_000)
        far_page.reload()
        expect(far_page.locator("#letters")).not_to_contain_text("Reading the dead letters")
    reason = far_page.locator(".letter-reason")
    expect(reason).to_contain_text("From the future: event time")
    expect(reason.locator("time").first).to_have_text(told_in_kolkata(ahead))
    expect(reason.locator("time").first).to_have_attribute("title", told_in_utc(ahead))


def test_a_tombstone_and_bytes_are_messages_like_others(page: Page, millrace: Millrace) -> None:
    source = add_source(page, millrace, "oddments")
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers)
    producer.send("oddments", None, key=b"gone", partition=0).get(10)
    producer.send("oddments", b"\xff\x00\xfe<b>", key=b"raw", partition=0).get(10)
    producer.send("oddments", b"", key=b"hollow", partition=0).get(10)
    producer.close()
    page.goto(f"{source}?tab=messages&seek=oldest")
    lines, inspector = page.locator(".message-line"), page.locator("#inspector")
    expect(lines).to_have_count(3)
    expect(lines.nth(0)).to_contain_text("tombstone: key deleted, no value")
    lines.nth(0).click()
    expect(inspector).to_contain_text("Tombstone: key deleted, no value.")
    lines.nth(1).click()
    expect(inspector.locator("h2")).to_have_text("Partition 0, offset 1")
    inspector.get_by_role("button", name="Raw bytes").click()
    expect(inspector.locator("[data-part-of=raw] pre")).to_be_visible()
    expect(inspector.locator("[data-part-of=raw] pre")).to_contain_text("ff 00 fe 3c 62 3e")
    with page.expect_download() as download:
        inspector.get_by_role("link", name=re.compile("bytes|Save|Download")).click()
    assert download.value.path().read_bytes() == b"\xff\x00\xfe<b>"
    lines.nth(2).click()
    expect(inspector).to_contain_text("Empty: 0 bytes.")


def test_who_else_reads_the_topic_is_listed_with_its_lag(page: Page, millrace: Millrace) -> None:
    source = add_source(page, millrace, "invoices", *orders(10))
    reader = KafkaConsumer(
        bootstrap_servers=millrace.bootstrap_servers, group_id="billing", enable_auto_commit=False
    )
    reader.assign([TopicPartition("invoices", part) for part in (0, 1)])
    reader.commit(
        {TopicPartition("invoices", part): OffsetAndMetadata(at, "", -1) for part, at in ((0, 2), (1, 4))}
    )
    reader.close()
    page.goto(f"{source}?tab=consumers")
    expect(page.get_by_role("link", name="Consumers 1")).to_be_visible()
    group = page.get_by_role("region", name="Consumer group billing")
    expect(group.locator(".panel-head")).to_contain_text(re.compile(r"lag\s+4$"))
    places = [
        row.all_inner_texts() for row in (line.locator("td") for line in group.locator("tbody tr").all())
    ]
    assert [place[:4] for place in places] == [["0", "2", "5", "3"], ["1", "4", "5", "1"]]


def test_the_health_strip_tells_rate_lag_and_watermark_as_messages_come(
    page: Page, millrace: Millrace
) -> None:
    source = add_source(page, millrace, "pulses", *orders(10))
    counted = {"computations": [{"aggregate": "count"}], "windows": "1s"}
    call(page, "queries", {"source": "pulses", "name": "Pulses", **counted})
    page.goto(source)
    strip = page.get_by_role("region", name="Health")
    deadline = time.monotonic() + 150  # the job may have to start first
    while not all(re.search(pattern, strip.inner_text()) for pattern in STRIP):
        assert time.monotonic() < deadline, strip.inner_text()
        produce(millrace.bootstrap_servers, "pulses", orders(20))
        page.wait_for_timeout(500)
    expect(page.locator("[data-live-source-state]")).to_contain_text("Healthy")


STRIP = (r"Rate, messages/s\s+[1-9]", r"Lag, messages\s+\d", r"Watermark\s+\d+\s*s behind")
