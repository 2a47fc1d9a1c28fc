"""The plan page as people use it: select a tree, ask what if, adopt, go back, verify."""

import json
import random
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Page, expect

from streaming.topics import create_topics
from tests.browser.conftest import Millrace
from tests.browser.steps import wait_until_true

pytestmark = [pytest.mark.browser, pytest.mark.spark]

TOPIC = "plan-readings"
PATIENCE_MS = 150_000
QUERIES = [
    {"name": "Warmest", "computations": [{"aggregate": "max", "field": "temp"}], "group_by": ["room"]},
    {"name": "Mean", "computations": [{"aggregate": "mean", "field": "temp"}], "group_by": []},
    {"name": "High end", "computations": [{"aggregate": "p95", "field": "temp"}], "group_by": ["room"]},
]


def call(page: Page, method: str, address: str, body: dict[str, Any]) -> Any:
    """The API, by the session of the page."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    answer = page.request.fetch(
        f"/api/{address}", method=method, data=body, headers={"X-CSRFToken": token, "Referer": page.url}
    )
    assert answer.ok, answer.text()
    return answer.json()


@pytest.fixture(scope="module")
def events(millrace: Millrace) -> Iterator[None]:
    """Four minutes of readings up to now, and more while the tests run: a plan is measured at work."""
    rnd, now, stop = random.Random(7), int(time.time() * 1000), threading.Event()
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, 2, 1)])
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers, linger_ms=5)

    def send(number: int, at: int) -> None:
        event = {"ts": at, "room": f"r{number % 5}", "temp": rnd.randrange(3_000) / 64}
        producer.send(TOPIC, json.dumps(event).encode(), partition=number % 2)

    def go_on() -> None:
        while not stop.wait(0.1):
            for number in range(50):
                send(number, int(time.time() * 1000))

    for number in range(12_000):
        send(number, now - 240_000 + number * 20)
    feeder = threading.Thread(target=go_on)
    feeder.start()
    yield
    stop.set()
    feeder.join()
    producer.close()


@pytest.fixture
def plan(page: Page, millrace: Millrace, events: None) -> Page:
    """A source with three queries, made once, and its plan page."""
    known = page.request.get("/api/sources").json()["items"]
    if not any(source["topic"] == TOPIC for source in known):
        connection = call(
            page, "POST", "connections", {"name": "Plan", "bootstrap_servers": millrace.bootstrap_servers}
        )
        fields = [
            {"name": name, "type": kind}
            for name, kind in (("ts", "integer"), ("room", "text"), ("temp", "number"))
        ]
        source = {"name": TOPIC, "connection": connection["key"], "topic": TOPIC, "fields": fields,
                  "time_source": "field", "event_time": "ts", "allowed_lateness": "2s"}  # fmt: skip
        call(page, "POST", "sources", source)
        for query in QUERIES:
            call(page, "POST", "queries", {**query, "source": TOPIC, "windows": "10s, 30s every 5s"})
    page.goto(f"/plan/?source={TOPIC}")
    return page


def test_a_click_on_a_tree_selects_it_everywhere_and_sets_the_address(plan: Page) -> None:
    bands = plan.locator(f'a.flow-band[href*="source={TOPIC}"]')
    expect(bands.first).to_be_visible()
    assert bands.count() >= 2
    other = plan.locator('a.flow-band[href*="plan-readings"]:not(.is-chosen)').first
    wanted = (other.get_attribute("href") or "").rpartition("tree=")[2]
    other.click()
    plan.wait_for_url(f"**tree={wanted}")
    expect(plan.locator("#slices-title")).to_have_text(f"Tree {wanted}")
    expect(plan.locator("a.flow-band.is-chosen")).to_have_attribute(
        "href", f"/plan/?source={TOPIC}&tree={wanted}"
    )
    expect(plan.locator("#slices svg circle").first).to_be_visible()
    expect(plan.locator(f'[data-tree-row="{wanted}"]')).to_have_attribute("aria-current", "true")
    plan.get_by_role("button", name="Table").click()
    expect(plan.get_by_role("link", name=f"Tree {wanted}", exact=True)).to_be_visible()
    plan.go_back()
    expect(plan.locator("#slices-title")).not_to_have_text(f"Tree {wanted}")
    plan.goto(f"/plan/?source={TOPIC}&tree={wanted}")
    expect(plan.locator("#slices-title")).to_have_text(f"Tree {wanted}")


def test_a_tree_is_selected_by_keyboard(plan: Page) -> None:
    other = plan.locator('a.flow-band[href*="plan-readings"]:not(.is-chosen)').first
    wanted = (other.get_attribute("href") or "").rpartition("tree=")[2]
    other.focus()
    plan.keyboard.press("Enter")
    expect(plan.locator("#slices-title")).to_have_text(f"Tree {wanted}")


def test_throughput_is_told_for_the_plan_and_for_a_tree(plan: Page) -> None:
    chart = plan.locator("#throughput")
    expect(chart.get_by_text("capacity, measured", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    expect(chart.get_by_text("deviation")).to_be_visible()
    chart.locator("[data-of=tree]").click()
    expect(chart.get_by_text("for this tree alone")).to_be_visible()
    expect(chart.get_by_text("capacity, measured", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    chart.get_by_role("button", name="7 d").click()
    expect(chart.locator("[data-of=tree]")).to_have_attribute("aria-pressed", "true")


def test_what_if_is_worked_out_and_a_strategy_adopted_and_taken_back(plan: Page) -> None:
    expect(plan.get_by_text("Answers are the same under every strategy.")).to_be_visible(timeout=PATIENCE_MS)
    plan.get_by_role("link", name="What if", exact=True).click()
    plan.get_by_role("link", name="Preview No share", exact=True).click()
    expect(plan.get_by_role("heading", name="What it means for each window")).to_be_visible()
    expect(plan.get_by_text("none is missed").first).to_be_visible()
    plan.get_by_role("button", name="Adopt No share").click()
    expect(plan.get_by_text("is adopted. Answers are the same; costs are not.")).to_be_visible()
    unshared = plan.get_by_role("row", name=re.compile("No share.*adopted"))
    expect(unshared).to_be_visible(timeout=PATIENCE_MS)
    expect(plan.get_by_text("These trees are held.")).to_be_visible()

    plan.get_by_role("link", name="History").click()
    rows = plan.locator(".plan-history tbody tr")
    expect(rows.first).to_contain_text("adopted No share")
    rows.nth(1).get_by_role("link").click()
    plan.get_by_role("link", name="Go back to this plan").click()
    plan.get_by_role("button", name="Go back to plan").click()
    expect(plan.get_by_text("has the trees of plan")).to_be_visible()
    expect(plan.get_by_text("Answers are the same under every strategy.")).to_be_visible(timeout=PATIENCE_MS)
    expect(unshared).to_have_count(0)
    plan.get_by_role("button", name="Let Millrace choose").click()
    expect(plan.get_by_text("Millrace chooses again")).to_be_visible()
    expect(plan.get_by_text("These trees are held.")).to_be_hidden()


def test_another_number_of_nodes_is_previewed_and_adopted_and_its_history_drawn(plan: Page) -> None:
    plan.goto(f"/plan/{TOPIC}/what-if/")
    plan.get_by_label("Nodes", exact=True).select_option("2")
    plan.wait_for_url("**nodes=2")
    expect(plan.get_by_text("on 2 nodes; this plan costs")).to_be_visible()
    plan.get_by_role("link", name="Preview G_RR", exact=True).click(timeout=PATIENCE_MS)
    expect(plan.get_by_text("The trees run on 2 nodes, before on 1.")).to_be_visible()
    plan.get_by_role("button", name="Adopt G_RR").click()
    expect(plan.get_by_text("is adopted. Answers are the same; costs are not.")).to_be_visible()
    expect(plan.get_by_text("trees on 2 nodes.")).to_be_visible()
    expect(plan.locator(f'a.flow-band[href*="{TOPIC}"][aria-label*="node 2"]').first).to_be_visible()

    plan.get_by_role("link", name="History").click()
    plan.locator(".plan-history tbody tr").first.get_by_role("link").click()
    expect(plan.get_by_role("heading", name="Who moved where")).to_be_visible()
    picture = plan.get_by_role("img", name="Trees before at the left")
    expect(picture).to_be_visible()
    assert picture.locator(".change-band.is-move").count() > 0
    assert picture.locator("text").count() > 4
    expect(plan.get_by_text("The trees run on 2 nodes, before on 1.")).to_be_visible()

    plan.get_by_role("link", name=re.compile(r"^Plan \d+$")).first.click()  # the one before
    plan.get_by_role("link", name="Go back to this plan").click()
    plan.get_by_role("button", name="Go back to plan").click()
    expect(plan.get_by_text("has the trees of plan")).to_be_visible()
    expect(plan.get_by_text(re.compile(r"trees? on 1 node\."))).to_be_visible()
    plan.get_by_role("button", name="Let Millrace choose").click()
    expect(plan.get_by_text("Millrace chooses again")).to_be_visible()


def test_a_source_is_calibrated_anew(plan: Page) -> None:
    calibration = plan.locator("#calibration")
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while (
        calibration.get_by_text("measured", exact=True).count() == 0
        or calibration.get_by_text("too few events lately").count()
    ):
        assert time.monotonic() < deadline
        plan.wait_for_timeout(1_000)
        plan.reload()
    before = calibration.locator("tbody tr").count()
    calibration.get_by_role("button", name="Calibrate anew").click()
    expect(
        plan.get_by_text("Calibrated: estimates reckon with what the newest batches took.")
    ).to_be_visible()
    newest = calibration.locator("tbody tr").nth(1)
    expect(newest).to_contain_text("in use")
    expect(newest).to_contain_text("admin")
    assert calibration.locator("tbody tr").count() == before + 1
    core_time = newest.locator("td").nth(2).inner_text()
    assert float(core_time.replace(",", "")) > 0


def test_home_says_in_numbers_what_sharing_saves(plan: Page) -> None:
    plan.goto("/")
    savings = plan.get_by_label("Savings")
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while savings.get_by_text("estimated", exact=False).count() > 1:  # without sharing it always is
        assert time.monotonic() < deadline
        plan.wait_for_timeout(1_000)
        plan.reload()
    windows, cost = re.findall(r"[\d.]+", savings.get_by_role("heading").inner_text())
    assert 0 < float(cost) < int(windows)
    load, alone, headroom = (
        float(re.sub(r"[^\d.]", "", fact)) for fact in savings.locator(".plan-fact b").all_inner_texts()
    )
    assert 0 < load < alone
    assert headroom > 0
    for words in ("load", "load without sharing, estimated", "headroom, at least"):
        expect(savings.get_by_text(words, exact=True)).to_be_visible()
    savings.get_by_role("link", name="See where the work goes").click()
    expect(plan.get_by_role("heading", name="Where the work goes")).to_be_visible()


def test_a_query_is_verified_row_by_row(plan: Page) -> None:
    page = plan
    page.get_by_role("link", name="Verify").click()
    page.get_by_label("Query", exact=True).select_option(label="Warmest")
    page.get_by_label("Over the last", exact=True).select_option("15")
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_role("button", name="Cancel verification")).to_be_visible()
    expect(page.get_by_text("rows are equal.")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("heading", name="max of temp, 10 s every 5 s")).to_be_visible()
    assert page.locator(".verify-rows tbody tr").count() > 50


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_can_be_used_by_everybody(plan: Page, scheme: str) -> None:
    plan.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for address in (
        f"/plan/?source={TOPIC}", f"/plan/{TOPIC}/what-if/", f"/plan/{TOPIC}/what-if/best/",
        f"/plan/{TOPIC}/history/", f"/plan/{TOPIC}/history/1/", f"/plan/{TOPIC}/verify/", "/",
    ):  # fmt: skip
        plan.goto(address)
        plan.wait_for_timeout(800)
        found = Axe().run(plan).response["violations"]
        assert [
            (one["id"], one["nodes"][0]["target"])
            for one in found
            if one["impact"] in ("serious", "critical")
        ] == []
        plan.set_viewport_size({"width": 390, "height": 844})
        wait_until_true(plan, "document.documentElement.scrollWidth <= innerWidth", timeout=5_000)
        plan.set_viewport_size({"width": 1440, "height": 900})
