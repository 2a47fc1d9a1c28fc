"""The whole path as a person takes it: sign in, add a source, define a query, see the right values drawn."""

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Page, expect

from streaming.topics import create_topics
from tests.browser.conftest import Millrace
from tests.browser.steps import make_connection
from tests.frozen import frozen
from tests.streaming import oracle

pytestmark = [pytest.mark.browser, pytest.mark.spark]

TOPIC = "readings"
LATENESS_MS = 5_000
WINDOWS = [("10s", "5s"), ("30s", "5s"), ("1m", "5s")]
PATIENCE = 150.0  # s


@pytest.fixture(scope="module")
def events(millrace: Millrace) -> list[dict[str, Any]]:
    """Four minutes of readings up to now, on a topic of four partitions; values exact in binary."""
    rnd, now = random.Random(5), int(time.time() * 1000)
    made = [
        {
            "ts": now - 240_000 + number * 20 - rnd.randrange(2_000),
            "room": f"r{rnd.randrange(5)}",
            "temp": rnd.randrange(1_000, 3_000) / 64,
        }
        for number in range(12_000)
    ]
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, 4, 1)])
    send(millrace, made)
    return made


def send(millrace: Millrace, events: list[dict[str, Any]]) -> None:
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers, linger_ms=5)
    for number, event in enumerate(events):
        producer.send(TOPIC, json.dumps(event).encode(), partition=number % 4)
    producer.close()


def drawn(page: Page) -> dict[str, list[tuple[int, float, bool]]]:
    """What the first chart on the page draws: label → (window end, value, final)."""
    series = page.evaluate("document.querySelector('canvas')?.millraceSeries?.() ?? []")
    return {
        one["label"].replace("\u202f", ""): [tuple(point[:3]) for point in one["points"]] for one in series
    }


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.3)


def expected(events: list[dict[str, Any]], folder: Path) -> dict[str, dict[int, float]]:
    """DuckDB's answers: window → end → mean."""
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    windows = [{"range": size, "slide": slide} for size, slide in WINDOWS]
    query = {"name": "m", "aggregate": "mean", "field": "temp", "windows": windows}
    answers: dict[str, dict[int, float]] = {size: {} for size, _ in WINDOWS}
    for (_, size, _, _, _, end), (value, _) in oracle.answers(
        path, {"source": {"event_time": "ts"}, "queries": [query]}
    ).items():
        answers[size][end] = value
    return answers


def finals(page: Page) -> dict[str, dict[int, float]]:
    return {
        label: {end: value for end, value, final in points if final} for label, points in drawn(page).items()
    }


def test_a_source_is_added_and_a_three_window_query_draws_what_duckdb_computes(
    page: Page, millrace: Millrace, events: list[dict[str, Any]], tmp_path: Path
) -> None:
    make_connection(page, "The plant’s Kafka", millrace.bootstrap_servers)
    page.get_by_role("button", name=TOPIC, exact=True).click()
    expect(page.get_by_text(f"{TOPIC} has 4 partitions")).to_be_visible()
    expect(page.get_by_label("Field", exact=True)).to_have_value("ts")
    page.get_by_label("Allowed lateness", exact=True).fill("5s")
    page.reload()  # nothing typed is lost
    expect(page.get_by_label("Allowed lateness", exact=True)).to_have_value("5s")
    page.get_by_label("Name", exact=True).fill("readings")
    page.get_by_role("button", name="Save source").click()
    page.wait_for_url("**/sources/readings**")

    page.goto("/queries/new/?source=readings")
    page.get_by_label("Name", exact=True).fill("Room temperature")
    page.get_by_label("Aggregate", exact=True).select_option("mean")
    page.get_by_label("Field or expression", exact=True).fill("temp")
    page.get_by_label("Windows", exact=True).fill("10s, 30s, 1m every 5s")
    expect(page.locator("#answers")).to_contain_text("Tree")
    page.get_by_role("button", name="Save and start").click()
    page.wait_for_url("**/queries/**")

    right = expected(events, tmp_path)
    complete = max(event["ts"] for event in events) - LATENESS_MS - 2_000
    due = {size: {end for end in ends if end <= complete} for size, ends in right.items()}
    wait_until(lambda: set(finals(page)) == set(right), "a chart with three windows")
    wait_until(
        lambda: all(due[size] <= set(points) for size, points in finals(page).items()), "all final points"
    )
    for size, points in finals(page).items():
        assert points == {end: right[size][end] for end in points}
        assert len(points) >= 40


def test_a_reload_shows_the_past_and_goes_on_live(
    page: Page, millrace: Millrace, events: list[dict[str, Any]], tmp_path: Path
) -> None:
    page.goto("/queries/")
    page.get_by_role("link", name="Room temperature").first.click()
    wait_until(lambda: len(finals(page).get("10s", {})) >= 40, "the recent past")
    now = int(time.time() * 1000)
    more = [{"ts": now + number * 10, "room": "r1", "temp": number / 64} for number in range(3_000)]
    send(millrace, more)
    newest = now + 20_000
    wait_until(lambda: max(finals(page)["10s"]) >= newest, "new final points")
    right = expected(events + more, tmp_path)
    for size, points in finals(page).items():
        assert points == {end: right[size][end] for end in points}


def test_a_job_that_dies_is_said_and_comes_back_by_itself(page: Page, millrace: Millrace) -> None:
    page.goto("/queries/")
    page.get_by_role("link", name="Room temperature").first.click()
    card = page.locator("#job-card")
    expect(card).to_contain_text("Job running", timeout=60_000)
    with frozen(millrace.pid("job")):
        expect(card).to_contain_text("stopped", timeout=60_000)
        card.hover()
        expect(card).to_have_attribute("title", re.compile(r"^\d\d:\d\d is .*\d\d:\d\d UTC$"))
    expect(card).to_contain_text("Job running", timeout=60_000)
