"""What a panel says of its results, in a real browser: provisional and final, revised, missing, idle, stale.

Web process and broker are real; each test sends what the job would send in that case, and looks at the page.
"""

import csv
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.web.browser import signed_in
from benchmarks.web.stage import Stage, stage
from streaming.broker import free_port
from tests.browser.scene import LATENESS_MS, SLIDE_MS, Scene, clock, points, until
from tests.browser.steps import call, wait_until_true

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def embedding_port() -> int:
    """Where the one page is that may embed ours."""
    return free_port()


@pytest.fixture(scope="module")
def installation(embedding_port: int) -> Iterator[tuple[Stage, str]]:
    with stage() as made:
        made.environment["MILLRACE_EMBED_ORIGINS"] = f"http://127.0.0.1:{embedding_port}"
        made.seed(boards=1, panels=2, slide=1)
        yield made, f"http://127.0.0.1:{made.web()[0]}"


@pytest.fixture
def scene(browser: Browser, installation: tuple[Stage, str]) -> Iterator[Scene]:
    made, address = installation
    context = signed_in(browser, address, made.made["session"])
    scene = Scene(made, context.new_page())
    yield scene
    context.close()
    scene.job.stop()


def test_a_gap_is_a_gap_in_stacks_small_lines_and_heat_maps_too(scene: Scene) -> None:
    """The first of them: the others tell results in the time that has to be a hole here."""
    now = clock() // SLIDE_MS * SLIDE_MS
    hole = range(now - 60_000, now - 30_000, SLIDE_MS)
    for end in range(now - 90_000, now, SLIDE_MS):
        if end not in hole:
            scene.job.tell(end, 10.0)
    scene.job.tell(now, 10.0, final=False)
    shows = [{"query": one["key"]} for one in scene.made.made["boards"][0]["queries"]]
    panels = [{"title": kind, "kind": kind, "shows": shows} for kind in ("stacked", "number", "heat")]
    page = scene.page
    page.goto("/dashboards/new/")
    key = call(page, "POST", "/api/dashboards", {"name": "Holes", "panels": panels})["key"]
    page.goto(f"/dashboards/{key}/?from=now-3m&to=now")
    drawn_parts = "window.Chart?.getChart(document.querySelector('.kind-stacked canvas'))?.data.datasets"
    of_all = 2 * len(shows)  # an area and its edge
    wait_until_true(
        page, f"{drawn_parts}?.filter(({{ data }}) => data.at(-1)?.final === false).length === {of_all}"
    )
    for part in page.evaluate(drawn_parts):
        drawn = [point["y"] is None for point in part["data"] if hole[0] <= point["x"] <= hole[-1]]
        assert drawn and all(drawn), "the area would lead across what is not known"
    until(lambda: min(filled(page, now - 75_000)) > 50, "every part filled, down to the one under it")
    for number in page.locator(".number-spark").all():
        ends = [line.get_attribute("d") for line in number.locator("path[fill=none]").all()]
        assert len([line for line in ends if line]) > 1, "the small line would lead across what is not known"
    until(lambda: hatched_px(page) > 20, "a hatched hole in the heat map")


def filled(page: Page, time: int) -> list[int]:
    """How opaque the stack is at a time, in the middle of each of its two parts, which are 10 high."""
    found: list[int] = page.evaluate(
        """(time) => {
            const canvas = document.querySelector(".kind-stacked canvas");
            const { scales, currentDevicePixelRatio: ratio } = Chart.getChart(canvas);
            const x = Math.round(scales.x.getPixelForValue(time) * ratio);
            const y = (height) => Math.round(scales.y.getPixelForValue(height) * ratio);
            const context = canvas.getContext("2d");
            return [5, 15].map((height) => context.getImageData(x, y(height), 1, 1).data[3]);
        }""",
        time,
    )
    return found


def hatched_px(page: Page) -> int:
    """How much of the heat map's first row is hatched, left of where it may be stale."""
    width: int = page.evaluate(
        """() => {
            const canvas = document.querySelector(".kind-heat canvas");
            const [top, tall, left, right] = [20, 20, 0.4 * canvas.width, 0.8 * canvas.width].map(Math.round);
            const { data } = canvas.getContext("2d").getImageData(0, top, canvas.width, tall);
            const isOpaque = (x, y) => data[4 * (y * canvas.width + x) + 3] === 255;
            const column = (x) => new Set(Array.from({ length: tall }, (_, y) => isOpaque(x, y)));
            const sizes = Array.from({ length: right - left }, (_, at) => column(left + at).size);
            return sizes.filter((size) => size === 2).length;
        }"""
    )
    return width


def test_a_point_is_provisional_then_final_then_revised_where_it_stands(scene: Scene) -> None:
    page = scene.open(clock() - 20_000)
    end = clock() // SLIDE_MS * SLIDE_MS
    scene.job.tell_meters(events=100, clock=clock(), heard=end)
    scene.job.tell(end, 17.0, final=False)
    until(lambda: [end, 17, False] in points(page), "the provisional point")
    page.locator("canvas").first.focus()
    page.keyboard.press("ArrowRight")
    tip = page.locator(".hover-card").first
    expect(tip).to_contain_text("provisional")
    expect(tip).to_contain_text("≈ 17")
    expect(tip).to_contain_text("Late events may still change it.")
    until(lambda: dashes(page)[-1], "a dashed line")

    scene.job.tell(end, 18.0)
    scene.job.tell_meters(events=100, clock=clock(), heard=end + LATENESS_MS)
    until(lambda: [end, 18, True] in points(page), "the final point")
    until(lambda: not dashes(page)[-1], "a line that is not dashed")
    expect(tip).not_to_contain_text("≈")
    expect(tip).to_contain_text("final")

    scene.job.tell(end - 3_000, 30.0)  # a late event revised what had been final
    until(lambda: [end - 3_000, 30, True] in points(page), "the revision")
    ends = [point[0] for point in points(page)]
    assert len(ends) == len(set(ends)), "a revision replaces, it does not add"


def dashes(page: Page) -> list[bool]:
    """Of the end of the first panel's line, for each point whether the way to it is dashed."""
    found: list[bool] = page.evaluate(
        """() => {
            const line = Chart.getChart(document.querySelector("canvas")).data.datasets.at(-1);
            return line.data.map((_, p1DataIndex) => Boolean(line.segment?.borderDash({ p1DataIndex })));
        }"""
    )
    return found


def test_a_gap_is_a_gap(scene: Scene) -> None:
    page = scene.open(clock() - 30_000)
    missing = clock() // SLIDE_MS * SLIDE_MS + 2_000
    scene.job.tell(missing + 5_000, 10.0)
    until(lambda: any(point[0] == missing + 5_000 for point in points(page)), "the point after the gap")
    until(lambda: clock() > missing + 6_000, "its time")
    page.wait_for_timeout(2_000)
    drawn = page.evaluate("Chart.getChart(document.querySelector('canvas')).data.datasets[0].data")
    at = next(at for at, point in enumerate(drawn) if point.get("end") == missing + 5_000)
    assert drawn[at - 1]["y"] is None, "the line would lead across what is not known"


def test_all_charts_share_a_crosshair(scene: Scene) -> None:
    page = scene.open(clock() - 60_000)
    box = page.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    crosshairs = """() => [...document.querySelectorAll("canvas")]
        .map((canvas) => Chart.getChart(canvas).options.plugins.timeMarks.crosshair ?? null)"""
    until(lambda: None not in page.evaluate(crosshairs), "a crosshair in every chart")
    first, second = page.evaluate(crosshairs)
    assert first == second
    page.mouse.move(box["x"] + box["width"] / 2, 5)
    until(lambda: page.evaluate(crosshairs) == [None, None], "that it goes")


def test_a_source_that_is_idle_and_a_job_that_stops_are_said(scene: Scene) -> None:
    page = scene.open(clock() - 20_000)
    heard = clock()
    scene.job.tell_meters(events=100, clock=heard, heard=heard)
    strip = page.locator(".strip-line").first

    def is_idle() -> bool:
        scene.job.tell_meters(events=0, clock=clock(), heard=heard)
        return "Source idle since" in (strip.text_content() or "")

    until(is_idle, "that the source is said to be idle", 90.0)
    expect(strip).to_contain_text("No messages in events.")
    expect(strip.get_by_role("link", name="See source")).to_be_visible()
    scene.job.stop()
    expect(strip).to_contain_text("job stopped.", timeout=20_000)
    expect(strip).to_contain_text("It will resume where it stopped.")
    assert points(page), "what was last known stays"
    page.goto("/queries/")
    states = page.locator("[data-live-query-row] .query-state")
    expect(states.first).to_contain_text("Job stopped since")
    expect(states.filter(has_text="Running")).to_have_count(0)


def test_results_that_stay_away_are_said_to_be_stale(scene: Scene) -> None:
    page = scene.open(clock() - 20_000)
    scene.job.tell_meters(events=100, clock=clock(), heard=clock())
    strip = page.locator(".strip-line").first
    expect(strip).to_contain_text("Stale since", timeout=40_000)
    expect(strip).to_contain_text("looking for the cause.")
    expect(page.locator(".delay").first).to_have_attribute("data-kind", "is-bad")
    scene.job.tell(clock() // SLIDE_MS * SLIDE_MS, 11.0)
    expect(strip).to_be_hidden(timeout=20_000)


def test_a_query_that_is_paused_and_one_that_only_joins_are_said(scene: Scene) -> None:
    page = scene.open(clock() - 20_000)
    strip = page.locator(".strip-line").first
    key = scene.made.made["boards"][0]["queries"][0]["key"]
    call(page, "POST", f"/api/queries/{key}/pause")
    expect(strip).to_contain_text("Paused by Bench at")
    expect(strip).to_contain_text("Results up to then are kept.")
    expect(strip.get_by_role("link", name="Resume")).to_be_visible()
    expect(page.locator(".delay").first).to_contain_text("paused")
    assert points(page), "what was last known stays"
    call(page, "POST", f"/api/queries/{key}/resume")
    expect(strip).not_to_contain_text("Paused")

    spec = {"computations": [{"aggregate": "count"}], "windows": [{"range": "10m", "slide": "1s"}]}
    made = call(page, "POST", "/api/queries", {"name": "Only joins", "source": "bench", **spec})
    page.goto(f"/queries/{made['key']}/")
    expect(strip).to_contain_text("Warming up")
    expect(page.locator(".delay").first).to_contain_text("warming up")


def test_what_is_shown_is_downloaded_as_csv(scene: Scene) -> None:
    page = scene.open(clock() - 20_000)
    writer = scene.made.start("manage.py", "runhistory")
    until(lambda: len(downloaded(page)) > 5, "a kept past", 60.0)
    rows = downloaded(page)
    assert {row["value"] for row in rows} == {"10.0"}
    assert len({row["window_end"] for row in rows}) == len(rows)
    writer.terminate()
    writer.wait(30)


def downloaded(page: Page) -> list[dict[str, str]]:
    page.locator(".live-panel").first.hover()
    menu = page.locator(".live-panel .panel-menu").first
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.get_by_role("link", name="Download as CSV").click()
    if menu.get_attribute("open") is not None:
        menu.locator("summary").click()
    with download.value.path().open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_page_of_an_allowed_origin_embeds_a_shared_dashboard_and_no_other_does(
    scene: Scene, browser: Browser, embedding_port: int
) -> None:
    page, other_port = scene.open(clock() - 20_000), free_port()
    page.goto("/dashboards/board-0/share/")
    page.get_by_label("For what or whom").fill("the intranet")
    page.get_by_role("button", name="Make link").click()
    link = page.locator("#share-address").text_content()
    assert link is not None
    with framing(link, embedding_port), framing(link, other_port):
        guest = browser.new_context().new_page()
        guest.goto(f"http://127.0.0.1:{embedding_port}/")
        frame = guest.frame_locator("iframe")
        expect(frame.locator("canvas").first).to_be_visible(timeout=30_000)
        expect(frame.get_by_text("Query 0.0").first).to_be_visible()
        key = scene.made.made["boards"][0]["queries"][0]["key"]
        call(page, "POST", f"/api/queries/{key}/pause")
        expect(frame.locator(".strip-line").first).to_contain_text("Paused by Bench at")
        assert frame.locator(".strip-line a").count() == 0, "a guest could not follow it"
        call(page, "POST", f"/api/queries/{key}/resume")
        guest.goto(f"http://127.0.0.1:{other_port}/")
        guest.wait_for_timeout(2_000)
        assert frame.locator("canvas").count() == 0
        guest.context.close()


@contextmanager
def framing(address: str, port: int) -> Iterator[None]:
    """Somebody else's page with ours in it."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe src="{address}" width="900" height="600"></iframe>'.encode())

        def log_message(self, *words: object) -> None:
            """Nothing: the browser's requests are no news."""

    server = HTTPServer(("127.0.0.1", port), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
