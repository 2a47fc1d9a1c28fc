"""Ranges, zoom and what happens after breaks, in a real browser.

Web process and broker are real; results are sent as the job sends them, one every second, so that a hole or a
double can be told.
"""

import itertools
import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlparse

import msgspec
import numpy as np
import pytest
from kafka import KafkaProducer
from playwright.sync_api import Browser, Page, expect

from benchmarks.web.browser import signed_in
from benchmarks.web.stage import PREFIX, Stage, stage
from streaming.results import ResultBlock, encode
from streaming.topics import Topics
from tests.browser.steps import wait_until_true

pytestmark = pytest.mark.browser

PAST_HOURS = 2
PATIENCE = 60.0  # s


class Results:
    """A window's results, one a second, each sent once, whatever the broker does meanwhile."""

    def __init__(self, made: Stage, window: str, first: int) -> None:
        self._made, self._window, self._end = made, window, first
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self._thread.start()

    @property
    def newest(self) -> int:
        return self._end

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(30)

    def _send_all(self) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._made.bootstrap_servers, retries=1_000, reconnect_backoff_max_ms=500
        )
        for batch in itertools.count(1):
            self._end += 1_000
            producer.send(Topics(PREFIX).results, encode([self._block(batch)]))
            producer.send(Topics(PREFIX).status, json.dumps(self._status()).encode())
            if self._stopped.wait(max(0.0, self._end / 1000 - time.time())):
                break
        producer.close()

    @staticmethod
    def _status() -> dict[str, Any]:
        source = {"state": "running", "since": 0, "error": None}
        now = int(time.time() * 1000)
        return {"state": "running", "since": 0, "clock": now, "sources": {"bench": source}}

    def _block(self, batch: int) -> ResultBlock:
        return ResultBlock(
            source="bench",
            query=self._window,
            plan=1,
            start=self._end - 60_000,
            end=self._end,
            shard=0,
            batch=batch,
            final=True,
            keys=msgspec.Raw(msgspec.msgpack.encode([[]])),
            values=np.array([self._end % 60_000 / 1_000]).tobytes(),
            counts=np.array([9], np.int32).tobytes(),
        )


@dataclass
class Running:
    made: Stage
    port: int
    web: subprocess.Popen[bytes]
    results: Results

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with stage() as made:
        first = int(time.time()) * 1_000
        made.seed(boards=1, panels=1, slide=1, past_hours=PAST_HOURS, until=first + 1_000)
        port, web = made.web()
        window = made.made["boards"][0]["queries"][0]["windows"][0]
        running = Running(made, port, web, Results(made, window, first))
        yield running
        running.results.stop()


@pytest.fixture
def page(browser: Browser, running: Running) -> Iterator[Page]:
    context = signed_in(browser, running.address, running.made.made["session"])
    context.set_default_timeout(PATIENCE * 1000)
    yield context.new_page()
    context.close()


def restart(running: Running) -> None:
    running.web.terminate()
    running.web.wait(30)
    _, running.web = running.made.web(running.port)


def ends(page: Page) -> list[int]:
    series = page.evaluate("document.querySelector('canvas')?.millraceSeries?.() ?? []")
    return [int(point[0]) for one in series for point in one["points"]]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.3)


def open_board(page: Page, asked: str = "") -> None:
    page.goto(f"/dashboards/board-0/{asked}")
    wait_until(lambda: len(ends(page)) > 5, "results")
    wait_until_true(page, "window.Chart?.getChart(document.querySelector('canvas'))?.scales?.x?.max > 1e12")


def check_whole(page: Page, since: int) -> None:
    """Every second from `since` on is there once."""
    drawn = [end for end in ends(page) if end >= since]
    assert drawn == list(range(since, drawn[-1] + 1, 1_000))


def asked(page: Page) -> dict[str, str]:
    return asked_in(page.url)


def asked_in(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(address).query).items()}


def chart_box(page: Page) -> dict[str, float]:
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    return dict(box)


def drag(page: Page, low: float, high: float) -> None:
    box = chart_box(page)
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + low * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + high * box["width"], y, steps=4)
    page.mouse.up()


def test_a_range_of_hours_shows_the_kept_past_and_goes_on(page: Page, running: Running) -> None:
    open_board(page, "?from=now-1h&to=now")
    wait_until(lambda: min(ends(page)) < running.results.newest - 3_400_000, "the kept past")
    newest = max(ends(page))
    wait_until(lambda: max(ends(page)) > newest, "a new result")
    expect(page.locator(".range-words")).to_have_text("Last 1 hour")


def test_a_drag_zooms_and_double_click_escape_and_back_go_back(page: Page) -> None:
    open_board(page, "?from=now-1h&to=now")
    drag(page, 0.4, 0.6)
    first = asked(page)
    assert first["from"].startswith("20")
    expect(page.get_by_role("button", name="Back to live")).to_be_visible()
    expect(page.locator("#live-line")).to_contain_text("Looking back")
    drag(page, 0.4, 0.6)
    page.wait_for_url(lambda url: asked_in(url) != first)
    page.locator("canvas").first.dblclick(position={"x": 200, "y": 60})
    page.wait_for_url(lambda url: asked_in(url) == first)
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("from=now-1h"))
    drag(page, 0.4, 0.6)
    page.go_back()
    page.wait_for_url(re.compile("from=now-1h"))


def test_shift_drag_and_shift_arrows_move_the_range(page: Page) -> None:
    open_board(page, "?from=now-1h&to=now")
    page.keyboard.down("Shift")
    drag(page, 0.3, 0.6)
    page.keyboard.up("Shift")
    moved = asked(page)
    assert moved["from"].startswith("20")
    page.locator("canvas").first.focus()
    page.keyboard.press("Shift+ArrowLeft")
    assert asked(page)["from"] < moved["from"]


def test_a_typed_range_is_checked_and_shown(page: Page) -> None:
    open_board(page)
    page.keyboard.press("t")
    page.locator("#range-typed").fill("tomorrw")
    page.keyboard.press("Enter")
    expect(page.locator("#range-card [role=alert]")).to_contain_text("No time “tomorrw”.")
    page.locator("#range-typed").fill("now-40d to now-39d")
    page.keyboard.press("Enter")
    expect(page.locator(".live-panel")).to_contain_text("No data in this range.")
    page.get_by_role("button", name=re.compile("^Go to")).click()
    wait_until(lambda: len(ends(page)) > 5, "the newest results")
    open_board(page, "?from=tomorrw&to=now")
    expect(page.locator(".toast-line")).to_contain_text("No time “tomorrw”.")
    expect(page.locator(".toast-line")).to_contain_text("The last 15 minutes are shown.")


def test_a_pause_holds_the_picture_and_loses_nothing(page: Page) -> None:
    open_board(page)
    page.keyboard.press("p")
    expect(page.locator("#live-line")).to_contain_text("Paused at")
    page.wait_for_timeout(4_000)
    page.keyboard.press("p")
    since = max(ends(page)) - 8_000
    wait_until(lambda: max(ends(page)) > since + 10_000, "new results")
    check_whole(page, since)


def test_after_a_restart_of_the_server_nothing_is_missing_or_double(page: Page, running: Running) -> None:
    open_board(page)
    since = max(ends(page))
    running.web.terminate()
    running.web.wait(30)
    expect(page.locator(".strip-line")).to_contain_text("Reconnecting.")
    expect(page.locator(".strip-line")).to_contain_text("Shown up to")
    _, running.web = running.made.web(running.port)
    wait_until(lambda: max(ends(page)) > since + 10_000, "results after the restart")
    check_whole(page, since)
    expect(page.locator(".strip-line")).to_be_hidden()


def test_after_an_update_of_the_server_the_screen_goes_on_with_the_new_pages(
    page: Page, running: Running
) -> None:
    open_board(page)
    page.evaluate("window.isOld = true")
    running.made.environment["MILLRACE_DEBUG"] = "true"  # its pages' files have another version
    try:
        restart(running)
        wait_until_true(page, "!window.isOld && !!document.querySelector('canvas')")
        page.evaluate("document.getElementById('add-panel').showModal(); window.isOld = true")
    finally:
        del running.made.environment["MILLRACE_DEBUG"]
        restart(running)
    expect(page.locator(".toast-line")).to_contain_text("Millrace was updated.")
    assert page.evaluate("window.isOld"), "what is being typed would be lost"


def test_after_a_restart_of_the_broker_nothing_is_missing_or_double(page: Page, running: Running) -> None:
    open_board(page)
    since = max(ends(page))
    running.made.broker.stop()
    expect(page.locator(".strip-line")).to_contain_text("the Kafka broker does not answer", timeout=60_000)
    running.made.broker.start()
    running.made.broker.wait_until_ready()
    wait_until(lambda: max(ends(page)) > since + 15_000, "results after the restart")
    check_whole(page, since)


def test_after_a_break_of_the_network_nothing_is_missing_or_double(page: Page) -> None:
    open_board(page)
    since = max(ends(page))
    page.context.set_offline(True)
    strip = page.locator(".strip-line")
    expect(strip).to_contain_text("Reconnecting.", timeout=40_000)
    expect(strip).to_contain_text("Shown up to")
    known = max(ends(page))
    page.context.set_offline(False)
    wait_until(lambda: max(ends(page)) > known + 10_000, "results after the break")
    check_whole(page, since)
    expect(strip).to_be_hidden()


def test_after_a_sleep_it_connects_anew_and_nothing_is_missing(page: Page) -> None:
    opened: list[str] = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    page.clock.install()
    open_board(page)
    since = max(ends(page))
    assert len(opened) == 1
    page.clock.fast_forward("10:00:00")
    wait_until(lambda: page.evaluate("true") and len(opened) > 1, "another connection")  # lets events come
    wait_until(lambda: max(ends(page)) > since + 5_000, "new results")
    check_whole(page, since)


def test_a_note_is_drawn_and_listed(page: Page) -> None:
    open_board(page)
    page.get_by_role("button", name="Add note").click()
    page.get_by_label("Note", exact=True).fill("Deployed 4.2")
    page.get_by_role("button", name="Add note").last.click()
    expect(page.locator("#add-note")).to_be_hidden()
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".note-list")).to_contain_text("Bench: Deployed 4.2")


def test_a_link_shows_the_dashboard_until_it_is_revoked(
    page: Page, browser: Browser, running: Running
) -> None:
    page.goto("/dashboards/board-0/share/")
    page.get_by_label("For what or whom").fill("the hall")
    page.get_by_role("button", name="Make link").click()
    link = page.locator("#share-address").text_content()
    assert link is not None
    guest = browser.new_context().new_page()
    guest.goto(link)
    wait_until(lambda: len(ends(guest)) > 5, "a drawing without an account")
    page.get_by_role("button", name="Revoke the hall").click()
    page.get_by_role("button", name="Revoke link").click()
    expect(guest.get_by_role("heading").first).to_have_text("This link has ended.", timeout=30_000)
    expect(guest.locator(".live-panel")).to_have_count(0)
    guest.context.close()
