"""Queries as people define and keep them: the builder, the text beside it, the list, edits and back-tests."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import yaml
from django.conf import settings
from kafka import KafkaProducer
from kafka.admin import NewTopic
from playwright.sync_api import Locator, Page, expect

from dashboard import demo_seed
from dashboard.models import SavedQuery
from dashboard.queries.windows_text import parse_windows
from optimizer.queries import QuerySpec
from streaming import demo
from streaming.topics import create_topics
from tests.browser.conftest import Millrace
from tests.browser.steps import make_connection
from tests.browser.test_path import drawn, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.spark]

TOPIC = "plants"
PAST_MS = 6 * 60_000
RATE = 50  # events/s
TICK = 0.5  # s

TYPED_WINDOWS = {  # the demo's windows as somebody would type them
    "Temperature, average": "10s every 1s; 1m every 5s; 5m every 10s",
    "Temperature, trend": "15m every 30s; 30m every 1m",
    "Hottest reading by site": "1m every 5s",
    "Events": "10s every 1s",
    "Readings not ok by site": "1m every 5s",
}


@pytest.fixture(scope="module")
def stream(millrace: Millrace) -> Iterator[None]:
    """The demo's events on a topic of ours: some minutes of them, then as they come."""
    create_topics(millrace.bootstrap_servers, [NewTopic(TOPIC, demo.PARTITIONS, 1)])
    producer = KafkaProducer(bootstrap_servers=millrace.bootstrap_servers, linger_ms=5)
    done = threading.Event()

    def send(number: int, begin: int, end: int) -> None:
        messages = demo.make_batch(7, number, begin, end, RATE * (end - begin) // 1000)
        for place, message in enumerate(messages):
            when = begin + place * (end - begin) // len(messages)
            producer.send(TOPIC, message.value, key=message.key, timestamp_ms=when)

    def follow(sent_until: int) -> None:
        number = 0
        while not done.wait(TICK):
            number, now = number + 1, int(time.time() * 1000)
            send(number, sent_until, now)
            sent_until = now

    now = int(time.time() * 1000)
    send(0, now - PAST_MS, now)
    producer.flush()
    following = threading.Thread(target=follow, args=(now,))
    following.start()
    yield
    done.set()
    following.join()
    producer.close()


@pytest.fixture
def page(page: Page, millrace: Millrace, stream: None) -> Page:
    """The page of somebody who has the stream as a source."""
    page.set_default_timeout(30_000)
    page.goto("/sources/")
    if not page.get_by_role("link", name=TOPIC, exact=True).count():
        _add_source(page, millrace)
    return page


def _add_source(page: Page, millrace: Millrace) -> None:
    make_connection(page, "The plants’ Kafka", millrace.bootstrap_servers)
    page.get_by_role("button", name=TOPIC, exact=True).click()
    page.get_by_label("Name", exact=True).fill(TOPIC)
    page.get_by_role("button", name="Save source").click()
    page.wait_for_url(f"**/sources/{TOPIC}**")


def _form(page: Page) -> None:
    page.goto(f"/queries/new/?source={TOPIC}")


def _filter(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Filter")


def _field(page: Page, number: int = 0) -> Locator:
    return page.get_by_role("combobox", name="Field or expression").nth(number)


def _aggregate(page: Page, number: int = 0) -> Locator:
    return page.get_by_label("Aggregate", exact=True).nth(number)


def _windows(page: Page) -> Locator:
    return page.get_by_label("Windows", exact=True)


def _previewed(page: Page) -> list[dict[str, Any]]:
    """What the preview draws: label and points of each line."""
    lines = page.evaluate("document.querySelector('#preview canvas')?.millraceSeries?.() ?? []")
    return [line for line in lines if line["points"]]


def _open(page: Page, name: str) -> None:
    page.goto("/queries/")
    page.get_by_role("link", name=name, exact=True).click()


def _row(page: Page, name: str) -> Locator:
    return page.locator("tr", has=page.get_by_role("link", name=name, exact=True))


def _saved(page: Page) -> None:
    page.wait_for_url(re.compile(r"/queries/\w{8}/$"))


def test_the_queries_of_the_demo_are_defined_by_the_form_alone(page: Page, millrace: Millrace) -> None:
    seeded = [SavedQuery(**definition).spec() for definition in demo_seed.QUERIES]
    for wanted in seeded:
        _define(page, wanted)
    made = _exported(millrace)
    assert [made[wanted.name] for wanted in seeded] == seeded


def _define(page: Page, wanted: QuerySpec) -> None:
    _form(page)
    page.get_by_label("Name", exact=True).fill(wanted.name)
    [computation] = wanted.computations
    _aggregate(page).select_option(computation.aggregate)
    _field(page).fill(computation.field or "")
    _windows(page).fill(TYPED_WINDOWS[wanted.name])
    for name in wanted.group_by:
        page.locator(".choice", has_text=name).click()
    _filter(page).fill(wanted.where or "")
    page.get_by_role("button", name="Save and start").click()
    _saved(page)


def _exported(millrace: Millrace) -> dict[str, QuerySpec]:
    """What `./millrace export` says of the running installation's queries, by name."""
    found = subprocess.run(
        [sys.executable, "manage.py", "export"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"MILLRACE_VAR": str(millrace.var_dir)},
        capture_output=True,
        check=True,
    )
    return {one["name"]: _spec(one) for one in yaml.safe_load(found.stdout)["queries"]}


def _spec(entry: dict[str, Any]) -> QuerySpec:
    parts = {key: entry[key] for key in ("name", "computations", "group_by", "where")}
    windows = [window.to_json() for window in parse_windows(entry["windows"])]
    return QuerySpec.from_json({**parts, "windows": windows})


def test_a_family_of_ten_windows_is_seen_before_it_is_saved_and_answers_after(page: Page) -> None:
    _form(page)
    page.get_by_label("Name", exact=True).fill("Ten windows")
    _aggregate(page).select_option("mean")
    _field(page).fill("temp")
    page.get_by_role("button", name="Add another").click()
    _aggregate(page, 1).select_option("p95")
    _field(page, 1).press_sequentially("te")
    page.get_by_role("option", name="temp").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(_field(page, 1)).to_have_value("temp")
    _windows(page).fill("1m, 5m, 15m, 1h every 10s; 20s, 30s, 2m, 3m, 10m, 30m every 20s")
    page.locator(".choice", has_text="site").click()
    _filter(page).fill("status <> 'fault' AND hunidity > 20")

    expect(page.locator("#note-where")).to_contain_text("No field “hunidity” in plants (character 23).")
    expect(page.locator(".slip")).to_have_text("hunidity")
    expect(page.locator("#left-out")).to_contain_text("Filter left out")
    expect(page.locator("#problem-count")).to_have_text("1 problem to fix")
    page.get_by_role("button", name="Use humidity").click()
    expect(_filter(page)).to_have_value("status <> 'fault' AND humidity > 20")
    expect(page.locator("#left-out")).to_be_empty()

    expect(page.locator("#note-windows .mark")).to_have_count(10)
    drawing = page.locator("window-drawing svg")
    expect(drawing).to_have_attribute("aria-label", re.compile("20 s every 20 s, 30 s every 20 s.*1 h every"))
    assert drawing.locator("text", has_text=re.compile(r"^(20 s|1 h)$")).count() == 2

    cost = page.locator("#answers")
    for said in ("Tree", "% of capacity", "Sharing", "First result", "in about"):
        expect(cost).to_contain_text(said)

    preview = page.locator("#preview")
    expect(preview).to_contain_text(re.compile(r"on (all|the newest) [\d,]+ messages"))
    preview.get_by_role("button", name="1 m", exact=True).click()
    lines = _previewed(page)
    assert len(lines) == 8
    assert all(re.fullmatch(r"plant-\d\d", line["label"]) for line in lines)
    assert all(10 < value < 35 for line in lines for _, value, *_ in line["points"])
    preview.get_by_role("button", name="Table").click()
    expect(preview.get_by_role("columnheader", name=lines[0]["label"])).to_be_visible()
    assert preview.locator("tbody tr").count() > 10

    page.get_by_role("button", name="Save and start").click()
    _saved(page)
    wait_until(lambda: any(points for points in drawn(page).values()), "a result of the new query")
    page.get_by_role("button", name="p95", exact=True).click()
    page.get_by_role("button", name="20 s", exact=True).click()
    wait_until(lambda: _steps(page) == {20_000}, "results of another window and computation")


def _steps(page: Page) -> set[int]:
    """How far apart the points of the first chart's lines are."""
    ends = [[end for end, *_ in points] for points in drawn(page).values()]
    return {later - end for line in ends for end, later in pairwise(line)}


def test_a_query_is_edited_as_sql_and_the_form_follows_and_back(page: Page) -> None:
    _form(page)
    _aggregate(page).select_option("max")
    _field(page).fill("temp")
    _windows(page).fill("5m every 10s; 1h")
    page.get_by_role("button", name="SQL", exact=True).click()
    text = page.get_by_role("combobox", name="SQL")
    expect(text).to_have_value("SELECT max(temp)\nFROM plants\nWINDOW HOPPING (5m, 10s), TUMBLING (1h)")

    expect(page.locator("#preview")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#preview .strip-line.is-warn")).to_have_count(0)

    wrong = "SELECT max(temp), count(*) FROM plants WHERE statsu = 'ok' GROUP BY site WINDOW LAST (100, 10)"
    text.fill(wrong)
    expect(page.locator("#note-text")).to_contain_text("No field “statsu” in plants (character 46).")
    page.get_by_role("button", name="Form", exact=True).click()
    expect(page.get_by_text("Mend this first: then the query can be shown as Form.")).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.get_by_text("Mend this first")).to_be_visible()  # what is computed meanwhile leaves it there
    page.get_by_role("button", name="Use status").click()
    expect(page.get_by_text("Mend this first")).to_be_hidden()
    expect(page.locator("#note-text")).not_to_contain_text("statsu")

    page.get_by_role("button", name="Form", exact=True).click()
    expect(_aggregate(page, 1)).to_have_value("count")
    expect(_windows(page)).to_have_value("100 events every 10")
    expect(_filter(page)).to_have_value("status = 'ok'")
    expect(page.get_by_role("checkbox", name="site")).to_be_checked()
    _filter(page).fill("temp > 20")
    page.get_by_role("button", name="SQL", exact=True).click()
    expect(text).to_have_value(re.compile("WHERE temp > 20\nGROUP BY site"))


def test_windows_are_chosen_by_kind_and_from_presets(page: Page) -> None:
    _form(page)
    kinds = page.get_by_role("group", name="Kind of window")
    presets = page.get_by_role("group", name="Windows to choose from")
    expect(kinds.get_by_role("button", name="Time")).to_have_attribute("aria-pressed", "true")
    presets.get_by_role("button", name="1m, 5m, 15m, 1h every 10s").click()
    expect(_windows(page)).to_have_value("1m, 5m, 15m, 1h every 10s")
    expect(page.locator("#note-windows .mark")).to_have_count(4)
    for kind, first, other in (
        ("Count", "100 events every 10", "10 events"),
        ("Session", "gap 30s", "gap 5m"),
        ("Time", "1m every 10s", "1d every 1h"),
    ):
        kinds.get_by_role("button", name=kind).click()
        expect(_windows(page)).to_have_value(first)
        presets.get_by_role("button", name=other, exact=True).click()
        expect(_windows(page)).to_have_value(other)
        expect(kinds.get_by_role("button", pressed=True)).to_have_text(kind)
        expect(page.locator("#note-windows .mark")).to_have_count(1)


def test_a_query_is_edited_as_json_and_the_form_follows(page: Page) -> None:
    _form(page)
    page.get_by_label("Name", exact=True).fill("Warm plants")
    _aggregate(page).select_option("max")
    _field(page).fill("temp")
    _windows(page).fill("1m")
    page.get_by_role("button", name="JSON", exact=True).click()
    text = page.get_by_role("combobox", name="JSON")
    expect(text).to_have_value(re.compile("Warm plants"))
    shown = json.loads(text.input_value())
    assert shown["queries"][0]["windows"] == [{"range": "1m", "slide": "1m"}]

    text.fill(json.dumps(shown)[:-1])
    expect(page.locator("#note-text")).to_contain_text("This is not JSON")
    shown["queries"][0] |= {
        "aggregate": "min",
        "windows": [{"range": "2m", "slide": "10s"}],
        "where": "temp > 3",
    }
    text.fill(
        json.dumps({"source": {"event_time": shown["source"]["event_time"]}, "queries": shown["queries"]})
    )
    expect(page.locator("#note-text")).not_to_contain_text("This is not JSON")
    page.get_by_role("button", name="Form", exact=True).click()
    expect(_aggregate(page)).to_have_value("min")
    expect(_windows(page)).to_have_value("2m every 10s")
    expect(_filter(page)).to_have_value("temp > 3")
    expect(page.get_by_label("Name", exact=True)).to_have_value("Warm plants")


def test_a_query_over_the_last_events_answers(page: Page) -> None:
    _form(page)
    page.get_by_label("Name", exact=True).fill("Last fifty")
    _aggregate(page).select_option("count")
    page.get_by_role("group", name="Kind of window").get_by_role("button", name="Count").click()
    _windows(page).fill("50 events every 25")
    page.get_by_role("button", name="Save and start").click()
    _saved(page)

    def told() -> set[float]:
        return {value for points in drawn(page).values() for _, value, final in points if final}

    wait_until(lambda: 50 in told(), "a result of the last fifty events")
    assert max(told()) == 50


def test_a_template_fills_the_form(page: Page) -> None:
    _form(page)
    for template, line in (
        ("p95 latency", ("p95", "temp")),
        ("Error ratio", ("mean", "CASE WHEN status <> 'ok' THEN 1 ELSE 0 END")),
    ):
        page.get_by_text("Start from a template").click()
        page.get_by_role("link", name=template).click()
        expect(_aggregate(page)).to_have_value(line[0])
        expect(_field(page)).to_have_value(line[1])
        expect(page.locator("#answers")).to_contain_text("Tree")
        expect(page.get_by_label("Name", exact=True)).not_to_have_value("")


def test_an_edit_is_marked_and_leaves_other_queries_whole(page: Page) -> None:
    _open(page, "Hottest reading by site")
    chart = page.get_by_role("img", name=re.compile("^Hottest reading by site"))
    wait_until(lambda: len(drawn(page)) > 3, "lines before the edit")
    page.get_by_role("link", name="Edit").click()
    _filter(page).fill("status = 'ok'")
    page.get_by_role("button", name="Save changes").click()
    _saved(page)
    edited = int(time.time() * 1000)
    expect(chart).to_have_attribute("aria-label", re.compile("admin: filter changed"))

    _open(page, "Events")
    wait_until(lambda: _final_ends(page)[-1:] > [edited + 1_000], "results after the edit")
    assert _final_ends(page)[0] < edited
    assert _steps(page) == {1_000}


def _final_ends(page: Page) -> list[int]:
    return sorted(end for points in drawn(page).values() for end, _, final in points if final)


def test_what_an_expression_cannot_make_is_said_until_it_is_mended(page: Page) -> None:
    _form(page)
    page.get_by_label("Name", exact=True).fill("Numbers of devices")
    _aggregate(page).select_option("max")
    _field(page).fill("CASE WHEN site = 'plant-01' THEN CAST(device AS DOUBLE) ELSE temp END")
    _windows(page).fill("10s every 1s")
    page.get_by_role("button", name="Save and start").click()
    _saved(page)
    told = re.compile(r"value(s)? left out in the last 15\smin: Could not convert string 'd\d+' to DOUBLE")
    strip = page.get_by_role("status").filter(has_text=told)
    expect(strip).to_be_visible()
    page.goto("/queries/")
    expect(_row(page, "Numbers of devices")).to_contain_text(told)
    expect(_row(page, "Temperature, average")).not_to_contain_text("left out")

    _open(page, "Numbers of devices")
    page.get_by_role("link", name="Edit").click()
    _field(page).fill("CASE WHEN site = 'plant-01' THEN 0 ELSE temp END")
    page.get_by_role("button", name="Save changes").click()
    _saved(page)
    wait_until(lambda: len(drawn(page)) > 0, "results after the mending")
    expect(strip).to_have_count(0)
    page.goto("/queries/")
    expect(_row(page, "Numbers of devices")).to_contain_text(re.compile("Running|Warming up"))
    expect(_row(page, "Numbers of devices")).not_to_contain_text("left out")


def test_the_list_is_live_and_searched_and_queries_are_paused_copied_deleted_and_brought_back(
    page: Page,
) -> None:
    _open(page, "Temperature, trend")
    page.get_by_label("Tags, separated by commas").fill("weather, slow")
    page.get_by_role("button", name="Save tags").click()
    page.goto("/queries/")
    events = _row(page, "Events")
    expect(events).to_contain_text("Running")
    expect(events.locator("[data-figure=rate]")).to_have_text(re.compile(r"^[\d.]+/s$"))
    expect(events.locator("[data-figure=share]")).to_have_text(re.compile(r"^<?[\d.]+\s?%$"))
    expect(events.locator("[data-figure=line] path").first).to_have_attribute("d", re.compile("L"))
    expect(events.locator("td.figures")).to_have_text(re.compile(r"^\d"))

    page.get_by_label("Search queries").fill("weather")
    page.get_by_label("Search queries").press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    trend = _row(page, "Temperature, trend")
    trend.get_by_role("checkbox").check()
    page.get_by_role("button", name="Pause").click()
    expect(trend).to_contain_text("Paused by admin at")
    trend.get_by_role("checkbox").check()
    page.get_by_role("button", name="Resume").click()
    # It has never stopped where no batch came in between, and its past may be read within a second.
    expect(trend).to_contain_text(re.compile(r"Running|Warming up (\d+\s(s|min) left|reading the past)"))

    _row(page, "Events").get_by_role("link", name="Duplicate Events").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("Events, copy")
    page.get_by_role("button", name="Save and start").click()
    _saved(page)
    page.goto("/queries/")
    for name in ("Events", "Events, copy"):
        _row(page, name).get_by_role("checkbox").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete 2 queries").click()
    expect(page.get_by_text("Deleted 2 queries.")).to_be_visible()
    expect(_row(page, "Events")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(_row(page, "Events, copy")).to_have_count(1)
    _row(page, "Events, copy").get_by_role("link", name="Delete Events, copy").click()
    page.get_by_role("button", name="Delete query").click()
    expect(page.get_by_text("Deleted “Events, copy”.")).to_be_visible()
    expect(_row(page, "Events")).to_have_count(1)


def test_a_draft_is_back_tested_over_what_kafka_holds(page: Page) -> None:
    _form(page)
    _windows(page).fill("10s, 1m every 1s")
    page.get_by_role("button", name="Back-test").click()
    expect(page.get_by_text(re.compile(r"Kafka holds [\d,]+ messages"))).to_be_visible()
    page.get_by_role("button", name="Run back-test").click()
    page.get_by_role("button", name="Cancel back-test").click()
    expect(page.locator(".strip-line")).to_contain_text("Cancelled.")

    page.get_by_label("Begin with").select_option("All that Kafka holds")
    page.get_by_role("button", name="Run back-test").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    wait_until(lambda: len(drawn(page)) == 2, "the history")
    history = drawn(page)["10s"]
    assert history[-1][0] - history[0][0] > PAST_MS - 60_000
    read = page.locator(".cost-cards > div", has_text="Read").locator("b").inner_text()
    assert int(read.replace(",", "")) >= RATE * PAST_MS // 1000
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert json.loads(download.value.path().read_text().splitlines()[0])["value"] is not None
